package attempt

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/internal/trace"
)

// maxReportedDelay is the longest delay that is accepted from an agent's report.
const maxReportedDelay = time.Hour

// modelWaits sums up how long the agent has waited to call its model, as it reports itself: delays
// before a call is repeated, and waiting for a slot of the limiter. Waits at the same time count
// once.
type modelWaits struct {
	total          time.Duration // of all waits that end by countedUntil
	countedUntil   time.Time     // when the last wait in total ends, which may be in the future
	reason         string        // of that wait, for Progress
	isAwaitingTurn bool          // the agent waits for a slot of the limiter
}

// agentEvent is the part of an agent_event that the watcher reads.
type agentEvent struct {
	Text     string `json:"text"`
	Metadata struct {
		Type     string  `json:"type"`
		WaitMS   float64 `json:"wait_ms"`   // of a retry: the delay before it
		Attempt  int     `json:"attempt"`   // of a retry: from 1
		Error    string  `json:"error"`     // of a retry: why the last call failed
		WaitedMS float64 `json:"waited_ms"` // of waiting for a slot: how long so far
		Over     bool    `json:"over"`      // of waiting for a slot: it has ended
	} `json:"metadata"`
}

// readAgentEvent reads an event that says that the agent has reached one of its own limits, repeats
// a call of its model or waits for a slot of the limiter. Other events are ignored.
func (w *completionWatcher) readAgentEvent(e *trace.Entry) {
	var event agentEvent
	if json.Unmarshal(e.Body, &event) != nil {
		return
	}
	switch m := event.Metadata; m.Type {
	case "limit":
		w.agentReports.reachedLimit = event.Text
	case "retry":
		w.counts.usage.Retries++
		delay := reportedDelay(m.WaitMS)
		w.modelWaits.addWait(e.WallTime, e.WallTime.Add(delay))
		w.modelWaits.reason = fmt.Sprintf("waits %v, try %d: %s", delay.Round(time.Second/10), m.Attempt+1, withoutVendorPrefix(m.Error))
		w.noteAgentActiveAt(w.modelWaits.countedUntil) // a reported delay does not count as idle
	case "waiting":
		w.modelWaits.isAwaitingTurn = !m.Over
		w.modelWaits.addWait(e.WallTime.Add(-reportedDelay(m.WaitedMS)), e.WallTime)
	}
}

// withoutVendorPrefix returns an error text without a name at its beginning, such as "anthropic: ".
func withoutVendorPrefix(text string) string {
	if name, rest, found := strings.Cut(text, ": "); found && !strings.Contains(name, " ") {
		return rest
	}
	return text
}

// reportedDelay converts a delay that an agent has reported in milliseconds, limited to 0 and
// maxReportedDelay.
func reportedDelay(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, float64(maxReportedDelay.Milliseconds())) * float64(time.Millisecond))
}

// addWait adds a wait, except for the part of it that is counted already.
func (s *modelWaits) addWait(from, to time.Time) {
	if from.Before(s.countedUntil) {
		from = s.countedUntil
	}
	if to.After(from) {
		s.total += to.Sub(from)
		s.countedUntil = to
	}
}

// endWaitAt ends the current wait early: at that time the agent went on.
func (s *modelWaits) endWaitAt(at time.Time) {
	if at.Before(s.countedUntil) {
		s.total -= s.countedUntil.Sub(at)
		s.countedUntil = at
	}
}

// totalAt returns the sum of all waits up to now.
func (s *modelWaits) totalAt(now time.Time) time.Duration {
	return s.total - max(0, s.countedUntil.Sub(now))
}

// descriptionAt returns what the agent waits for at now, and whether it waits at all.
func (s *modelWaits) descriptionAt(now time.Time) (text string, isWaiting bool) {
	switch {
	case now.Before(s.countedUntil):
		return s.reason, true
	case s.isAwaitingTurn:
		return "waits for its turn", true
	default:
		return "", false
	}
}

// checkModelWaits returns when the current wait ends, so that Progress is updated then. It has no
// verdict.
func (w *completionWatcher) checkModelWaits(now time.Time) (v *verdict, due time.Time) {
	if now.Before(w.modelWaits.countedUntil) {
		return nil, w.modelWaits.countedUntil
	}
	return nil, due
}
