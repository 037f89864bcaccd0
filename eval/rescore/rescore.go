// Package grade grades without running anything: [GradeLines] what stands in lines,
// each with its own graders, and [RegradeRun] the attempts of a run that is over,
// with the cases as they are today.
package rescore

import (
	"encoding/json"

	"assay/eval/runs"
)

// The types of the lines that [RegradeRun] writes.
const (
	TypeRescore        = "rescore"
	TypeRescoreSummary = "rescore_summary"
)

// RegradedAttempt is an attempt graded again.
type RegradedAttempt struct {
	Type    string       `json:"type"` // "rescore"
	Run     string       `json:"run"`
	CaseID  string       `json:"case_id"`
	Epoch   int          `json:"epoch"`
	Try     int          `json:"try"`
	Attempt string       `json:"attempt"` // the name of its folder
	Outcome runs.Outcome `json:"outcome"`

	// Old is the verdict in attempts.jsonl. New is null in all but its graders
	// where there is no verdict, for the Reason. Changed says that they differ in
	// passed or score; an attempt that was not graded again has not changed.
	Old     Verdict `json:"old"`
	New     Verdict `json:"new"`
	Changed bool    `json:"changed"`
	Reason  string  `json:"reason,omitempty"`

	lacksVerdict bool // the case is, or what one of its graders reads
}

// Verdict is what graders made of an attempt.
type Verdict struct {
	Passed *bool    `json:"passed"` // null: no verdict
	Score  *float64 `json:"score"`

	// Graders are their results. A new one with the member "kept", which is
	// true, is the old one: what its grader reads is gone.
	Graders []json.RawMessage `json:"graders"`
}

// Summary is what a run has come to with the new verdicts.
type Summary struct {
	Type     string `json:"type"` // "rescore_summary"
	Run      string `json:"run"`
	Attempts int    `json:"attempts"`
	VerdictCounts
	NotRegraded  int           `json:"not_graded_again"` // the case is gone, or what a new grader reads
	Changed      int           `json:"changed"`
	KeptResults  int           `json:"kept"` // results of graders
	OldCounts    VerdictCounts `json:"was"`
	VerdictsFile string        `json:"file"` // with the new verdicts, below the run's folder
}

// VerdictCounts counts attempts by their verdicts.
type VerdictCounts struct {
	Passed         int `json:"passed"`
	Failed         int `json:"failed"`
	Ungraded       int `json:"ungraded"`
	Infrastructure int `json:"infrastructure"`
}

// GradedCount is the number of attempts that should have a verdict.
func (t VerdictCounts) GradedCount() int { return t.Passed + t.Failed + t.Infrastructure }

// GradedCount is the number of attempts that should have a verdict, now.
func (s Summary) GradedCount() int { return s.VerdictCounts.GradedCount() + s.NotRegraded }

// addVerdict counts an attempt that ended with outcome.
func (t *VerdictCounts) addVerdict(outcome runs.Outcome, passed *bool) {
	a := runs.Attempt{Outcome: outcome, Passed: passed}
	switch {
	case a.IsInfrastructureFailure():
		t.Infrastructure++
	case passed == nil:
		t.Ungraded++
	case *passed:
		t.Passed++
	default:
		t.Failed++
	}
}

// addAttempt counts an attempt, of which so many results were kept.
func (s *Summary) addAttempt(r RegradedAttempt, kept int) {
	s.Attempts++
	s.KeptResults += kept
	s.OldCounts.addVerdict(r.Outcome, r.Old.Passed)
	if r.Changed {
		s.Changed++
	}
	if r.lacksVerdict {
		s.NotRegraded++
		return
	}
	s.VerdictCounts.addVerdict(r.Outcome, r.New.Passed)
}

// setChanged settles whether the verdict has changed.
func (r *RegradedAttempt) setChanged() {
	r.Changed = !equalPointees(r.Old.Passed, r.New.Passed) || !equalPointees(r.Old.Score, r.New.Score)
}

func equalPointees[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
