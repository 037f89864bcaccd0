package attempt_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/trace"
)

// Progress describes what the agent and its model are doing, names tools and reasons for
// waiting, and has the usage.
func TestProgressActivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{})
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _, _ = w.NextVerdict(t.Context())
		}()
		for _, step := range []struct{ frame, want string }{
			{"", "waiting for the agent"},
			{`agent>server {"type":"agent_status","status":"thinking"}`, "the agent is thinking"},
			{retryEvent(12_000, 2), "waits 12s, try 3: 529 overloaded_error: Overloaded"},
			{"12s", "the agent is thinking"},
			{modelCallBegins, "the model replies"},
			{modelCallWaits, "waits for its turn to call its model"},
			{modelCallAdmitted, "the model replies"},
			{modelRefuses, "waits for its model: 429 rate_limit_error: slowly"},
			{"30s", "the agent is thinking"},
			{`agent>server {"type":"agent_stream_start"}`, "the agent is thinking"},
			{`agent>server {"type":"agent_stream_block_start","block_index":0,"block_type":"thinking"}`, "the model thinks"},
			{`agent>server {"type":"agent_stream_block_start","block_index":1,"block_type":"text"}`, "the model writes"},
			{`agent>server {"type":"agent_stream_block_start","block_index":2,"block_type":"tool_use","block_name":"create_cell"}`, "the model writes create_cell"},
			{`agent>server {"type":"agent_status","status":"executing"}`, "the agent is executing"},
			{`agent>server {"type":"agent_action","action":"get_context","params":{},"tx_id":"t1"}`, "get_context"},
			{`agent>server {"type":"agent_action","action":"create_cell","params":{"auto_run":true},"tx_id":"t2"}`, "create_cell, get_context"},
			{`server>agent {"type":"agent_action_response","tx_id":"t1","status":"success"}`, "create_cell"},
			{`server>agent {"type":"agent_action_response","tx_id":"t2","status":"success","cell_id":"a"}`, "create_cell runs a cell"},
			{frameRunA, "create_cell runs a cell"},
		} {
			if pause, err := time.ParseDuration(step.frame); err == nil {
				<-time.After(pause)
			} else if step.frame != "" {
				playTestCaseLine(t, journal, step.frame)
			}
			synctest.Wait()
			text, _ := w.Progress().Activity()
			require.Equal(t, step.want, text, step.frame)
		}
		playTestCaseLine(t, journal, modelCall2Begins)
		playTestCaseLine(t, journal, modelReplies2)
		synctest.Wait()
		require.Equal(t, int64(30), w.Progress().Usage().InputTokens+w.Progress().Usage().OutputTokens)
		playTestCaseLine(t, journal, `session {"type":"peer_ended","action":"agent"}`)
		<-over
		w.Close()
	})
}
