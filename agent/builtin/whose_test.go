package builtin_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
)

// Several may be at work at once: what an event tells of is said by its metadata.
func TestBL7_EventsSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := builtin.Config{MaxEvalIters: 1, Admit: func(ctx context.Context) (func(), error) {
			time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
			return func() {}, ctx.Err()
		}}
		code := saying("```\n1\n```")
		p := startBlocks(t, cfg, `{"error":{"status":529}}`, code, code, `{"content":"slow","delay_ms":3600000}`)
		p.init(nil)
		require.Equal(t, "done", p.ask("@lab go"))
		from := len(p.seen())
		p.query("@lab more")
		p.await(from, "the wait", func(f frame) bool { return f.object("metadata").text("type") == "waiting" })
		p.cancel()
		require.Equal(t, "ready", p.ends(from))
		for _, kind := range []string{"waiting", "retry", "response", "ai_exec", "ai_exec_result", "limit", "cancelled", "ended"} {
			require.NotEmpty(t, p.events(kind), kind)
			for _, f := range p.events(kind) {
				require.Equal(t, "q1", f.object("metadata").text("request_id"), kind)
				require.Equal(t, "lab", f.object("metadata").text("label"), kind)
			}
		}
	})
}
