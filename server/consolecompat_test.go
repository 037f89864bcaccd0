package server_test

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/trace"
	"assay/router"
	"assay/server"
)

// exampleConsoleProcess is docs/examples/console.py, running.
type exampleConsoleProcess struct {
	lines     *inbox[string] // that it has printed
	awaitExit func() int     // returns its exit status
}

func startExampleConsole(t *testing.T, url string) *exampleConsoleProcess {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "docs", "examples", "console.py"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), pythonWithWebsockets(t), "-u", script, strings.Replace(url, "ws://", "http://", 1))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	c := &exampleConsoleProcess{lines: newInbox[string]()}
	var reading sync.WaitGroup
	reading.Go(func() { c.lines.readFrom(newLineReader(out)) })
	c.awaitExit = sync.OnceValue(func() int {
		reading.Wait()
		_ = cmd.Wait() // ProcessState has the exit status
		return cmd.ProcessState.ExitCode()
	})
	t.Cleanup(func() { c.awaitExit() })
	return c
}

// pythonWithWebsockets returns a command, python3 or /usr/bin/python3, whose Python has the
// package websockets. It skips the test if neither has it.
func pythonWithWebsockets(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import websockets").Run() == nil {
			return python
		}
	}
	t.Skip("neither python3 nor /usr/bin/python3 has websockets: install Debian's python3-websockets")
	return ""
}

// newLineReader returns a function that reads the next line.
func newLineReader(out io.Reader) func() (string, error) {
	in := bufio.NewReader(out)
	return func() (string, error) { return in.ReadString('\n') }
}

// isLineContaining matches lines that contain text.
func isLineContaining(text string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, text) }
}

// The example console answers every action of the notebook, runs cells, and answers
// invalid actions with an error.
func TestExampleConsoleAnswersEveryAction(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{withConsole: true})
	c := startExampleConsole(t, tr.URL)
	tr.agent.awaitItem(t, "the task", isMessageOfType("agent_query"))

	first := tr.agent.runNewCell(t, 0, "print(6 * 7)")
	require.Equal(t, "42\n", tr.agent.awaitResult(t, first).Logs)
	c.lines.awaitItem(t, "the text of the cell", isLineContaining("42"))
	tr.agent.awaitCellStatuses(t, "ran")
	second := tr.agent.runNewCell(t, 1, "1 / 0")
	tr.agent.awaitResult(t, second)
	tr.agent.awaitCellStatuses(t, "ran", "error")
	note := tr.agent.requestActionOK(t, "create_markdown_cell", params{"position": 0, "source": "# a heading"})["cell_id"]
	tr.agent.requestActionOK(t, "edit_cell", params{"cell_id": second, "source": "while True: pass", "auto_run": true})
	tr.agent.awaitCellStatuses(t, "idle", "ran", "running")
	tr.agent.requestActionOK(t, "stop_cell", params{"cell_id": second})
	tr.agent.awaitCellStatuses(t, "idle", "ran", "error")
	tr.agent.requestActionOK(t, "edit_cell", params{"cell_id": second, "source": "x = 1"})
	tr.agent.requestActionOK(t, "run_cell", params{"cell_id": second})
	tr.agent.awaitCellStatuses(t, "idle", "ran", "ran")
	require.Equal(t, "w", tr.agent.requestActionOK(t, "set_widget", params{"key": "w", "value": "1"})["key"])

	for action, p := range map[string]params{
		"create_cell":          {"position": 9, "cell_type": "code", "source": "1"},
		"create_markdown_cell": {"position": true, "source": "1"},
		"edit_cell":            {"cell_id": first, "source": 1},
		"run_cell":             {"cell_id": note},
		"delete_cell":          {"cell_id": "nobody's"},
		"move_cell":            {"cell_id": note, "position": 3},
	} {
		refused := tr.agent.requestAction(t, action, p)
		require.Equal(t, "error", refused.Status, "%s %v", action, p)
		require.NotEmpty(t, refused.Error)
	}
	require.Equal(t, second, tr.agent.requestActionOK(t, "move_cell", params{"cell_id": second, "position": 0})["cell_id"])
	left := tr.agent.requestActionOK(t, "delete_cell", params{"cell_id": first})
	require.EqualValues(t, 2, left["cell_count"])
	require.Equal(t, []any{
		map[string]any{"index": 0.0, "cell_type": "code", "cell_id": second},
		map[string]any{"index": 1.0, "cell_type": "markdown", "cell_id": note},
	}, left["remaining_cells"])

	tr.agent.submitAnswer("42")
	require.Equal(t, runs.OutcomeCompleted, tr.awaitResult(t).Outcome)
	require.Zero(t, c.awaitExit(), "the attempt passed")
}

// awaitCellStatuses asks for the notebook until its cells have these statuses. The
// console gets actions and the kernel's frames over different connections, so that its
// answer may be behind.
func (a *fakeAgent) awaitCellStatuses(t *testing.T, statuses ...string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(generousTimeout); time.Now().Before(end); {
		got = nil
		for _, cell := range a.listCells(t) {
			got = append(got, cell.Status)
		}
		if len(got) == len(statuses) && strings.Join(got, " ") == strings.Join(statuses, " ") {
			return
		}
	}
	require.Equal(t, statuses, got)
}

// With an agent for the original protocol, the example console takes part in an attempt,
// prints its verdict and exits with status 0.
func TestExampleConsoleInAnAttempt(t *testing.T) {
	t.Parallel()
	for _, modes := range []string{"parallel,entry", "no_tx_id,streams,gzip"} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			h := newServerHarness(t, server.Config{})
			tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{agentCommand: originalProtocolCommand(t, "agent.py", modes), withConsole: true})
			c := startExampleConsole(t, tr.URL)
			tr.requireCompletes(t)
			c.lines.awaitItem(t, "the verdict", isLineContaining("verdict: completed passed 1"))
			require.Zero(t, c.awaitExit())
		})
	}
}

// A second console receives the error that another one holds the notebook.
func TestSecondExampleConsoleIsRefused(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	startExampleConsole(t, s.URL)
	s.entries.awaitItem(t, "the first console", isEntryOfHopAndType(trace.HopSession, router.EntryTypeHolderChanged))
	second := startExampleConsole(t, s.URL)
	require.Equal(t, 1, second.awaitExit())
	second.lines.awaitItem(t, "why it ended", isLineContaining("4009"))
	require.Equal(t, "success", s.agent.requestAction(t, "get_context", nil).Status)
}
