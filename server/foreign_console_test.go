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

// console is docs/examples/console.py, as a process.
type console struct {
	printed *box[string] // lines
	ended   func() int   // waits for its end and returns its exit status
}

func newConsole(t *testing.T, url string) *console {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "docs", "examples", "console.py"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), websocketsPython(t), "-u", script, strings.Replace(url, "ws://", "http://", 1))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	c := &console{printed: newBox[string]()}
	var reading sync.WaitGroup
	reading.Go(func() { c.printed.fill(lines(out)) })
	c.ended = sync.OnceValue(func() int {
		reading.Wait()
		_ = cmd.Wait() // its exit status says the same
		return cmd.ProcessState.ExitCode()
	})
	t.Cleanup(func() { c.ended() })
	return c
}

// websocketsPython is a Python that has the library of the example.
func websocketsPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import websockets").Run() == nil {
			return python
		}
	}
	t.Skip("neither python3 nor /usr/bin/python3 has websockets: install Debian's python3-websockets")
	return ""
}

func lines(out io.Reader) func() (string, error) {
	in := bufio.NewReader(out)
	return func() (string, error) { return in.ReadString('\n') }
}

func containing(text string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, text) }
}

// The console of the docs answers every action of the notebook, runs what is to
// be run, and refuses what cannot be done.
func TestForeignConsoleAnswersEveryAction(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	tr := h.held(t, h.python(t), nil)
	c := newConsole(t, tr.url)
	tr.agent.await(t, "the task", ofType("agent_query"))

	first := tr.agent.runs(t, 0, "print(6 * 7)")
	require.Equal(t, "42\n", tr.agent.result(t, first).Logs)
	c.printed.await(t, "the text of the cell", containing("42"))
	tr.agent.shows(t, "ran")
	second := tr.agent.runs(t, 1, "1 / 0")
	tr.agent.result(t, second)
	tr.agent.shows(t, "ran", "error")
	note := tr.agent.succeeds(t, "create_markdown_cell", params{"position": 0, "source": "# a heading"})["cell_id"]
	tr.agent.succeeds(t, "edit_cell", params{"cell_id": second, "source": "while True: pass", "auto_run": true})
	tr.agent.shows(t, "idle", "ran", "running")
	tr.agent.succeeds(t, "stop_cell", params{"cell_id": second})
	tr.agent.shows(t, "idle", "ran", "error")
	tr.agent.succeeds(t, "edit_cell", params{"cell_id": second, "source": "x = 1"})
	tr.agent.succeeds(t, "run_cell", params{"cell_id": second})
	tr.agent.shows(t, "idle", "ran", "ran")
	require.Equal(t, "w", tr.agent.succeeds(t, "set_widget", params{"key": "w", "value": "1"})["key"])

	for action, p := range map[string]params{
		"create_cell":          {"position": 9, "cell_type": "code", "source": "1"},
		"create_markdown_cell": {"position": true, "source": "1"},
		"edit_cell":            {"cell_id": first, "source": 1},
		"run_cell":             {"cell_id": note},
		"delete_cell":          {"cell_id": "nobody's"},
		"move_cell":            {"cell_id": note, "position": 3},
	} {
		refused := tr.agent.do(t, action, p)
		require.Equal(t, "error", refused.Status, "%s %v", action, p)
		require.NotEmpty(t, refused.Error)
	}
	require.Equal(t, second, tr.agent.succeeds(t, "move_cell", params{"cell_id": second, "position": 0})["cell_id"])
	left := tr.agent.succeeds(t, "delete_cell", params{"cell_id": first})
	require.EqualValues(t, 2, left["cell_count"])
	require.Equal(t, []any{
		map[string]any{"index": 0.0, "cell_type": "code", "cell_id": second},
		map[string]any{"index": 1.0, "cell_type": "markdown", "cell_id": note},
	}, left["remaining_cells"])

	tr.agent.submit("42")
	require.Equal(t, runs.OutcomeCompleted, tr.end(t).Outcome)
	require.Zero(t, c.ended(), "it passed")
}

// succeeds has an action done and returns its answer.
func (a *puppet) succeeds(t *testing.T, action string, p params) map[string]any {
	t.Helper()
	answer := a.do(t, action, p)
	require.Equal(t, "success", answer.Status, answer)
	return answer.fields(t)
}

// shows asks for the notebook until its cells are so: what a console knows of
// runs comes to it on another connection than what it is asked.
func (a *puppet) shows(t *testing.T, statuses ...string) {
	t.Helper()
	var got []string
	for late := time.Now().Add(generous); time.Now().Before(late); {
		got = nil
		for _, cell := range a.context(t) {
			got = append(got, cell.Status)
		}
		if len(got) == len(statuses) && strings.Join(got, " ") == strings.Join(statuses, " ") {
			return
		}
	}
	require.Equal(t, statuses, got)
}

// A foreign agent and a foreign console do a case together, and the console ends
// with the verdict.
func TestForeignConsoleDoesForAnAttempt(t *testing.T) {
	t.Parallel()
	for _, ways := range []string{"three,entry", "untold,streams,gzip"} {
		t.Run(ways, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, server.Config{})
			tr := h.held(t, h.python(t), peer(t, "agent.py", ways))
			c := newConsole(t, tr.url)
			tr.completes(t)
			c.printed.await(t, "the verdict", containing("verdict: completed passed 1"))
			require.Zero(t, c.ended())
		})
	}
}

// Whoever comes second is told that the notebook is held.
func TestForeignConsoleThatComesSecond(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	newConsole(t, s.url)
	s.trace.await(t, "the first console", entry(trace.HopSession, router.TypeHolder))
	second := newConsole(t, s.url)
	require.Equal(t, 1, second.ended())
	second.printed.await(t, "why it ended", containing("4009"))
	require.Equal(t, "success", s.agent.do(t, "get_context", nil).Status)
}
