package attempt

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/internal/trace"
)

// maxReportedDelay is the longest wait that an agent is taken at its word for.
const maxReportedDelay = time.Hour

// modelWaits is how long the agent has waited until its model could be called, by
// what it says itself: pauses before a call is made again, and the wait for a
// turn. What is waited for at once counts once.
type modelWaits struct {
	total          time.Duration // until counted
	countedUntil   time.Time     // when what is counted has ended or will end
	reason         string        // what the pause that ends then is for
	isAwaitingTurn bool          // the agent waits for a turn, since it said so
}

// agentEvent is an agent_event as far as something hangs on it.
type agentEvent struct {
	Text     string `json:"text"`
	Metadata struct {
		Type     string  `json:"type"`
		WaitMS   float64 `json:"wait_ms"`   // of a retry: how long it will wait
		Attempt  int     `json:"attempt"`   // of a retry: the first is 1
		Error    string  `json:"error"`     // of a retry: why
		WaitedMS float64 `json:"waited_ms"` // of a wait for a turn: so far
		Over     bool    `json:"over"`      // of a wait for a turn
	} `json:"metadata"`
}

// readAgentEvent keeps what the agent says of a limit of its own, and of its waits.
func (w *watch) readAgentEvent(e *trace.Entry) {
	var said agentEvent
	if json.Unmarshal(e.Body, &said) != nil {
		return
	}
	switch m := said.Metadata; m.Type {
	case "limit":
		w.agentLimit = said.Text
	case "retry":
		w.usage.Retries++
		pause := reportedDelay(m.WaitMS)
		w.modelWaits.addWait(e.WallTime, e.WallTime.Add(pause))
		w.modelWaits.reason = fmt.Sprintf("waits %v, try %d: %s", pause.Round(time.Second/10), m.Attempt+1, withoutVendorPrefix(m.Error))
		w.noteAliveAt(w.modelWaits.countedUntil) // it is no silence: it has been announced
	case "waiting":
		w.modelWaits.isAwaitingTurn = !m.Over
		w.modelWaits.addWait(e.WallTime.Add(-reportedDelay(m.WaitedMS)), e.WallTime)
	}
}

// withoutVendorPrefix is an error without the name that it begins with: "anthropic: ".
func withoutVendorPrefix(text string) string {
	if name, rest, found := strings.Cut(text, ": "); found && !strings.Contains(name, " ") {
		return rest
	}
	return text
}

// reportedDelay is a time that an agent has named, within reason.
func reportedDelay(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, float64(maxReportedDelay.Milliseconds())) * float64(time.Millisecond))
}

// addWait adds a wait.
func (s *modelWaits) addWait(from, to time.Time) {
	if from.Before(s.countedUntil) {
		from = s.countedUntil
	}
	if to.After(from) {
		s.total += to.Sub(from)
		s.countedUntil = to
	}
}

// endWaitAt notes a sign that the agent goes on: whatever else it waits for, and
// however long it has said that it would wait.
func (s *modelWaits) endWaitAt(at time.Time) {
	if at.Before(s.countedUntil) {
		s.total -= s.countedUntil.Sub(at)
		s.countedUntil = at
	}
}

// totalAt is how much had been waited by then.
func (s *modelWaits) totalAt(now time.Time) time.Duration {
	return s.total - max(0, s.countedUntil.Sub(now))
}

// descriptionAt says what is waited for, if something is.
func (s *modelWaits) descriptionAt(now time.Time) (text string, waits bool) {
	switch {
	case now.Before(s.countedUntil):
		return s.reason, true
	case s.isAwaitingTurn:
		return "waits for its turn", true
	default:
		return "", false
	}
}

// checkModelWaits has the end of a pause noticed.
func (w *watch) checkModelWaits(now time.Time) (v *verdict, due time.Time) {
	if now.Before(w.modelWaits.countedUntil) {
		return nil, w.modelWaits.countedUntil
	}
	return nil, due
}
