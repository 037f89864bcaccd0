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

// State says whether a run is running, finished or interrupted.
type State string

// The states.
const (
	StateRunning     State = "running"     // a Writer has its folder open
	StateFinished    State = "finished"    // its last line is the summary
	StateInterrupted State = "interrupted" // neither: its process was killed or could not write
)

// Counts is the JSON of a run's results so far: numbers of attempts, pass rate, cost and
// duration.
type Counts struct {
	State          State `json:"state"`
	Attempts       int   `json:"attempts"`
	Passed         int   `json:"passed"`         // attempts
	Failed         int   `json:"failed"`         // attempts
	Ungraded       int   `json:"ungraded"`       // attempts without a verdict that are counted nowhere else
	GradingErrors  int   `json:"grading_errors"` // attempts without a verdict because the grading failed; see [GradingFailure]
	Infrastructure int   `json:"infrastructure"` // attempts; see [Attempt.IsInfrastructureFailure]
	Skipped        int   `json:"skipped"`        // cases

	// Finished is true if the last line is a summary.
	Finished bool `json:"finished"`

	ByOutcome map[Outcome]int `json:"by_outcome"` // attempts; unknown outcomes count as OutcomeOther

	// PassRate is the mean over the cases of the share of their attempts that passed, where
	// infrastructure failures and grading errors count as not passed. nil: no attempt counts yet.
	PassRate *float64 `json:"pass_rate"`
	CostUSD  *float64 `json:"cost_usd"` // of all attempts; nil if there is none or the cost of one is unknown

	// DurationMS is how long the run took, or has taken so far. For an interrupted run it ends with
	// the last attempt. nil: unknown.
	DurationMS *int64 `json:"duration_ms"`

	Unreadable *UnreadableLines `json:"left_out,omitempty"` // nil: every line could be read
}

// UnreadableLines counts the lines of a file that were ignored because they are damaged.
type UnreadableLines struct {
	Count int64 `json:"lines"`
	First int64 `json:"first"` // number of the first of them, from 0
}

// AddLine counts the damaged line with number n, from 0. Lines must be added in ascending
// order.
func (l *UnreadableLines) AddLine(n int64) {
	if l.Count == 0 {
		l.First = n
	}
	l.Count++
}

// Counts returns the results of the run so far. It reads only the lines added to attempts.jsonl
// since the last call for this run with the same Store. A missing file counts as empty. It
// fails if the file cannot be read or has another format version, and with the cause of ctx.
func (r *Run) Counts(ctx context.Context) (Counts, error) {
	lines, err := r.AttemptLines()
	if errors.Is(err, ErrNotFound) {
		return (&attemptCounter{}).snapshot(r.Started, false), nil // the file was deleted
	}
	if err != nil {
		return Counts{}, err
	}
	defer lines.Close()
	isRunning := lines.isLockedByWriter() // before reading: without a writer, an unfinished line stays unfinished
	var counts Counts
	err = r.store.attemptIndexOf(r.Name, lines).withLatestLines(ctx, lines, func(index *attemptIndex) error {
		counts = index.counter.snapshot(r.Started, isRunning)
		if isRunning {
			return nil
		}
		return index.addUnfinishedLine(lines, &counts)
	})
	return counts, err
}

// runDurationMS returns how long a run took, in milliseconds: inSummary, the value in its
// summary, or if that is nil the time from started to until. It returns nil if those are
// unknown.
func runDurationMS(inSummary *int64, started, until time.Time) *int64 {
	if inSummary != nil {
		return inSummary
	}
	if started.IsZero() || until.Before(started) {
		return nil
	}
	return new(until.Sub(started).Milliseconds())
}

// OutcomeOther stands, as a key in [Counts.ByOutcome], for all outcomes that this version does
// not know.
const OutcomeOther Outcome = "other"

// attemptCounter computes the [Counts] of a run from the lines of attempts.jsonl. The zero
// value has counted nothing. It is not safe for concurrent use.
type attemptCounter struct {
	counts            Counts // State, PassRate, CostUSD, DurationMS and Unreadable are unset
	unreadable        UnreadableLines
	cases             map[string]caseTally // by case id
	passShareSum      float64              // sum over the cases of their shares of passed attempts
	ratedCases        int                  // number of cases in that sum
	costUSD           float64              // of all attempts; NaN: unknown
	lastEnded         time.Time            // when the last attempt ended
	summaryDurationMS *int64               // duration in the summary line; nil: none
}

// caseTally counts the attempts at one case that count in the pass rate, and those of them that
// passed.
type caseTally struct{ passed, total int }

// passShare returns the share of the case's attempts that passed, from 0 to 1; 0 without
// attempts.
func (t caseTally) passShare() float64 { return float64(t.passed) / float64(max(t.total, 1)) }

// IsValid reports whether a line of attempts.jsonl can be used: it is a JSON object with a type
// and, if that is "attempt", an outcome and a verdict of the right JSON types. Lines of other
// types are valid.
func (l Line) IsValid() bool {
	if !bytes.HasPrefix(l.Text, []byte("{")) || !json.Valid(l.Text) {
		return false
	}
	kind := gjson.GetBytes(l.Text, "type")
	if kind.Type != gjson.String || kind.Str == "" {
		return false
	}
	if kind.Str != TypeAttempt {
		return true
	}
	passed := gjson.GetBytes(l.Text, "passed")
	return gjson.GetBytes(l.Text, "outcome").Type == gjson.String && (passed.IsBool() || passed.Type == gjson.Null)
}

// addLine counts a valid line of attempts.jsonl other than the header.
func (t *attemptCounter) addLine(line Line) {
	kind := gjson.GetBytes(line.Text, "type").Str
	t.counts.Finished = kind == TypeSummary
	switch kind {
	case TypeAttempt:
		t.addAttempt(line.Text)
	case TypeSkipped:
		t.counts.Skipped++
	case TypeSummary:
		t.summaryDurationMS = parseMilliseconds(gjson.GetBytes(line.Text, "duration_ms"))
	}
}

// addAttempt counts the attempt in a line of attempts.jsonl by its outcome, verdict and cost.
func (t *attemptCounter) addAttempt(text []byte) {
	a := Attempt{Outcome: Outcome(gjson.GetBytes(text, "outcome").Str)}
	if passed := gjson.GetBytes(text, "passed"); passed.IsBool() {
		a.Passed = new(passed.Bool())
	}
	if gjson.GetBytes(text, "grading").IsObject() {
		a.Grading = &GradingFailure{}
	}
	t.counts.Attempts++
	switch {
	case a.IsInfrastructureFailure():
		t.counts.Infrastructure++
	case a.Grading != nil:
		t.counts.GradingErrors++
	case a.Passed == nil:
		t.counts.Ungraded++
	case *a.Passed:
		t.counts.Passed++
	default:
		t.counts.Failed++
	}
	if a.Passed != nil || a.Grading != nil || a.IsInfrastructureFailure() {
		t.addToPassRate(gjson.GetBytes(text, "case_id").String(), a.Passed != nil && *a.Passed && !a.IsInfrastructureFailure())
	}
	if t.counts.ByOutcome == nil {
		t.counts.ByOutcome = map[Outcome]int{}
	}
	t.counts.ByOutcome[knownOutcomeOrOther(a.Outcome)]++
	t.costUSD += parseCost(gjson.GetBytes(text, "usage.cost_usd"))
	if ended, err := time.Parse(time.RFC3339Nano, gjson.GetBytes(text, "ended").String()); err == nil && ended.After(t.lastEnded) {
		t.lastEnded = ended
	}
}

// addToPassRate adds one attempt at a case, which passed or not, to the run's pass rate.
func (t *attemptCounter) addToPassRate(caseID string, passed bool) {
	if t.cases == nil {
		t.cases = map[string]caseTally{}
	}
	tally := t.cases[caseID]
	if tally.total == 0 {
		t.ratedCases++
	}
	t.passShareSum -= tally.passShare()
	tally.total++
	if passed {
		tally.passed++
	}
	t.passShareSum += tally.passShare()
	t.cases[caseID] = tally
}

// snapshot returns the counts so far of a run that began at the time started. isRunning says
// whether it is still being written. The result shares no memory with the counter.
func (t *attemptCounter) snapshot(started time.Time, isRunning bool) Counts {
	c := t.counts
	c.ByOutcome = map[Outcome]int{}
	maps.Copy(c.ByOutcome, t.counts.ByOutcome)
	if t.ratedCases > 0 {
		c.PassRate = new(min(max(t.passShareSum/float64(t.ratedCases), 0), 1)) // the sum has rounding errors
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
	case isRunning:
		c.State, c.DurationMS = StateRunning, runDurationMS(nil, started, time.Now())
	default:
		c.State, c.DurationMS = StateInterrupted, runDurationMS(nil, started, t.lastEnded)
	}
	return c
}

// knownOutcomeOrOther returns the outcome o if this version knows it, and otherwise
// OutcomeOther.
func knownOutcomeOrOther(o Outcome) Outcome {
	switch o {
	case OutcomeCompleted, OutcomeStopped, OutcomeLimit, OutcomeAskedQuestion, OutcomeKernelExit, OutcomeAgentError, OutcomeAgentExit, OutcomeConsoleLost, OutcomeHarnessError, OutcomeSetupError, OutcomeCancelled:
		return o
	default:
		return OutcomeOther
	}
}

// parseCost returns the cost in US dollars in a JSON value, or NaN if the value is not a number or
// negative.
func parseCost(value gjson.Result) float64 {
	if value.Type != gjson.Number || value.Num < 0 {
		return math.NaN()
	}
	return value.Num
}

// parseMilliseconds returns the number of milliseconds in a JSON value, or nil if the value is
// no number, negative or more than a century.
func parseMilliseconds(value gjson.Result) *int64 {
	const century = 100 * 366 * 24 * 3600 * 1000
	if value.Type != gjson.Number || value.Num < 0 || value.Num > century {
		return nil
	}
	return new(int64(value.Num))
}
