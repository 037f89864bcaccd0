package builtin_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// slowModel sends a piece of its reply after each interval, for ever.
type slowModel struct{ interval time.Duration }

func (m slowModel) Complete(ctx context.Context, _ model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	onDelta(model.Delta{Kind: model.DeltaStart, Type: "text"})
	for {
		select {
		case <-time.After(m.interval):
			onDelta(model.Delta{Kind: model.DeltaText, Text: "so "})
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// A model that has sent nothing for a minute, or half of the time, when the time of the attempt is over
// ends the agent before the server does. One that is only slow does not.
func TestSilentModelEndsTheAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		interval, wall time.Duration
		want           string
	}{
		"silent":            {time.Hour, 5 * time.Minute, "the model was silent for 4m59s, until the time of the attempt was over"},
		"silent, soon over": {time.Hour, 2 * time.Second, "the model was silent for 2s, until the time of the attempt was over"},
		"slow":              {50 * time.Second, 5 * time.Minute, ""},
		"without a limit":   {time.Hour, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := builtin.Config{Model: slowModel{test.interval}}
				cfg.Limits.WallTimeout = test.wall
				p := startAgent(t, cfg)
				p.InitAndAwaitReady(frame{"eval_mode": true})
				p.SendQuery("go")
				<-time.After(10 * time.Minute)
				errors := p.FramesOfType("agent_error")
				if test.want == "" {
					require.Empty(t, errors)
					return
				}
				require.Len(t, errors, 1)
				require.Equal(t, test.want, errors[0]["error"])
				require.Equal(t, true, errors[0]["fatal"])
			})
		})
	}
}
