package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/cmd/assay/internal/terminal/terminaltest"
)

// startAssayOnTerminal starts assay with stdout and stderr on a pseudo-terminal, and returns the
// emulator that shows it. wait waits until the program has ended and everything is shown.
func startAssayOnTerminal(t *testing.T, env []string, args ...string) (shown *terminaltest.Emulator, cmd *exec.Cmd, wait func() error) {
	t.Helper()
	shown = terminaltest.NewEmulator(60, 20)
	master, slave := openPTY(t, shown)
	cmd = exec.CommandContext(t.Context(), "assay", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = slave, slave
	require.NoError(t, cmd.Start())
	require.NoError(t, slave.Close())
	isRead := make(chan struct{})
	go func() {
		defer close(isRead)
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			if err != nil {
				return // EIO: no process has the other end open
			}
			_, _ = shown.Write(buffer[:n])
		}
	}()
	return shown, cmd, func() error {
		err := cmd.Wait()
		<-isRead
		return err
	}
}

// openPTY opens a pseudo-terminal with the size of an emulator.
func openPTY(t *testing.T, shown *terminaltest.Emulator) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	columns, rows := shown.Size()
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return master, slave
}

// passingAndFailingCases has a case whose solution passes, and one whose solution fails.
const passingAndFailingCases = `[
 {"id": "good", "task": "t", "grader": {"type": "exact", "config": {"ground_truth": {"x": 1}}}, "oracle": ["print('{\"x\": 1}')"]},
 {"id": "bad", "task": "t", "grader": {"type": "exact", "config": {"ground_truth": {"x": 1}}}, "oracle": ["print('{\"x\": 2}')"]}]`

// On a terminal results scroll, and at the end nothing else is left. NO_COLOR turns colors
// off. Plain progress has no control sequences.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env, args       []string
		colors, escapes bool
	}{
		"live":             {[]string{"TERM=xterm", "NO_COLOR="}, nil, true, true},
		"without colors":   {[]string{"TERM=xterm", "NO_COLOR=1"}, nil, false, true},
		"--progress plain": {[]string{"TERM=xterm", "NO_COLOR="}, []string{"--progress", "plain"}, false, false},
		"dumb terminal":    {[]string{"TERM=dumb", "NO_COLOR="}, nil, false, false},
		"JSON on stdout":   {[]string{"TERM=xterm", "NO_COLOR="}, []string{"--json"}, false, false},
		"from environment": {[]string{"TERM=xterm", "ASSAY_PROGRESS=plain"}, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeFile(t, filepath.Join(dir, "cases.json"), passingAndFailingCases)
			args := append([]string{"run", file, "--agent", "oracle", "-j", "2", "--out", filepath.Join(dir, "run")}, tc.args...)
			shown, _, wait := startAssayOnTerminal(t, tc.env, args...)
			require.Error(t, wait(), "one case fails")
			text := shown.Text()
			require.Regexp(t, `(?m)^\[./2\] PASS  good  `, text)
			require.Regexp(t, `(?m)^\[./2\] FAIL  bad  `, text)
			require.NotContains(t, text, "/2 done")
			require.Equal(t, tc.escapes, strings.Contains(shown.Written(), "\x1b["), shown.Written())
			require.Equal(t, tc.colors, strings.Contains(shown.Written(), "\x1b[32mPASS \x1b[m"))
			if len(tc.args) == 0 {
				require.Regexp(t, `\nFAIL 1/2  [^\n]*\n`, text)
			}
		})
	}
}

// SIGINT ends the run, and the terminal shows its results and no live display.
func TestProgressInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "idle", "task": "t"}`)
	shown, cmd, wait := startAssayOnTerminal(t, []string{"TERM=xterm"}, "run", file, "--agent", "faultyagent idle", "--out", filepath.Join(dir, "run"))
	shown.AwaitText(t, `(?m)^  idle +\d+s  waiting for the agent \(\d+s\)\n0/1 done  0 passed`, waitTimeout)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, wait())
	require.Equal(t, 128+int(syscall.SIGINT), cmd.ProcessState.ExitCode())
	require.Regexp(t, `(?s)^(?:not enforced .*\n)?1 attempt, .*\nassay: SIGINT: ending what runs .*\n\[1/1\] ERROR idle .*\nFAIL 0/1  .*\n$`, shown.Text())
	require.NotContains(t, shown.Text(), "/1 done")
}

// A terminal of 60 columns shows what each attempt does or waits for, what it has used, and
// what all attempts have used.
func TestProgressShowsActivityAndUsage(t *testing.T) {
	t.Parallel()
	const usage = `{"content": [{"type": "tool_use", "name": "get_context", "input": {}}], "usage": {"input_tokens": 12000, "output_tokens": 345}}` + "\n"
	for name, c := range map[string]struct{ turn, line string }{
		"waits for its model": {`{"error": {"status": 529, "retry_after": 60}}`, `waits .*: 529 `},
		"runs a cell": {
			`{"content": [{"type": "tool_use", "name": "create_cell", "input": {"position": 0, "source": "import time\ntime.sleep(60)", "auto_run": true}}]}`,
			`create_cell runs a cell \(`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "patience", "task": "t"}`)
			turns := writeFile(t, filepath.Join(dir, "turns.jsonl"), usage+c.turn)
			shown, cmd, wait := startAssayOnTerminal(t, []string{"TERM=xterm"}, "run", file, "--model", "script:"+turns, "--out", filepath.Join(dir, "run"))
			shown.AwaitText(t, `(?m)^  patience +\d+s  12.3k tok  `+c.line+`.*\n0/1 done  0 passed  0 failed  0 errors  \S+  12.3k tok\n`, waitTimeout)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.Error(t, wait())
			// The agent may have called its model again, with 2,000 tokens by estimate, when its cell was stopped.
			require.Regexp(t, `(?m)^\[1/1\] ERROR patience  \S+s  1[24]\.\dk tok  cancelled: interrup`, shown.Text())
		})
	}
}
