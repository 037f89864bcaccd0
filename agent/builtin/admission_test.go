package builtin_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
)

// TestCO8_ACallWaitsForItsTurn: a wait for a turn is told of once it is long, now
// and then while it lasts, and at its end; a short one is not.
func TestCO8_ACallWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits, inside := []time.Duration{900 * time.Millisecond, 25 * time.Second}, 0
		cfg := builtin.Config{Admit: func(ctx context.Context) (func(), error) {
			timer := time.NewTimer(waits[0])
			defer timer.Stop()
			waits = waits[1:]
			select {
			case <-timer.C:
				inside++
				return func() { inside-- }, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}}
		p := startTools(t, cfg, uses("get_context", `{}`), `{"content":"done"}`)
		p.init(nil)
		require.Equal(t, "done", p.ask("go"))
		var told []any
		for _, e := range p.events("waiting") {
			m := e.object("metadata")
			require.Equal(t, "a model call's turn", m["for"])
			told = append(told, m["waited_ms"], m["over"])
		}
		require.Equal(t, []any{1000.0, false, 11000.0, false, 21000.0, false, 25000.0, true}, told)
		require.Zero(t, inside, "places are given back")
	})
}

// A place is held while the model is called, and not while the agent waits until
// it calls again.
func TestCO8_APlaceIsNotHeldBetweenTries(t *testing.T) {
	t.Parallel()
	inside, most, during := 0, 0, []int{}
	cfg := builtin.Config{
		Admit: func(context.Context) (func(), error) {
			inside++
			most = max(most, inside)
			return func() { inside-- }, nil
		},
		Pause: func(context.Context, time.Duration) error {
			during = append(during, inside)
			return nil
		},
	}
	p := startTools(t, cfg, `{"error":{"status":529}}`, `{"error":{"status":429}}`, `{"content":"done"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, []int{0, 0}, during)
	require.Equal(t, 1, most)
}

// TestCO11_CancelEndsTheWaitForATurn, and the next query is answered.
func TestCO11_CancelEndsTheWaitForATurn(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{}, 1)
	first := true
	cfg := builtin.Config{Admit: func(ctx context.Context) (func(), error) {
		if !first {
			return func() {}, nil
		}
		first = false
		waiting <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	p := startTools(t, cfg, `{"content":"done"}`)
	p.init(nil)
	from := len(p.seen())
	p.query("one")
	<-waiting
	p.send(frame{"type": "agent_cancel"})
	require.Equal(t, "ready", p.ends(from))
	require.Len(t, p.events("cancelled"), 1)
	require.Equal(t, "done", p.ask("two"))
}

// A gate that is gone ends the query, and says so.
func TestCO8_WithoutAGateNothingIsCalled(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{Admit: func(context.Context) (func(), error) { return nil, errors.New("no gate") }}, `{"content":"done"}`)
	p.init(nil)
	p.query("go")
	failure := p.await(0, "an error", func(f frame) bool { return f.text("type") == "agent_error" })
	require.Equal(t, "no gate", failure["error"])
	require.Equal(t, true, failure["fatal"])
}
