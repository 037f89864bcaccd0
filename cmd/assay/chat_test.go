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

// talk is assay agent chat with somebody at its stdin, who waits until he has
// read something.
type talk struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *heard
	box      string // in which its sandboxes lie: all that it starts has the name in its environment
}

// heard is what was written so far.
type heard struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next write
}

func (h *heard) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.changed)
	h.changed = make(chan struct{})
	return h.text.Write(text)
}

func (h *heard) read() (text string, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String(), h.changed
}

// await waits until something stands there.
func (h *heard) await(t *testing.T, what string) {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		text, changed := h.read()
		if strings.Contains(text, what) {
			return
		}
		select {
		case <-changed:
		case <-late:
			require.Failf(t, "it does not come", "%q in\n%s", what, text)
		}
	}
}

// startTalk starts a chat with a model that has code sleep.
func startTalk(t *testing.T) *talk {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(sleeps), 0o600))
	c := &talk{
		t: t, out: &heard{changed: make(chan struct{})}, err: &heard{changed: make(chan struct{})}, box: filepath.Join(dir, "box"),
	}
	c.cmd = exec.CommandContext(t.Context(), "assay", "agent", "chat", "--model", "script:"+file, "--sandbox-root", c.box)
	c.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TMPDIR="+dir)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { // a chat that has ended leaves nothing behind
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		left := func() bool { return len(findProcesses(c.box)) == 0 && len(temporary(dir)) == 0 }
		require.Eventually(t, left, waitTimeout, 5*time.Millisecond)
	})
	return c
}

// temporary are the folders that programs have made in dir.
func temporary(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "assay-*"))
	return found
}

func (c *talk) say(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c.t, err)
}

// status waits for the end, and is the exit status.
func (c *talk) status() int {
	c.t.Helper()
	_ = c.cmd.Wait() // the state tells
	return c.cmd.ProcessState.ExitCode()
}

// sleeps is a script whose first reply sleeps for longer than any test.
const sleeps = `{"content":"` + "```" + `\nimport asyncio\nprint('asleep')\nawait asyncio.sleep(600)\n` + "```" + `"}
{"content":"Good morning."}
`

func TestCO14_CancelStopsWhatRuns(t *testing.T) {
	t.Parallel()
	c := startTalk(t)
	c.say("@a sleep")
	c.out.await(t, "[a] >>> import asyncio")
	c.say("@b sleep too")
	c.say(":cancel a")
	c.err.await(t, "the query was cancelled")
	c.out.await(t, "[b] >>> import asyncio") // which a has made room for, as the first
	c.say(":py 6 * 7")
	c.say(":cancel b")
	c.out.await(t, "[:py] 42")
	c.say("@a wake up")
	c.out.await(t, "[a] Good morning.")
	require.NoError(t, c.in.Close())
	require.Equal(t, 0, c.status())
}

func TestCO14_CtrlCCancelsAndTwiceEnds(t *testing.T) {
	t.Parallel()
	c := startTalk(t)
	c.say("sleep")
	c.out.await(t, "[1] >>> import asyncio")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	c.err.await(t, "the query was cancelled")
	c.say("wake up")
	c.out.await(t, "[1] Good morning.")
	c.say(":py import time; time.sleep(600)")
	c.say(":help")
	c.err.await(t, ":help             list these commands")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	c.err.await(t, ":py was canceled")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, c.status())
}

// Ctrl-C ends a chat that only waits for its last prompts.
func TestCO14_CtrlCAfterTheInput(t *testing.T) {
	t.Parallel()
	c := startTalk(t)
	c.say("sleep")
	c.out.await(t, "[1] >>> import asyncio")
	require.NoError(t, c.in.Close())
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, c.status())
}

func TestCO14_TerminationEndsAtOnce(t *testing.T) {
	t.Parallel()
	c := startTalk(t)
	c.say("sleep")
	c.out.await(t, "[1] >>> import asyncio")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, c.status())
}

// What a chat that is killed has started goes too.
func TestCO14_KilledItLeavesNothing(t *testing.T) {
	t.Parallel()
	c := startTalk(t)
	c.say("sleep")
	c.out.await(t, "[1] >>> import asyncio")
	require.NoError(t, c.cmd.Process.Kill())
	require.Equal(t, -1, c.status())
}

func TestCO14_AnAgentThatDiesEndsIt(t *testing.T) {
	t.Parallel()
	c := startTalk(t)
	c.say("sleep")
	c.out.await(t, "[1] >>> import asyncio")
	killed := 0
	for _, pid := range findProcesses(c.box) {
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
	require.Equal(t, 3, c.status())
	text, _ := c.err.read()
	require.Contains(t, text, "assay: the agent has ended: agent was killed by SIGKILL")
}

// On a terminal what is said takes away the prompt and puts it back; remarks stand
// back, unless colours are not wanted.
func TestCO14_OnATerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "script.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(`{"content":"Good morning.\u001b[2J"}`), 0o600))
	for _, colours := range []bool{true, false} {
		shown := terminaltest.NewEmulator(120, 20)
		master, slave := openPTY(t, shown)
		cmd := exec.CommandContext(t.Context(), "assay", "agent", "chat", "--model", "script:"+file)
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
		if !colours {
			cmd.Env = append(cmd.Env, "NO_COLOR=1")
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, cmd.Start())
		require.NoError(t, slave.Close())
		var reading sync.WaitGroup
		reading.Go(func() {
			_, _ = io.Copy(shown, master) // ends with EIO: nobody is at the other end any more
		})
		shown.AwaitText(t, `(?m)^>$`, waitTimeout)
		_, err := io.WriteString(master, "hello\n")
		require.NoError(t, err)
		shown.AwaitText(t, `\[1\] Good morning\..\[2J\n.* so far\n>\n$`, waitTimeout)
		_, err = io.WriteString(master, "half a line")
		require.NoError(t, err)
		shown.AwaitText(t, `> half a line\n$`, waitTimeout)
		_, err = io.WriteString(master, "\x03") // Ctrl-C, as the terminal makes a signal of it
		require.NoError(t, err)
		shown.AwaitText(t, `press Ctrl-C again to end the chat\n>\n$`, waitTimeout)
		_, err = io.WriteString(master, "\x03")
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		reading.Wait()
		require.Equal(t, 130, cmd.ProcessState.ExitCode())
		printed := shown.Written()
		require.Contains(t, printed, "\r\x1b[K")
		require.Equal(t, colours, strings.Contains(printed, "\x1b[2mpress Ctrl-C again to end the chat\x1b[m"))
		require.Equal(t, colours, strings.Contains(printed, "\x1b[2mai:1:hello\x1b[m"))
	}
}
