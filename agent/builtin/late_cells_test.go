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
	p := startTools(t, builtin.Config{}, agenttest.CallLine("create_cell", `{"position":0,"source":"hang","auto_run":true}`), `{"content":"fine"}`)
	held := p.Hold("create_cell")
	p.Init(nil)
	from := len(p.Frames())
	p.Query("go")
	tx := <-held
	p.Cancel()
	require.Equal(t, "ready", p.AwaitEnd(from))
	require.Empty(t, p.StopRequests())

	p.Respond(tx, frame{"cell_id": "late"})
	p.Await(from, "stop_cell", agenttest.IsStopRequest)
	require.Equal(t, []frame{{"cell_id": "late"}}, p.StopRequests())
	p.Respond(tx, frame{"cell_id": "late"}) // a second response has no effect
	require.Equal(t, "done", p.Ask("again"))
	require.Len(t, p.StopRequests(), 1)
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
			p := startTools(t, builtin.Config{}, agenttest.CallLine("create_cell", fmt.Sprintf(`{"position":0,"source":"x","auto_run":%t}`, c.autoRun)), `{"content":"fine"}`)
			held := p.Hold("create_cell")
			p.Init(nil)
			from := len(p.Frames())
			p.Query("go")
			tx := <-held
			p.Cancel()
			require.Equal(t, "ready", p.AwaitEnd(from))
			p.Respond(tx, c.answer)
			require.Equal(t, "done", p.Ask("again"))
			require.Empty(t, p.StopRequests())
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
			p := startTools(t, builtin.Config{}, agenttest.CallLine(call...), agenttest.CallLine("get_context", `{}`), `{"content":"fine"}`)
			p.Init(nil)
			for _, name := range []string{call[0], "get_context"} { // at the second cancel the agent no longer runs the cell
				held := p.Hold(name)
				from := len(p.Frames())
				p.Query("go")
				<-held
				p.Cancel()
				require.Equal(t, "ready", p.AwaitEnd(from))
				require.Equal(t, []frame{{"cell_id": "c1"}}, p.StopRequests())
			}
			require.Equal(t, "done", p.Ask("again"))
			require.Len(t, p.StopRequests(), 1)
		})
	}
}

// The agent remembers only the latest 16 cancelled creations.
func TestCO11_FewAbandonedActionsAreRemembered(t *testing.T) {
	t.Parallel()
	const rounds = 20
	var replies []any
	for range rounds {
		replies = append(replies, agenttest.NewReply(hangingCellCall()))
	}
	p, _ := startReplies(t, builtin.Config{}, nil, append(replies, agenttest.NewReply())...)
	held := p.Hold("create_cell")
	p.Init(nil)
	var txIDs []string
	for range rounds {
		from := len(p.Frames())
		p.Query("go")
		txIDs = append(txIDs, <-held)
		p.Cancel()
		require.Equal(t, "ready", p.AwaitEnd(from))
	}
	for i, tx := range txIDs {
		p.Respond(tx, frame{"cell_id": fmt.Sprint(i)})
	}
	p.Await(0, "the last stop_cell", func(f frame) bool {
		return agenttest.IsStopRequest(f) && f.Object("params").Text("cell_id") == fmt.Sprint(rounds-1)
	})
	require.Len(t, p.StopRequests(), 16, "the oldest are forgotten")
	require.Equal(t, "done", p.Ask("again"))
}
