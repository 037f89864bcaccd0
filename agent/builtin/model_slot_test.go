package builtin_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
)

// A long wait for a model slot is reported after 1 s, then every 10 s, and at its end. A
// short wait is not reported.
func TestCO8_LongWaitForModelSlotIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits, inUse := []time.Duration{900 * time.Millisecond, 25 * time.Second}, 0
		cfg := builtin.Config{AcquireModelSlot: func(ctx context.Context) (func(), error) {
			timer := time.NewTimer(waits[0])
			defer timer.Stop()
			waits = waits[1:]
			select {
			case <-timer.C:
				inUse++
				return func() { inUse-- }, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}}
		p := startToolsAgent(t, cfg, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"done"}`)
		p.InitAndAwaitReady(nil)
		require.Equal(t, "done", p.QueryAndWait("go"))
		var reports []any
		for _, e := range p.EventsOfType("waiting") {
			m := e.ObjectField("metadata")
			require.Equal(t, "a model call's turn", m["for"])
			reports = append(reports, m["waited_ms"], m["over"])
		}
		require.Equal(t, []any{1000.0, false, 11000.0, false, 21000.0, false, 25000.0, true}, reports)
		require.Zero(t, inUse, "all slots are released")
	})
}

// A model slot is held during a call, but not during the delay before a retry.
func TestCO8_ModelSlotIsReleasedBetweenTries(t *testing.T) {
	t.Parallel()
	inUse, maxInUse, inUseDuringDelays := 0, 0, []int{}
	cfg := builtin.Config{
		AcquireModelSlot: func(context.Context) (func(), error) {
			inUse++
			maxInUse = max(maxInUse, inUse)
			return func() { inUse-- }, nil
		},
		Sleep: func(context.Context, time.Duration) error {
			inUseDuringDelays = append(inUseDuringDelays, inUse)
			return nil
		},
	}
	p := startToolsAgent(t, cfg, `{"error":{"status":529}}`, `{"error":{"status":429}}`, `{"content":"done"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, []int{0, 0}, inUseDuringDelays)
	require.Equal(t, 1, maxInUse)
}

// A cancel ends the wait for a model slot, and the next query is answered.
func TestCO11_CancelEndsWaitForModelSlot(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{}, 1)
	first := true
	cfg := builtin.Config{AcquireModelSlot: func(ctx context.Context) (func(), error) {
		if !first {
			return func() {}, nil
		}
		first = false
		waiting <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	p := startToolsAgent(t, cfg, `{"content":"done"}`)
	p.InitAndAwaitReady(nil)
	from := len(p.Frames())
	p.SendQuery("one")
	<-waiting
	p.SendFrame(frame{"type": "agent_cancel"})
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	require.Len(t, p.EventsOfType("cancelled"), 1)
	require.Equal(t, "done", p.QueryAndWait("two"))
}

// If no model slot can be had, the query fails with that error.
func TestCO8_QueryFailsWithoutModelSlot(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{AcquireModelSlot: func(context.Context) (func(), error) { return nil, errors.New("no slots") }}, `{"content":"done"}`)
	p.InitAndAwaitReady(nil)
	p.SendQuery("go")
	failure := p.AwaitFrame(0, "an error", func(f frame) bool { return f.StringField("type") == "agent_error" })
	require.Equal(t, "no slots", failure["error"])
	require.Equal(t, true, failure["fatal"])
}
