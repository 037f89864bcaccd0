package attempt

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/internal/trace"
)

// longestWait is the longest wait that an agent is taken at its word for.
const longestWait = time.Hour

// waits is how long the agent has waited until its model could be called, by
// what it says itself: pauses before a call is made again, and the wait for a
// turn. What is waited for at once counts once.
type waits struct {
	total time.Duration // until counted
	until time.Time     // when what is counted has ended or will end
	text  string        // what the pause that ends then is for
	turn  bool          // the agent waits for a turn, since it said so
}

// event is an agent_event as far as something hangs on it.
type event struct {
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

// fromEvent keeps what the agent says of a limit of its own, and of its waits.
func (w *watch) fromEvent(e *trace.Entry) {
	var said event
	if json.Unmarshal(e.Body, &said) != nil {
		return
	}
	switch m := said.Metadata; m.Type {
	case "limit":
		w.limit = said.Text
	case "retry":
		w.counts.Retries++
		pause := milliseconds(m.WaitMS)
		w.waits.count(e.WallTime, e.WallTime.Add(pause))
		w.waits.text = fmt.Sprintf("waits %v, try %d: %s", pause.Round(time.Second/10), m.Attempt+1, afterName(m.Error))
		w.hear(w.waits.until) // it is no silence: it has been announced
	case "waiting":
		w.waits.turn = !m.Over
		w.waits.count(e.WallTime.Add(-milliseconds(m.WaitedMS)), e.WallTime)
	}
}

// afterName is an error without the name that it begins with: "anthropic: ".
func afterName(text string) string {
	if name, rest, found := strings.Cut(text, ": "); found && !strings.Contains(name, " ") {
		return rest
	}
	return text
}

// milliseconds is a time that an agent has named, within reason.
func milliseconds(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, float64(longestWait.Milliseconds())) * float64(time.Millisecond))
}

// count adds a wait.
func (s *waits) count(from, to time.Time) {
	if from.Before(s.until) {
		from = s.until
	}
	if to.After(from) {
		s.total += to.Sub(from)
		s.until = to
	}
}

// worked notes a sign that the agent goes on: whatever else it waits for, and
// however long it has said that it would wait.
func (s *waits) worked(at time.Time) {
	if at.Before(s.until) {
		s.total -= s.until.Sub(at)
		s.until = at
	}
}

// by is how much had been waited by then.
func (s *waits) by(now time.Time) time.Duration {
	return s.total - max(0, s.until.Sub(now))
}

// doing says what is waited for, if something is.
func (s *waits) doing(now time.Time) (text string, waits bool) {
	switch {
	case now.Before(s.until):
		return s.text, true
	case s.turn:
		return "waits for its turn", true
	default:
		return "", false
	}
}

// onWaits has the end of a pause noticed.
func (w *watch) onWaits(now time.Time) (v *verdict, due time.Time) {
	if now.Before(w.waits.until) {
		return nil, w.waits.until
	}
	return nil, due
}
