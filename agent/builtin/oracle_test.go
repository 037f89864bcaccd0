package builtin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// startOracle runs an oracle with a solution in a file.
func startOracle(t *testing.T, solution string) *peer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "solution.json")
	require.NoError(t, os.WriteFile(file, []byte(solution), 0o600))
	s, err := builtin.ReadSolution(file)
	require.NoError(t, err)
	return start(t, func(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
		return builtin.RunOracle(ctx, conn, s, cfg)
	}, builtin.Config{})
}

// summary is what an agent submitted last.
func summary(t *testing.T, p *peer) string {
	t.Helper()
	for _, m := range p.history() {
		for _, call := range model.ToolUses(m.Content) {
			if call.Name == "submit_response" {
				var input struct {
					Summary    string `json:"summary"`
					NextStatus string `json:"next_status"`
				}
				require.NoError(t, json.Unmarshal(call.Input, &input))
				require.Equal(t, "done", input.NextStatus)
				return input.Summary
			}
		}
	}
	return ""
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
		p := startOracle(t, solution)
		p.cells = []string{"already"}
		p.init(frame{"eval_mode": true})
		require.Equal(t, "done", p.ask("the task"))
		require.Equal(t, want, summary(t, p), solution)
		created := 0
		for _, f := range p.of("agent_action") {
			if f.text("action") == "create_cell" {
				created++
				require.InDelta(t, created, f.object("params")["position"], 0)
				require.Equal(t, true, f.object("params")["auto_run"])
			}
		}
		require.Equal(t, len(p.cells)-1, created)
	}
}

func TestOracle_PlaysTurns(t *testing.T) {
	t.Parallel()
	for _, solution := range []string{
		`[` + uses("create_cell", `{"position":0,"source":"print 3"}`) + `,` + uses("run_cell", `{"cell_id":"$cell[0]"}`) + `,` + submits("3") + `]`,
		`{"turns":[` + uses("create_cell", `{"position":0,"source":"print 3"}`) + ",\n" + uses("run_cell", `{"cell_id":"$cell[0]"}`) + ",\n" + submits("3") + `]}`,
	} {
		p := startOracle(t, solution)
		p.init(frame{"eval_mode": true})
		require.Equal(t, "done", p.ask("the task"))
		require.Equal(t, "<EVAL_ANSWER>3</EVAL_ANSWER> [EVAL_COMPLETE]", summary(t, p))
		text, _ := p.resultText(1)
		require.Contains(t, text, "--- printed\n3\n")
	}
}

// A cell that cannot be created or that does not end is told of, and the next
// one is tried.
func TestOracle_GoesOnAfterFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := builtin.ParseSolution([]byte(`["refused","hang","print 5"]`))
		require.NoError(t, err)
		p := start(t, func(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
			return builtin.RunOracle(ctx, conn, s, cfg)
		}, builtin.Config{})
		p.onAction(func(action string, params frame, tx string) bool {
			if params.text("source") == "refused" {
				p.answer(tx, frame{"status": "error", "error": "no"})
				return true
			}
			return false
		})
		p.init(frame{"limits": frame{"cell_s": 20}})
		require.Equal(t, "done", p.ask("the task"))
		require.Contains(t, summary(t, p), "<EVAL_ANSWER>5</EVAL_ANSWER>")
		errors := p.of("agent_error")
		require.Equal(t, "cell 1 of the solution: no", errors[0].text("error"))
		require.Equal(t, "cell 2 of the solution still runs after 20 seconds", errors[1].text("error"))
	})
}

func TestOracle_WithoutANotebook(t *testing.T) {
	t.Parallel()
	p := startOracle(t, `["print 1"]`)
	p.onAction(func(_ string, _ frame, tx string) bool {
		p.answer(tx, frame{"status": "error", "error": "session is ending"})
		return true
	})
	p.init(nil)
	require.Equal(t, "session is ending", p.ask("the task"))
}

func TestOracle_CanBeCancelled(t *testing.T) {
	t.Parallel()
	p := startOracle(t, `["hang","print 1"]`)
	p.init(nil)
	from := len(p.seen())
	p.query("the task")
	p.await(from, "the cell", func(f frame) bool { return f.text("action") == "create_cell" })
	p.send(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.ends(from))
	require.Empty(t, summary(t, p))
}

func TestOracle_FaultySolutions(t *testing.T) {
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
		_, err := builtin.ParseSolution([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := builtin.ReadSolution(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNoop_SubmitsNothing(t *testing.T) {
	t.Parallel()
	p := start(t, builtin.RunNoop, builtin.Config{})
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("the task"))
	require.Equal(t, []model.Message{assistant(model.Text("I do nothing."))}, p.history())
	require.Empty(t, p.of("agent_action"))
}

func FuzzParseSolution(f *testing.F) {
	f.Add([]byte(`["a"]`))
	f.Add([]byte(`{"cells":["a"],"answer":1}`))
	f.Add([]byte(`[{"content":"a"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := builtin.ParseSolution(data)
		if err == nil && s.Turns != nil && s.Cells != nil {
			t.Fatal("turns and cells")
		}
	})
}
