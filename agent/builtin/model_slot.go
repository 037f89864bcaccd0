package builtin

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A wait for a model slot is reported after modelSlotReportDelay and then every
// modelSlotReportInterval, so that users see that the agent is not stuck.
const (
	modelSlotReportDelay    = time.Second
	modelSlotReportInterval = 10 * time.Second
)

// acquireModelSlot waits until the conversation may call the model; see
// Config.AcquireModelSlot. It returns a function that gives the slot back, or the error of
// Config.AcquireModelSlot. A wait of more than 1 s is reported with events of type waiting
// {for, waited_ms, over}, the last of which has over true.
func (c *Conversation) acquireModelSlot(ctx context.Context) (release func(), err error) {
	if c.Config.AcquireModelSlot == nil {
		return func() {}, nil
	}
	w := &modelSlotWaitReporter{conversation: c, since: c.Config.Clock()}
	w.scheduleReport()
	release, err = c.Config.AcquireModelSlot(ctx)
	w.stopReports()
	return release, err
}

// modelSlotWaitReporter sends events about one wait for a model slot: the first after 1 s, then one
// every 10 s, and one when the wait is over.
type modelSlotWaitReporter struct {
	conversation *Conversation
	since        time.Time

	mu       sync.Mutex
	timer    *time.Timer
	reported bool
	over     bool
}

// scheduleReport schedules the first event about a wait for a model slot.
func (w *modelSlotWaitReporter) scheduleReport() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(modelSlotReportDelay, w.reportWait)
}

// reportWait sends an event about a wait for a model slot that goes on, and schedules the next
// event.
func (w *modelSlotWaitReporter) reportWait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.reported = true
	w.sendWaitingEvent("waiting for its turn to call the model, for %s s now")
	w.timer.Reset(modelSlotReportInterval)
}

// stopReports ends the events about a wait for a model slot. It sends a last event if there were
// any before.
func (w *modelSlotWaitReporter) stopReports() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
	if w.reported {
		w.sendWaitingEvent("waited %s s for its turn to call the model")
	}
}

// sendWaitingEvent sends an event of type waiting. Its text is format, whose %s is the
// number of seconds waited so far.
func (w *modelSlotWaitReporter) sendWaitingEvent(format string) {
	waited := w.conversation.Config.Clock().Sub(w.since)
	w.conversation.sendEvent("waiting", fmt.Sprintf(format, formatRoundedSeconds(waited)), map[string]any{
		"for": "a model call's turn", "waited_ms": waited.Milliseconds(), "over": w.over,
	})
}
