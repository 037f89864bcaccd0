package builtin_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
)

// A query is cancelled before the response to its create_cell has come. The cell is stopped
// when the response comes.
func TestCO11_CellOfLateResponseIsStopped(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"hang","auto_run":true}`), `{"content":"fine"}`)
	held := p.WithholdResponses("create_cell")
	p.InitAndAwaitReady(nil)
	from := len(p.Frames())
	p.SendQuery("go")
	tx := <-held
	p.SendCancel()
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	require.Empty(t, p.StopCellRequests())

	p.RespondToAction(tx, frame{"cell_id": "late"})
	p.AwaitFrame(from, "stop_cell", agenttest.IsStopCellAction)
	require.Equal(t, []frame{{"cell_id": "late"}}, p.StopCellRequests())
	p.RespondToAction(tx, frame{"cell_id": "late"}) // a second response has no effect
	require.Equal(t, "done", p.QueryAndWait("again"))
	require.Len(t, p.StopCellRequests(), 1)
}

// No cell is stopped if the late response reports a failure, or if the cell does not run.
func TestCO11_LateResponseWithoutRunStopsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		autoRun bool
		answer  frame
	}{
		"failed":    {true, frame{"status": "error", "error": "no"}},
		"nameless":  {true, nil},
		"not a run": {false, frame{"cell_id": "late"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine("create_cell", fmt.Sprintf(`{"position":0,"source":"x","auto_run":%t}`, c.autoRun)), `{"content":"fine"}`)
			held := p.WithholdResponses("create_cell")
			p.InitAndAwaitReady(nil)
			from := len(p.Frames())
			p.SendQuery("go")
			tx := <-held
			p.SendCancel()
			require.Equal(t, "ready", p.AwaitQueryEnd(from))
			p.RespondToAction(tx, c.answer)
			require.Equal(t, "done", p.QueryAndWait("again"))
			require.Empty(t, p.StopCellRequests())
		})
	}
}

// A cell whose run was requested is stopped at once, without waiting for the response: the
// server handles actions in order.
func TestCO11_RunWithoutResponseIsStopped(t *testing.T) {
	t.Parallel()
	for _, call := range [][]string{
		{"run_cell", `{"cell_id":"c1"}`},
		{"edit_cell", `{"cell_id":"c1","source":"hang","auto_run":true}`},
	} {
		t.Run(call[0], func(t *testing.T) {
			t.Parallel()
			p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine(call...), agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"fine"}`)
			p.InitAndAwaitReady(nil)
			for _, name := range []string{call[0], "get_context"} { // at the second cancel the agent no longer runs the cell
				held := p.WithholdResponses(name)
				from := len(p.Frames())
				p.SendQuery("go")
				<-held
				p.SendCancel()
				require.Equal(t, "ready", p.AwaitQueryEnd(from))
				require.Equal(t, []frame{{"cell_id": "c1"}}, p.StopCellRequests())
			}
			require.Equal(t, "done", p.QueryAndWait("again"))
			require.Len(t, p.StopCellRequests(), 1)
		})
	}
}

// The agent remembers only the latest 16 cancelled creations.
func TestCO11_FewAbandonedActionsAreRemembered(t *testing.T) {
	t.Parallel()
	const rounds = 20
	var replies []any
	for range rounds {
		replies = append(replies, agenttest.NewModelReply(hangingCellCall()))
	}
	p, _ := startAgentOnReplies(t, builtin.Config{}, nil, append(replies, agenttest.NewModelReply())...)
	held := p.WithholdResponses("create_cell")
	p.InitAndAwaitReady(nil)
	var txIDs []string
	for range rounds {
		from := len(p.Frames())
		p.SendQuery("go")
		txIDs = append(txIDs, <-held)
		p.SendCancel()
		require.Equal(t, "ready", p.AwaitQueryEnd(from))
	}
	for i, tx := range txIDs {
		p.RespondToAction(tx, frame{"cell_id": fmt.Sprint(i)})
	}
	p.AwaitFrame(0, "the last stop_cell", func(f frame) bool {
		return agenttest.IsStopCellAction(f) && f.ObjectField("params").StringField("cell_id") == fmt.Sprint(rounds-1)
	})
	require.Len(t, p.StopCellRequests(), 16, "the oldest are forgotten")
	require.Equal(t, "done", p.QueryAndWait("again"))
}
