// Package rescore grades without running an agent or a kernel. [GradeAnswerLines] grades answers
// from lines of JSON that name their own graders. [RegradeRun] grades the attempts of a finished
// run again, by the current graders of their cases.
//
// Both work on several items at once and deliver the results in order. GradeAnswerLines and RegradeRun
// start one goroutine that reads and one per processor that grades; they wait for all of them.
package rescore

import (
	"encoding/json"

	"assay/eval/runs"
)

// The types of the lines that [RegradeRun] writes.
const (
	TypeRescore        = "rescore"         // a [RegradedAttempt]
	TypeRescoreSummary = "rescore_summary" // the [Summary], last
)

// RegradedAttempt is the JSON line that [RegradeRun] writes for an attempt: its old and its new
// verdict.
type RegradedAttempt struct {
	Type          string       `json:"type"` // TypeRescore
	Run           string       `json:"run"`
	CaseID        string       `json:"case_id"`
	Epoch         int          `json:"epoch"`
	Try           int          `json:"try"`
	AttemptFolder string       `json:"attempt"` // name of its folder
	Outcome       runs.Outcome `json:"outcome"`

	Old       Verdict `json:"old"`              // the verdict in attempts.jsonl
	New       Verdict `json:"new"`              // without Passed and Score if there is no new verdict
	IsChanged bool    `json:"changed"`          // Passed or Score differ; false if the attempt could not be graded again
	Reason    string  `json:"reason,omitempty"` // why there is no new verdict

	// isNotRegraded is true if the attempt could not be graded again: its case is not given, or a new
	// grader needs the kernel, which is gone. Other attempts without a verdict have none on purpose.
	isNotRegraded bool
}

// Verdict is the graders' verdict on an attempt: whether it passed, its score, and the results.
type Verdict struct {
	Passed  *bool                `json:"passed"`            // nil: no verdict
	Score   *float64             `json:"score"`             // from 0 to 1; nil: no verdict
	Grading *runs.GradingFailure `json:"grading,omitempty"` // why the grading failed; nil: it has not

	// Graders are the results of the graders. A new result that has "kept": true is a copy of the old
	// one, because what its grader reads no longer exists.
	Graders []json.RawMessage `json:"graders"`
}

// Summary is the JSON line that [RegradeRun] writes last. The embedded counts are those of the
// new verdicts.
type Summary struct {
	Type     string `json:"type"` // TypeRescoreSummary
	Run      string `json:"run"`
	Attempts int    `json:"attempts"`
	VerdictCounts
	NotRegraded     int           `json:"not_graded_again"` // attempts that are in none of the new counts
	ChangedVerdicts int           `json:"changed"`          // attempts
	KeptResults     int           `json:"kept"`             // results of graders that were copied
	OldCounts       VerdictCounts `json:"was"`
	VerdictsFile    string        `json:"file"` // path of the file of these lines, relative to the run's folder

	Unreadable *runs.UnreadableLines `json:"left_out,omitempty"` // damaged lines of attempts.jsonl; nil: none
}

// VerdictCounts counts attempts by the graders' verdicts on them.
type VerdictCounts struct {
	Passed         int `json:"passed"`
	Failed         int `json:"failed"`
	Ungraded       int `json:"ungraded"`
	GradingErrors  int `json:"grading_errors"`
	Infrastructure int `json:"infrastructure"`
}

// GradedCount returns the number of attempts that count in a pass rate: those with a verdict,
// infrastructure failures and grading errors.
func (c VerdictCounts) GradedCount() int {
	return c.Passed + c.Failed + c.Infrastructure + c.GradingErrors
}

// GradedCount returns the number of attempts that count in a pass rate, with those that could
// not be graded again.
func (s Summary) GradedCount() int { return s.VerdictCounts.GradedCount() + s.NotRegraded }

// addVerdict counts an attempt with this outcome and verdict.
func (c *VerdictCounts) addVerdict(outcome runs.Outcome, v Verdict) {
	a := runs.Attempt{Outcome: outcome, Passed: v.Passed, Grading: v.Grading}
	switch {
	case a.IsInfrastructureFailure():
		c.Infrastructure++
	case v.Grading != nil:
		c.GradingErrors++
	case v.Passed == nil:
		c.Ungraded++
	case *v.Passed:
		c.Passed++
	default:
		c.Failed++
	}
}

// addAttempt counts a regraded attempt; keptResults is how many of its graders' results are
// copies of old ones.
func (s *Summary) addAttempt(r RegradedAttempt, keptResults int) {
	s.Attempts++
	s.KeptResults += keptResults
	s.OldCounts.addVerdict(r.Outcome, r.Old)
	if r.IsChanged {
		s.ChangedVerdicts++
	}
	if r.isNotRegraded {
		s.NotRegraded++
		return
	}
	s.addVerdict(r.Outcome, r.New)
}

// setIsChanged sets IsChanged: whether passed or score of the old and the new verdict differ.
func (r *RegradedAttempt) setIsChanged() {
	r.IsChanged = !equalPointees(r.Old.Passed, r.New.Passed) || !equalPointees(r.Old.Score, r.New.Score)
}

// equalPointees reports whether both pointers are nil, or point to equal values.
func equalPointees[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
