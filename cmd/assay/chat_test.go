package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/terminal/terminaltest"
)

// chatProcess is a running assay agent chat. Tests write lines to its stdin and wait for
// text on its stdout and stderr.
type chatProcess struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr *outputBuffer
	sandboxRoot    string // every process that it starts has this path in its environment
}

// outputBuffer collects what a process writes. It is safe for concurrent use.
type outputBuffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next write
}

func newOutputBuffer() *outputBuffer { return &outputBuffer{changed: make(chan struct{})} }

// Write appends text.
func (b *outputBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
	return b.text.Write(text)
}

// read returns what was written so far, and a channel that the next write closes.
func (b *outputBuffer) read() (text string, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String(), b.changed
}

// awaitText waits until the output contains text.
func (b *outputBuffer) awaitText(t *testing.T, want string) {
	t.Helper()
	timeout := time.After(waitTimeout)
	for {
		text, changed := b.read()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			require.Failf(t, "the text was not written", "%q in\n%s", want, text)
		}
	}
}

// startChat starts a chat whose model follows sleepScript. At the end of the test it kills
// the chat, and waits until no process and no temporary folder is left.
func startChat(t *testing.T) *chatProcess {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(sleepScript), 0o600))
	c := &chatProcess{
		t: t, stdout: newOutputBuffer(), stderr: newOutputBuffer(), sandboxRoot: filepath.Join(dir, "box"),
	}
	c.cmd = exec.CommandContext(t.Context(), "assay", "agent", "chat", "--model", "script:"+file, "--sandbox-root", c.sandboxRoot)
	c.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TMPDIR="+dir)
	c.cmd.Stdout, c.cmd.Stderr = c.stdout, c.stderr
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		isClean := func() bool { return len(findProcessesWithText(c.sandboxRoot)) == 0 && len(temporaryFolders(dir)) == 0 }
		require.Eventually(t, isClean, waitTimeout, 5*time.Millisecond)
	})
	return c
}

// temporaryFolders returns the temporary folders of Assay in dir.
func temporaryFolders(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "assay-*"))
	return found
}

// writeLine writes a line to stdin.
func (c *chatProcess) writeLine(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.stdin, line+"\n")
	require.NoError(c.t, err)
}

// exitStatus waits for the end of the chat and returns its exit status, -1 for a signal.
func (c *chatProcess) exitStatus() int {
	c.t.Helper()
	_ = c.cmd.Wait() // ProcessState has the status
	return c.cmd.ProcessState.ExitCode()
}

// sleepScript is a script whose first reply has code that sleeps for 10 min, longer than any
// test.
const sleepScript = `{"content":"` + "```" + `\nimport asyncio\nprint('asleep')\nawait asyncio.sleep(600)\n` + "```" + `"}
{"content":"Good morning."}
`

func TestCO14_CancelStopsRunningCode(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.writeLine("@a sleep")
	c.stdout.awaitText(t, "[a] >>> import asyncio")
	c.writeLine("@b sleep too")
	c.writeLine(":cancel a")
	c.stderr.awaitText(t, "the query was cancelled")
	c.stdout.awaitText(t, "[b] >>> import asyncio") // the kernel runs it because a is cancelled
	c.writeLine(":py 6 * 7")
	c.writeLine(":cancel b")
	c.stdout.awaitText(t, "[:py] 42")
	c.writeLine("@a wake up")
	c.stdout.awaitText(t, "[a] Good morning.")
	require.NoError(t, c.stdin.Close())
	require.Equal(t, 0, c.exitStatus())
}

func TestCO14_FirstCtrlCCancelsSecondEnds(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.writeLine("sleep")
	c.stdout.awaitText(t, "[1] >>> import asyncio")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	c.stderr.awaitText(t, "the query was cancelled")
	c.writeLine("wake up")
	c.stdout.awaitText(t, "[1] Good morning.")
	c.writeLine(":py import time; time.sleep(600)")
	c.writeLine(":help")
	c.stderr.awaitText(t, ":help             list these commands")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	c.stderr.awaitText(t, ":py was cancelled")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, c.exitStatus())
}

// After the end of the input a single Ctrl-C ends a chat that waits for its last prompts.
func TestCO14_CtrlCAfterEndOfInput(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.writeLine("sleep")
	c.stdout.awaitText(t, "[1] >>> import asyncio")
	require.NoError(t, c.stdin.Close())
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, c.exitStatus())
}

func TestCO14_TerminationEndsAtOnce(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.writeLine("sleep")
	c.stdout.awaitText(t, "[1] >>> import asyncio")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, c.exitStatus())
}

// If the chat is killed, everything it has started ends too (see the cleanup of startChat).
func TestCO14_KilledChatLeavesNothing(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.writeLine("sleep")
	c.stdout.awaitText(t, "[1] >>> import asyncio")
	require.NoError(t, c.cmd.Process.Kill())
	require.Equal(t, -1, c.exitStatus())
}

func TestCO14_KilledAgentEndsTheChat(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.writeLine("sleep")
	c.stdout.awaitText(t, "[1] >>> import asyncio")
	killed := 0
	for _, pid := range findProcessesWithText(c.sandboxRoot) {
		args, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended meanwhile
		}
		require.NoError(t, err)
		if strings.Contains(string(args), "agent\x00--model") {
			number, err := strconv.Atoi(pid)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(number, syscall.SIGKILL))
			killed++
		}
	}
	require.Equal(t, 1, killed)
	require.Equal(t, 3, c.exitStatus())
	text, _ := c.stderr.read()
	require.Contains(t, text, "assay: the agent has ended: agent was killed by SIGKILL")
}

// On a terminal output removes the prompt and shows it again; remarks are faint unless
// NO_COLOR is set.
func TestCO14_OnATerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "script.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(`{"content":"Good morning.\u001b[2J"}`), 0o600))
	for _, colors := range []bool{true, false} {
		shown := terminaltest.NewEmulator(120, 20)
		master, slave := openPTY(t, shown)
		cmd := exec.CommandContext(t.Context(), "assay", "agent", "chat", "--model", "script:"+file)
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
		if !colors {
			cmd.Env = append(cmd.Env, "NO_COLOR=1")
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, cmd.Start())
		require.NoError(t, slave.Close())
		var reading sync.WaitGroup
		reading.Go(func() {
			_, _ = io.Copy(shown, master) // ends with EIO: no process has the other end open
		})
		shown.AwaitText(t, `(?m)^>$`, waitTimeout)
		_, err := io.WriteString(master, "hello\n")
		require.NoError(t, err)
		shown.AwaitText(t, `\[1\] Good morning\..\[2J\n.* so far\n>\n$`, waitTimeout)
		_, err = io.WriteString(master, "half a line")
		require.NoError(t, err)
		shown.AwaitText(t, `> half a line\n$`, waitTimeout)
		_, err = io.WriteString(master, "\x03") // Ctrl-C: the terminal sends SIGINT
		require.NoError(t, err)
		shown.AwaitText(t, `press Ctrl-C again to end the chat\n>\n$`, waitTimeout)
		_, err = io.WriteString(master, "\x03")
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		reading.Wait()
		require.Equal(t, 130, cmd.ProcessState.ExitCode())
		printed := shown.Written()
		require.Contains(t, printed, "\r\x1b[K")
		require.Equal(t, colors, strings.Contains(printed, "\x1b[2mpress Ctrl-C again to end the chat\x1b[m"))
		require.Equal(t, colors, strings.Contains(printed, "\x1b[2mai:1:hello\x1b[m"))
	}
}
