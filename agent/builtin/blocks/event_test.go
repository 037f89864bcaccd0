package blocks_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
)

// The metadata of every event name its query and its label, because several may be at work.
func TestBL7_EventsNameQueryAndLabel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := blocks.Config{MaxRounds: 1}
		code := agenttest.TextScriptLine("```\n1\n```")
		p := startBlocksAgent(t, cfg, `{"error":{"status":529}}`, code, code, `{"content":"slow","delay_ms":3600000}`)
		p.InitAndAwaitReady(nil)
		require.Equal(t, "done", p.QueryAndWait("@lab go"))
		from := len(p.Frames())
		p.SendQuery("@lab more")
		p.SendCancel()
		require.Equal(t, "ready", p.AwaitQueryEnd(from))
		for _, kind := range []string{"retry", "response", "ai_exec", "ai_exec_result", "limit", "cancelled", "ended"} {
			require.NotEmpty(t, p.EventsOfType(kind), kind)
			for _, f := range p.EventsOfType(kind) {
				require.Equal(t, "q1", f.ObjectField("metadata").StringField("request_id"), kind)
				require.Equal(t, "lab", f.ObjectField("metadata").StringField("label"), kind)
			}
		}
	})
}
