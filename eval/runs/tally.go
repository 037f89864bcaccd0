package runs

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"time"

	"github.com/tidwall/gjson"
)

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
