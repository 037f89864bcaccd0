package runs

import (
	"context"
	"errors"
	"time"
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
