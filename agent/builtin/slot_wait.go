package builtin

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A wait for a model slot is reported after slotWaitReportDelay and then every
// slotWaitReportInterval, so that users see that the agent is not stuck.
const (
	slotWaitReportDelay    = time.Second
	slotWaitReportInterval = 10 * time.Second
)

// acquireModelSlot blocks until a call of the model may be made; see
// Config.AcquireModelSlot. Long waits are reported with events of type waiting
// {for, waited_ms, over}, of which the last has over true.
func (c *Conversation) acquireModelSlot(ctx context.Context) (release func(), err error) {
	if c.Config.AcquireModelSlot == nil {
		return func() {}, nil
	}
	w := &slotWait{conversation: c, since: c.Config.Clock()}
	w.start()
	release, err = c.Config.AcquireModelSlot(ctx)
	w.stop()
	return release, err
}

// slotWait reports one wait for a model slot while it lasts.
type slotWait struct {
	conversation *Conversation
	since        time.Time

	mu       sync.Mutex
	timer    *time.Timer
	reported bool
	over     bool
}

func (w *slotWait) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(slotWaitReportDelay, w.report)
}

func (w *slotWait) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.reported = true
	w.sendWaitingEvent("waiting for its turn to call the model, for %s s now")
	w.timer.Reset(slotWaitReportInterval)
}

// stop ends the reports, with a last one if there was any.
func (w *slotWait) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
	if w.reported {
		w.sendWaitingEvent("waited %s s for its turn to call the model")
	}
}

// sendWaitingEvent sends an event whose text is format with the seconds waited so far.
func (w *slotWait) sendWaitingEvent(format string) {
	waited := w.conversation.Config.Clock().Sub(w.since)
	w.conversation.sendEvent("waiting", fmt.Sprintf(format, formatRounded(waited)), map[string]any{
		"for": "a model call's turn", "waited_ms": waited.Milliseconds(), "over": w.over,
	})
}
