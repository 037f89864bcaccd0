package builtin

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"assay/internal/model"
)

const (
	// silenceLimit is how long a model may send nothing until the time of the attempt is over, at
	// most half of that time. If it is silent for longer, the failure is the model's.
	silenceLimit = time.Minute

	// silenceMargin is how long before the end of that time the call is given up, at most a tenth
	// of it, so that the server gets the error before it ends the attempt.
	silenceMargin = time.Second
)

// silentModelError is the error of a model call that was given up.
type silentModelError struct{ silent time.Duration }

// Error says how long nothing came.
func (e *silentModelError) Error() string {
	return fmt.Sprintf("the model was silent for %v, until the time of the attempt was over", e.silent.Round(time.Second))
}

// silenceWatch ends a model call shortly before the wall-clock limit if nothing has come for silenceLimit.
type silenceWatch struct {
	lastDeltaNS atomic.Int64 // since 1970; at first the start of the call
	stop        func()
}

// watchSilence starts a silenceWatch for one model call, and returns the context for it. Its cause is
// then a [*silentModelError]. Call stop when the call has returned.
func (c *Conversation) watchSilence(ctx context.Context) (context.Context, *silenceWatch) {
	w := &silenceWatch{stop: func() {}}
	left, isLimited := c.usage.timeLeft()
	if !isLimited {
		return ctx, w
	}
	wall := c.usage.notebook.limits.WallTimeout
	ctx, cancel := context.WithCancelCause(ctx)
	w.noteDelta()
	timer := time.AfterFunc(left-min(silenceMargin, wall/10), func() {
		if silent := time.Since(time.Unix(0, w.lastDeltaNS.Load())); silent >= min(silenceLimit, wall/2) {
			cancel(&silentModelError{silent})
		}
	})
	w.stop = func() {
		timer.Stop()
		cancel(nil)
	}
	return ctx, w
}

// noteDelta notes that something has come.
func (w *silenceWatch) noteDelta() { w.lastDeltaNS.Store(time.Now().UnixNano()) }

// wrap returns a function that notes each piece of the reply and passes it on.
func (w *silenceWatch) wrap(onDelta func(model.Delta)) func(model.Delta) {
	return func(d model.Delta) {
		w.noteDelta()
		onDelta(d)
	}
}
