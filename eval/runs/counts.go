package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"time"

	"github.com/tidwall/gjson"
)

// State is whether a run goes on.
type State string

// The states.
const (
	StateRunning     State = "running"     // a program makes it
	StateFinished    State = "finished"    // it has written its summary
	StateInterrupted State = "interrupted" // neither: who made it was killed, or could not write
)

// Counts is what a run's attempts have come to so far.
type Counts struct {
	State          State `json:"state"`
	Attempts       int   `json:"attempts"`
	Passed         int   `json:"passed"`
	Failed         int   `json:"failed"`
	Ungraded       int   `json:"ungraded"`
	Infrastructure int   `json:"infrastructure"`
	Skipped        int   `json:"skipped"`

	// Finished says that the run has written its summary, with no attempt after it.
	Finished bool `json:"finished"`

	ByOutcome map[Outcome]int `json:"by_outcome"` // outcomes that are not known are "other"

	// PassRate is the mean over the cases of the mean over their attempts, where
	// infrastructure outcomes are failures; null: none has a verdict yet.
	PassRate *float64 `json:"pass_rate"`
	CostUSD  *float64 `json:"cost_usd"` // null: there is no attempt, or the price of one is not known

	// DurationMS is how long the run took, or has been going on; of one that was
	// interrupted, until its last attempt had ended. Null: that is not known.
	DurationMS *int64 `json:"duration_ms"`

	Unreadable *UnreadableLines `json:"left_out,omitempty"` // nil: nothing
}

// UnreadableLines is lines that cannot be read, and are passed over.
type UnreadableLines struct {
	Count int64 `json:"lines"` // how many
	First int64 `json:"first"` // number of the first of them
}

// AddLine adds a line.
func (l *UnreadableLines) AddLine(n int64) {
	if l.Count == 0 {
		l.First = n
	}
	l.Count++
}

// Counts returns what the run's attempts have come to so far. Only what was
// added since it was last asked is read.
func (r *Run) Counts(ctx context.Context) (Counts, error) {
	lines, err := r.AttemptLines()
	if errors.Is(err, ErrNotFound) {
		return (&attemptCounter{}).snapshot(r.Started, false), nil // somebody has taken it away
	}
	if err != nil {
		return Counts{}, err
	}
	defer lines.Close()
	running := lines.isLockedByWriter() // asked first: if nobody writes, a line that is cut stays so
	var counts Counts
	err = r.store.attemptIndexOf(r.Name, lines).withLatest(ctx, lines, func(roll *attemptIndex) error {
		counts = roll.counter.snapshot(r.Started, running)
		if running {
			return nil
		}
		return roll.addUnfinishedLine(lines, &counts)
	})
	return counts, err
}

// runDurationMS is how long a run took that has started then, as it was summed up, or
// else until some time.
func runDurationMS(summed *int64, started, until time.Time) *int64 {
	if summed != nil {
		return summed
	}
	if started.IsZero() || until.Before(started) {
		return nil
	}
	return new(until.Sub(started).Milliseconds())
}

// OutcomeOther stands in counts for outcomes that are not known.
const OutcomeOther Outcome = "other"

// attemptCounter is the counts in the making. The zero value has counted nothing.
type attemptCounter struct {
	counts            Counts // what can be told line by line
	unreadable        UnreadableLines
	cases             map[string]caseTally
	passShareSum      float64 // of passes, of the cases together
	ratedCases        int     // cases that have one
	costUSD           float64 // of all attempts, in dollars; NaN: that is not known
	lastEnded         time.Time
	summaryDurationMS *int64 // as the summary tells
}

// caseTally counts the attempts at one case that have a verdict, or should have.
type caseTally struct{ passed, total int }

// passShare is how many of them have passed, of 1.
func (t caseTally) passShare() float64 { return float64(t.passed) / float64(max(t.total, 1)) }

// IsValid tells whether a line of attempts.jsonl is one: a JSON object that has a
// type, with a verdict that can be read if it is of an attempt. Types that are not
// known are sound.
func (l Line) IsValid() bool {
	if !bytes.HasPrefix(l.Text, []byte("{")) || !json.Valid(l.Text) {
		return false
	}
	what := gjson.GetBytes(l.Text, "type")
	if what.Type != gjson.String || what.Str == "" {
		return false
	}
	if what.Str != TypeAttempt {
		return true
	}
	passed := gjson.GetBytes(l.Text, "passed")
	return gjson.GetBytes(l.Text, "outcome").Type == gjson.String && (passed.IsBool() || passed.Type == gjson.Null)
}

// addLine counts a sound line that is not the header.
func (t *attemptCounter) addLine(line Line) {
	what := gjson.GetBytes(line.Text, "type").Str
	t.counts.Finished = what == TypeSummary
	switch what {
	case TypeAttempt:
		t.addAttempt(line.Text)
	case TypeSkipped:
		t.counts.Skipped++
	case TypeSummary:
		t.summaryDurationMS = parseMilliseconds(gjson.GetBytes(line.Text, "duration_ms"))
	}
}

// addAttempt counts an attempt by its verdict.
func (t *attemptCounter) addAttempt(text []byte) {
	a := Attempt{Outcome: Outcome(gjson.GetBytes(text, "outcome").Str)}
	if passed := gjson.GetBytes(text, "passed"); passed.IsBool() {
		a.Passed = new(passed.Bool())
	}
	t.counts.Attempts++
	switch {
	case a.IsInfrastructureFailure():
		t.counts.Infrastructure++
	case a.Passed == nil:
		t.counts.Ungraded++
	case *a.Passed:
		t.counts.Passed++
	default:
		t.counts.Failed++
	}
	if a.Passed != nil || a.IsInfrastructureFailure() {
		t.addToPassRate(gjson.GetBytes(text, "case_id").String(), a.Passed != nil && *a.Passed && !a.IsInfrastructureFailure())
	}
	if t.counts.ByOutcome == nil {
		t.counts.ByOutcome = map[Outcome]int{}
	}
	t.counts.ByOutcome[knownOrOther(a.Outcome)]++
	t.costUSD += parseCost(gjson.GetBytes(text, "usage.cost_usd"))
	if ended, err := time.Parse(time.RFC3339Nano, gjson.GetBytes(text, "ended").String()); err == nil && ended.After(t.lastEnded) {
		t.lastEnded = ended
	}
}

// addToPassRate adds an attempt at a case to the pass rate.
func (t *attemptCounter) addToPassRate(id string, passed bool) {
	if t.cases == nil {
		t.cases = map[string]caseTally{}
	}
	at := t.cases[id]
	if at.total == 0 {
		t.ratedCases++
	}
	t.passShareSum -= at.passShare()
	at.total++
	if passed {
		at.passed++
	}
	t.passShareSum += at.passShare()
	t.cases[id] = at
}

// snapshot is what there is by now, of a run that started then. What it returns has
// nothing in common with t.
func (t *attemptCounter) snapshot(started time.Time, running bool) Counts {
	c := t.counts
	c.ByOutcome = map[Outcome]int{}
	maps.Copy(c.ByOutcome, t.counts.ByOutcome)
	if t.ratedCases > 0 {
		c.PassRate = new(min(max(t.passShareSum/float64(t.ratedCases), 0), 1)) // sums of shares are a hair off
	}
	if c.Attempts > 0 && !math.IsNaN(t.costUSD) && !math.IsInf(t.costUSD, 0) {
		c.CostUSD = new(t.costUSD)
	}
	if t.unreadable.Count > 0 {
		c.Unreadable = new(t.unreadable)
	}
	switch {
	case c.Finished:
		c.State, c.DurationMS = StateFinished, runDurationMS(t.summaryDurationMS, started, t.lastEnded)
	case running:
		c.State, c.DurationMS = StateRunning, runDurationMS(nil, started, time.Now())
	default:
		c.State, c.DurationMS = StateInterrupted, runDurationMS(nil, started, t.lastEnded)
	}
	return c
}

// knownOrOther is the outcome, if it is one.
func knownOrOther(o Outcome) Outcome {
	switch o {
	case OutcomeCompleted, OutcomeStopped, OutcomeLimit, OutcomeAskedQuestion, OutcomeKernelExit, OutcomeAgentError, OutcomeAgentExit, OutcomeConsoleLost, OutcomeHarnessError, OutcomeSetupError, OutcomeCancelled:
		return o
	default:
		return OutcomeOther
	}
}

// parseCost is a price; NaN: it is not known, or none.
func parseCost(value gjson.Result) float64 {
	if value.Type != gjson.Number || value.Num < 0 {
		return math.NaN()
	}
	return value.Num
}

// parseMilliseconds is a time that something took; nil: it is none.
func parseMilliseconds(value gjson.Result) *int64 {
	const century = 100 * 366 * 24 * 3600 * 1000
	if value.Type != gjson.Number || value.Num < 0 || value.Num > century {
		return nil
	}
	return new(int64(value.Num))
}
