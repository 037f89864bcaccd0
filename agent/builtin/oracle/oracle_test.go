package oracle_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/oracle"
	"assay/internal/model"
	"assay/internal/protocol"
)

type frame = agenttest.Frame

// startSolutionAgent runs the agent that plays a solution.
func startSolutionAgent(t *testing.T, solution oracle.Solution) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
		return oracle.Run(ctx, conn, solution, builtin.Config{})
	})
}

// startSolutionAgentFromFile runs the agent that plays a solution, which it writes to a file and reads back.
func startSolutionAgentFromFile(t *testing.T, solution string) *agenttest.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "solution.json")
	require.NoError(t, os.WriteFile(file, []byte(solution), 0o600))
	s, err := oracle.ReadSolution(file)
	require.NoError(t, err)
	return startSolutionAgent(t, s)
}

func TestOracle_PlaysTheCellsAndSubmits(t *testing.T) {
	t.Parallel()
	tail := "\n[EVAL_COMPLETE]"
	tag := func(answer string) string {
		return "The cells of the solution were run.\n<EVAL_ANSWER>" + answer + "</EVAL_ANSWER>" + tail
	}
	nothing := "The cells of the solution were run; the last of them printed nothing, so there is no answer." + tail
	for solution, want := range map[string]string{
		`["print 1","fail here","print {\"a\": 2}"]`:                     tag(`{"a": 2}`),
		`{"cells":["print one"]}`:                                        tag(`"one"`),
		`{"cells":["print first\n  last line  \n"]}`:                     tag(`"last line"`),
		`{"cells":["print 1"],"answer":{"n":1.50,"s":"</EVAL_ANSWER>"}}`: tag(`{"n":1.50,"s":"\u003c/EVAL_ANSWER\u003e"}`),
		`{"cells":[],"answer":null}`:                                     tag(`null`),
		`{"cells":["print 1","x"]}`:                                      nothing,
		`["fail","fail"]`:                                                strings.Replace(nothing, "\n", " Cell 1 failed: ValueError:\n", 1),
		`[]`:                                                             nothing,
		`{"cells":["print <b>"]}`:                                        tag(`"\u003cb\u003e"`),
	} {
		p := startSolutionAgentFromFile(t, solution)
		p.Cells = []string{"already"}
		p.InitAndAwaitReady(frame{"eval_mode": true})
		require.Equal(t, "done", p.QueryAndWait("the task"))
		require.Equal(t, []builtin.Submission{{Summary: want, NextStatus: "done"}}, p.Submissions(), solution)
		created := 0
		for _, f := range p.FramesOfType("agent_action") {
			if f.StringField("action") == "create_cell" {
				created++
				require.InDelta(t, created, f.ObjectField("params")["position"], 0)
				require.Equal(t, true, f.ObjectField("params")["auto_run"])
			}
		}
		require.Equal(t, len(p.Cells)-1, created)
	}
}

func TestOracle_PlaysTurns(t *testing.T) {
	t.Parallel()
	for _, solution := range []string{
		`[` + agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"print 3"}`) + `,` + agenttest.ToolCallScriptLine("run_cell", `{"cell_id":"$cell[0]"}`) + `,` + agenttest.SubmitScriptLine("3") + `]`,
		`{"turns":[` + agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"print 3"}`) + ",\n" + agenttest.ToolCallScriptLine("run_cell", `{"cell_id":"$cell[0]"}`) + ",\n" + agenttest.SubmitScriptLine("3") + `]}`,
	} {
		p := startSolutionAgentFromFile(t, solution)
		p.InitAndAwaitReady(frame{"eval_mode": true})
		require.Equal(t, "done", p.QueryAndWait("the task"))
		require.Equal(t, "<EVAL_ANSWER>3</EVAL_ANSWER> [EVAL_COMPLETE]", p.Submissions()[0].Summary)
		text, _ := p.ToolResult(1)
		require.Contains(t, text, "--- printed\n3\n")
	}
}

// A cell that cannot be created or does not end in time is reported as an error, and the next
// one is tried.
func TestOracle_GoesOnAfterFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := oracle.ParseSolution([]byte(`["refused","hang","print 5"]`))
		require.NoError(t, err)
		p := startSolutionAgent(t, s)
		p.SetActionHook(func(action string, params frame, tx string) bool {
			if params.StringField("source") == "refused" {
				p.RespondToAction(tx, frame{"status": "error", "error": "no"})
				return true
			}
			return false
		})
		p.InitAndAwaitReady(frame{"limits": frame{"cell_s": 20}})
		require.Equal(t, "done", p.QueryAndWait("the task"))
		require.Contains(t, p.Submissions()[0].Summary, "<EVAL_ANSWER>5</EVAL_ANSWER>")
		failures := p.FramesOfType("agent_error")
		require.Equal(t, "cell 1 of the solution: no", failures[0].StringField("error"))
		require.Equal(t, "cell 2 of the solution still runs after 20 seconds", failures[1].StringField("error"))
	})
}

func TestOracle_NotebookDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := startSolutionAgentFromFile(t, `["print 1"]`)
	p.SetActionHook(func(_ string, _ frame, tx string) bool {
		p.RespondToAction(tx, frame{"status": "error", "error": "session is ending"})
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "session is ending", p.QueryAndWait("the task"))
}

func TestOracle_CanBeCancelled(t *testing.T) {
	t.Parallel()
	p := startSolutionAgentFromFile(t, `["hang","print 1"]`)
	p.InitAndAwaitReady(nil)
	from := len(p.Frames())
	p.SendQuery("the task")
	p.AwaitFrame(from, "the cell", func(f frame) bool { return f.StringField("action") == "create_cell" })
	p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	require.Empty(t, p.Submissions())
}

func TestOracle_InvalidSolutions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                "read the solution",
		`5`:                               "read the solution",
		`[5]`:                             "turns:1: ",
		`{"cells":[5]}`:                   "read the solution",
		`{"celts":[]}`:                    "unknown field",
		`{"turns":[{}],"cells":["x"]}`:    "either turns, or cells",
		`{"turns":[]}`:                    "has no replies",
		`[{"content":"a"},{"contnet":1}]`: `turns:2: json: unknown field "contnet"`,
	} {
		_, err := oracle.ParseSolution([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := oracle.ReadSolution(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNoop_SubmitsNothing(t *testing.T) {
	t.Parallel()
	p := agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
		return oracle.RunNoop(ctx, conn, builtin.Config{})
	})
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("the task"))
	require.Equal(t, []model.Message{builtin.AssistantMessage(model.Text("I do nothing."))}, p.Transcript())
	require.Empty(t, p.FramesOfType("agent_action"))
}

func FuzzParseSolution(f *testing.F) {
	f.Add([]byte(`["a"]`))
	f.Add([]byte(`{"cells":["a"],"answer":1}`))
	f.Add([]byte(`[{"content":"a"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := oracle.ParseSolution(data)
		if err == nil && s.Turns != nil && s.Cells != nil {
			t.Fatal("turns and cells")
		}
	})
}

func TestCO1_EndsWithItsConnection(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, protocol.Conn) error{
		"noop": func(ctx context.Context, conn protocol.Conn) error {
			return oracle.RunNoop(ctx, conn, builtin.Config{})
		},
		"oracle": func(ctx context.Context, conn protocol.Conn) error {
			return oracle.Run(ctx, conn, oracle.Solution{}, builtin.Config{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := agenttest.Start(t, run)
			p.InitAndAwaitReady(nil)
			require.NoError(t, p.Conn.Close(protocol.CloseNormal, ""))
			require.NoError(t, <-p.Ended)
		})
	}
}
