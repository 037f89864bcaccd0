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
		return (&tally{}).counts(r.Started, false), nil // somebody has taken it away
	}
	if err != nil {
		return Counts{}, err
	}
	defer lines.Close()
	running := lines.held() // asked first: if nobody writes, a line that is cut stays so
	var counts Counts
	err = r.store.rollOf(r.Name, lines).read(ctx, lines, func(roll *roll) error {
		counts = roll.tally.counts(r.Started, running)
		if running {
			return nil
		}
		return roll.cut(lines, &counts)
	})
	return counts, err
}

// duration is how long a run took that has started then, as it was summed up, or
// else until some time.
func duration(summed *int64, started, until time.Time) *int64 {
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

// tally is the counts in the making. The zero value has counted nothing.
type tally struct {
	sum     Counts // what can be told line by line
	leftOut UnreadableLines
	cases   map[string]tries
	shares  float64 // of passes, of the cases together
	rated   int     // cases that have one
	cost    float64 // of all attempts, in dollars; NaN: that is not known
	ended   time.Time
	took    *int64 // as the summary tells
}

// tries counts the attempts at one case that have a verdict, or should have.
type tries struct{ passed, all int }

// share is how many of them have passed, of 1.
func (t tries) share() float64 { return float64(t.passed) / float64(max(t.all, 1)) }

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

// add counts a sound line that is not the header.
func (t *tally) add(line Line) {
	what := gjson.GetBytes(line.Text, "type").Str
	t.sum.Finished = what == TypeSummary
	switch what {
	case TypeAttempt:
		t.addAttempt(line.Text)
	case TypeSkipped:
		t.sum.Skipped++
	case TypeSummary:
		t.took = milliseconds(gjson.GetBytes(line.Text, "duration_ms"))
	}
}

// addAttempt counts an attempt by its verdict.
func (t *tally) addAttempt(text []byte) {
	a := Attempt{Outcome: Outcome(gjson.GetBytes(text, "outcome").Str)}
	if passed := gjson.GetBytes(text, "passed"); passed.IsBool() {
		a.Passed = new(passed.Bool())
	}
	t.sum.Attempts++
	switch {
	case a.IsInfrastructureFailure():
		t.sum.Infrastructure++
	case a.Passed == nil:
		t.sum.Ungraded++
	case *a.Passed:
		t.sum.Passed++
	default:
		t.sum.Failed++
	}
	if a.Passed != nil || a.IsInfrastructureFailure() {
		t.rate(gjson.GetBytes(text, "case_id").String(), a.Passed != nil && *a.Passed && !a.IsInfrastructureFailure())
	}
	if t.sum.ByOutcome == nil {
		t.sum.ByOutcome = map[Outcome]int{}
	}
	t.sum.ByOutcome[known(a.Outcome)]++
	t.cost += dollars(gjson.GetBytes(text, "usage.cost_usd"))
	if ended, err := time.Parse(time.RFC3339Nano, gjson.GetBytes(text, "ended").String()); err == nil && ended.After(t.ended) {
		t.ended = ended
	}
}

// rate adds an attempt at a case to the pass rate.
func (t *tally) rate(id string, passed bool) {
	if t.cases == nil {
		t.cases = map[string]tries{}
	}
	at := t.cases[id]
	if at.all == 0 {
		t.rated++
	}
	t.shares -= at.share()
	at.all++
	if passed {
		at.passed++
	}
	t.shares += at.share()
	t.cases[id] = at
}

// counts is what there is by now, of a run that started then. What it returns has
// nothing in common with t.
func (t *tally) counts(started time.Time, running bool) Counts {
	c := t.sum
	c.ByOutcome = map[Outcome]int{}
	maps.Copy(c.ByOutcome, t.sum.ByOutcome)
	if t.rated > 0 {
		c.PassRate = new(min(max(t.shares/float64(t.rated), 0), 1)) // sums of shares are a hair off
	}
	if c.Attempts > 0 && !math.IsNaN(t.cost) && !math.IsInf(t.cost, 0) {
		c.CostUSD = new(t.cost)
	}
	if t.leftOut.Count > 0 {
		c.Unreadable = new(t.leftOut)
	}
	switch {
	case c.Finished:
		c.State, c.DurationMS = StateFinished, duration(t.took, started, t.ended)
	case running:
		c.State, c.DurationMS = StateRunning, duration(nil, started, time.Now())
	default:
		c.State, c.DurationMS = StateInterrupted, duration(nil, started, t.ended)
	}
	return c
}

// known is the outcome, if it is one.
func known(o Outcome) Outcome {
	switch o {
	case OutcomeCompleted, OutcomeStopped, OutcomeLimit, OutcomeAskedQuestion, OutcomeKernelExit, OutcomeAgentError, OutcomeAgentExit, OutcomeConsoleLost, OutcomeHarnessError, OutcomeSetupError, OutcomeCancelled:
		return o
	default:
		return OutcomeOther
	}
}

// dollars is a price; NaN: it is not known, or none.
func dollars(value gjson.Result) float64 {
	if value.Type != gjson.Number || value.Num < 0 {
		return math.NaN()
	}
	return value.Num
}

// milliseconds is a time that something took; nil: it is none.
func milliseconds(value gjson.Result) *int64 {
	const century = 100 * 366 * 24 * 3600 * 1000
	if value.Type != gjson.Number || value.Num < 0 || value.Num > century {
		return nil
	}
	return new(int64(value.Num))
}
