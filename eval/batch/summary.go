package batch

import (
	"time"

	"assay/eval/runs"
	"assay/internal/stats"
)

// Summary is the JSON of the last line of a run's attempts.jsonl: counts, pass rates, cost and
// duration.
type Summary struct {
	Type           string               `json:"type"` // runs.TypeSummary
	Run            string               `json:"run"`
	Cases          int                  `json:"cases"` // that were tried
	Attempts       int                  `json:"attempts"`
	Passed         int                  `json:"passed"`         // attempts
	Failed         int                  `json:"failed"`         // attempts
	Ungraded       int                  `json:"ungraded"`       // attempts without a verdict that are counted nowhere else
	GradingErrors  int                  `json:"grading_errors"` // attempts without a verdict because the grading failed; see runs.GradingFailure
	Infrastructure int                  `json:"infrastructure"` // attempts; see runs.Attempt.IsInfrastructureFailure
	Skipped        int                  `json:"skipped"`        // cases
	ByOutcome      map[runs.Outcome]int `json:"by_outcome"`     // attempts
	PassRate       PassRate             `json:"pass_rate"`
	PassAtK        map[int]float64      `json:"pass_at_k"`  // by k: the chance that one of k attempts at a case passes
	PassHatK       map[int]float64      `json:"pass_hat_k"` // by k: the chance that all of k attempts at a case pass
	CostUSD        *float64             `json:"cost_usd"`   // of all attempts; nil if the cost of one is unknown
	DurationMS     int64                `json:"duration_ms"`
	Redacted       int64                `json:"redacted"` // secrets that were replaced in the attempts' files
}

// PassRate is the mean, over the cases, of the share of each case's attempts that passed, from
// 0 to 1. A field is nil if no case counts; the confidence intervals need two cases.
type PassRate struct {
	Strict                  *float64    `json:"strict"`                   // infrastructure failures and grading errors count as not passed
	ExcludingInfrastructure *float64    `json:"excluding_infrastructure"` // they do not count
	CI95                    *[2]float64 `json:"ci95"`                     // 95 % confidence interval of Strict, clamped to 0 and 1
	CI95Raw                 *[2]float64 `json:"ci95_raw"`                 // the same, not clamped
}

// AllPassed reports whether every attempt of the run that counts in the pass rate has passed;
// it is true if none counts.
func (s Summary) AllPassed() bool { return s.Passed == s.GradedCount() }

// GradedCount returns the number of attempts that count in the pass rate: those with a verdict,
// infrastructure failures and grading errors.
func (s Summary) GradedCount() int { return s.Passed + s.Failed + s.Infrastructure + s.GradingErrors }

// summaryBuilder computes the Summary of a run from its attempts. It is not safe for concurrent
// use.
type summaryBuilder struct {
	summary     Summary               // the counts
	cases       map[string]*caseTally // by case id
	costUSD     float64
	isCostKnown bool // for every attempt
}

// caseTally counts the attempts at one case: passed, with a verdict, and those without one that
// count as not passed in the strict rate.
type caseTally struct{ passed, graded, lost int }

// countedTotal returns the number of attempts at the case that count in the strict rate.
func (c caseTally) countedTotal() int { return c.graded + c.lost }

// newSummaryBuilder returns a summaryBuilder that has counted no attempt.
func newSummaryBuilder() summaryBuilder {
	return summaryBuilder{
		summary: Summary{Type: runs.TypeSummary, ByOutcome: map[runs.Outcome]int{}},
		cases:   map[string]*caseTally{}, isCostKnown: true,
	}
}

// addSkipped counts a case that was not tried.
func (b *summaryBuilder) addSkipped() { b.summary.Skipped++ }

// addAttempt counts an attempt by its outcome and verdict, and adds its cost.
func (b *summaryBuilder) addAttempt(a runs.Attempt) {
	b.summary.Attempts++
	b.summary.ByOutcome[a.Outcome]++
	b.summary.Redacted += a.Redacted
	if a.Usage.CostUSD == nil {
		b.isCostKnown = false
	} else {
		b.costUSD += *a.Usage.CostUSD
	}
	tally := b.cases[a.CaseID]
	if tally == nil {
		tally = &caseTally{}
		b.cases[a.CaseID] = tally
	}
	switch {
	case a.IsInfrastructureFailure():
		b.summary.Infrastructure++
		tally.lost++
	case a.Grading != nil:
		b.summary.GradingErrors++
		tally.lost++
	case a.Passed == nil:
		b.summary.Ungraded++
	case *a.Passed:
		b.summary.Passed++
		tally.passed++
		tally.graded++
	default:
		b.summary.Failed++
		tally.graded++
	}
}

// build returns the summary of all attempts that were added. epochs is the largest k for which
// pass@k is computed.
func (b *summaryBuilder) build(run string, epochs int, duration time.Duration) Summary {
	s := b.summary
	s.Run, s.Cases, s.DurationMS = run, len(b.cases), duration.Milliseconds()
	if b.isCostKnown && s.Attempts > 0 {
		s.CostUSD = &b.costUSD
	}
	strict, lenient := b.casePassShares()
	s.PassRate = newPassRate(strict, lenient)
	s.PassAtK, s.PassHatK = map[int]float64{}, map[int]float64{}
	for k := 1; k <= epochs; k++ {
		b.addPassAtK(k, &s)
	}
	return s
}

// casePassShares returns the share of passed attempts of each case, from 0 to 1, in no order: in
// strict infrastructure failures and grading errors count as not passed, in lenient they are left
// out. A case without an attempt that counts is left out.
func (b *summaryBuilder) casePassShares() (strict, lenient []float64) {
	for _, c := range b.cases {
		if total := c.countedTotal(); total > 0 {
			strict = append(strict, float64(c.passed)/float64(total))
		}
		if c.graded > 0 {
			lenient = append(lenient, float64(c.passed)/float64(c.graded))
		}
	}
	return strict, lenient
}

// newPassRate returns the means of the cases' shares of passed attempts, and the 95 %
// confidence interval of the strict one (Student's t), which is the interval that the public
// benchmarks in this case format report.
func newPassRate(strict, lenient []float64) (r PassRate) {
	if len(lenient) > 0 {
		r.ExcludingInfrastructure = new(stats.Mean(lenient))
	}
	if len(strict) == 0 {
		return r
	}
	r.Strict = new(stats.Mean(strict))
	if raw, ok := stats.MeanCI95(strict); ok {
		clamped := raw.Clamp(0, 1)
		r.CI95Raw = &[2]float64{raw.Low, raw.High}
		r.CI95 = &[2]float64{clamped.Low, clamped.High}
	}
	return r
}

// addPassAtK sets pass@k and pass^k in the summary s: their means over the cases that have at
// least k attempts that count.
func (b *summaryBuilder) addPassAtK(k int, s *Summary) {
	var passAtK, passHatK []float64
	for _, c := range b.cases {
		if total := c.countedTotal(); total >= k {
			passAtK = append(passAtK, stats.PassAtK(total, c.passed, k))
			passHatK = append(passHatK, stats.PassHatK(total, c.passed, k))
		}
	}
	if len(passAtK) > 0 {
		s.PassAtK[k], s.PassHatK[k] = stats.Mean(passAtK), stats.Mean(passHatK)
	}
}
