package builtin_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/protocol"
)

// A turn of twenty rounds with a model and a notebook that take no time: it measures the agent
// itself and the JSON of both ends.
func BenchmarkTurn(b *testing.B) {
	lines := append(slices.Repeat([]string{agenttest.ToolCallScriptLine("get_context", `{}`)}, 20), agenttest.SubmitScriptLine("1"))
	turn := agenttest.ParseModelScript(b, lines...)
	ours, theirs := protocol.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- tools.Run(b.Context(), theirs, tools.Config{Agent: builtin.Config{Model: turn.Client()}})
	}()
	send := func(f frame) {
		body, err := json.Marshal(f)
		require.NoError(b, err)
		require.NoError(b, ours.Write(body))
	}
	until := func(status string) {
		for {
			body, err := ours.Read()
			require.NoError(b, err)
			var f struct{ Type, Status string }
			require.NoError(b, json.Unmarshal(body, &f))
			switch {
			case f.Status == status:
				return
			case f.Type == "agent_action":
				var action protocol.AgentAction
				require.NoError(b, json.Unmarshal(body, &action))
				send(frame{"type": "agent_action_response", "tx_id": action.TxID, "status": "success", "context": frame{}})
			}
		}
	}
	send(frame{"type": "init", "session_id": 1})
	until("ready")
	b.ReportAllocs()
	for b.Loop() {
		send(frame{"type": "agent_clear_history"})
		send(frame{"type": "agent_query", "query": "go", "request_id": "q"})
		until("done")
	}
	require.NoError(b, ours.Close(protocol.CloseNormal, ""))
	require.NoError(b, <-over)
}
