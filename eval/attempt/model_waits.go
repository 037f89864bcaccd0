package attempt

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/internal/trace"
)

// maxReportedDelay is the longest delay before a model call that is believed if an agent
// reports it; a longer one counts as this.
const maxReportedDelay = time.Hour

// modelWaits sums up how long the agent has waited to call its model. Overlapping waits count once.
type modelWaits struct {
	total        time.Duration // of all waits that end by countedUntil
	countedUntil time.Time     // when the last wait in total ends, which may be in the future
	reason       string        // of that wait, for Progress
}

// agentEvent has the fields of an agent_event message that the watcher uses.
type agentEvent struct {
	Text     string `json:"text"`
	Metadata struct {
		Type    string  `json:"type"`
		WaitMS  float64 `json:"wait_ms"` // of a retry: the delay before it
		Attempt int     `json:"attempt"` // of a retry: from 1
		Error   string  `json:"error"`   // of a retry: why the last call failed
	} `json:"metadata"`
}

// readAgentEvent processes an agent_event which says that the agent has reached one of the
// agent's limits, or will repeat a call of its model. Other events, and malformed ones, are ignored.
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
	}
}

// withoutVendorPrefix returns an error text without the one-word name of a vendor at its
// beginning, such as "anthropic: ".
func withoutVendorPrefix(text string) string {
	if name, rest, found := strings.Cut(text, ": "); found && !strings.Contains(name, " ") {
		return rest
	}
	return text
}

// reportedDelay converts a delay in milliseconds, as an agent reports it, to a duration from 0
// to maxReportedDelay.
func reportedDelay(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, float64(maxReportedDelay.Milliseconds())) * float64(time.Millisecond))
}

// addWait adds the time from from to to, without the part of it that other waits have counted
// already.
func (s *modelWaits) addWait(from, to time.Time) {
	if from.Before(s.countedUntil) {
		from = s.countedUntil
	}
	if to.After(from) {
		s.total += to.Sub(from)
		s.countedUntil = to
	}
}

// endWaitAt ends the current wait at the given time, because the agent has gone on earlier than
// it announced. It does nothing if no wait lasts that long.
func (s *modelWaits) endWaitAt(at time.Time) {
	if at.Before(s.countedUntil) {
		s.total -= s.countedUntil.Sub(at)
		s.countedUntil = at
	}
}

// totalAt returns how long the agent has waited in all up to the time now.
func (s *modelWaits) totalAt(now time.Time) time.Duration {
	return s.total - max(0, s.countedUntil.Sub(now))
}

// descriptionAt returns a text that says what the agent is waiting for at the time now; empty: it is not waiting.
func (s *modelWaits) descriptionAt(now time.Time) string {
	if now.Before(s.countedUntil) {
		return s.reason
	}
	return ""
}

// checkModelWaits returns in due when a wait of the agent for its model ends, so that Progress is
// updated then; zero means that there is no wait. Its verdict is always nil.
func (w *completionWatcher) checkModelWaits(now time.Time) (v *watcherVerdict, due time.Time) {
	for _, until := range []time.Time{w.modelWaits.countedUntil, w.modelCalls.time.refusedUntil} {
		if now.Before(until) {
			due = earlierTime(due, until)
		}
	}
	return nil, due
}
