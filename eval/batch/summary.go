package batch

import (
	"time"

	"assay/eval/runs"
	"assay/internal/stats"
)

// Summary is the last line of a run.
type Summary struct {
	Type           string               `json:"type"` // "summary"
	Run            string               `json:"run"`
	Cases          int                  `json:"cases"` // those that were tried
	Attempts       int                  `json:"attempts"`
	Passed         int                  `json:"passed"`
	Failed         int                  `json:"failed"`
	Ungraded       int                  `json:"ungraded"`
	Infrastructure int                  `json:"infrastructure"`
	Skipped        int                  `json:"skipped"`
	ByOutcome      map[runs.Outcome]int `json:"by_outcome"`
	PassRate       PassRate             `json:"pass_rate"`
	PassAtK        map[int]float64      `json:"pass_at_k"`  // one of k tries at least
	PassHatK       map[int]float64      `json:"pass_hat_k"` // all of k tries
	CostUSD        *float64             `json:"cost_usd"`   // null: a price is not known
	DurationMS     int64                `json:"duration_ms"`
}

// PassRate is the share of passes, as the mean over the cases of the mean over
// their tries. Null stands for: there is nothing to take a share of, or, of the
// interval, fewer than two cases.
type PassRate struct {
	Strict                  *float64    `json:"strict"` // infrastructure outcomes count as failures
	ExcludingInfrastructure *float64    `json:"excluding_infrastructure"`
	CI95                    *[2]float64 `json:"ci95"` // of Strict, within 0 and 1
	CI95Raw                 *[2]float64 `json:"ci95_raw"`
}

// AllPassed tells whether every attempt that has a verdict to have passed.
func (s Summary) AllPassed() bool { return s.Passed == s.GradedCount() }

// GradedCount is the number of attempts that count: with a verdict, or without one
// for a reason of infrastructure.
func (s Summary) GradedCount() int { return s.Passed + s.Failed + s.Infrastructure }

// tally is the summary in the making.
type tally struct {
	sum    Summary
	cases  map[string]*tries
	cost   float64
	priced bool // every attempt's cost is known
}

// tries counts the attempts at one case that have a verdict, or should.
type tries struct{ passed, graded, infrastructure int }

func newTally() tally {
	return tally{
		sum:   Summary{Type: runs.TypeSummary, ByOutcome: map[runs.Outcome]int{}},
		cases: map[string]*tries{}, priced: true,
	}
}

func (t *tally) skip() { t.sum.Skipped++ }

func (t *tally) add(a runs.Attempt) {
	t.sum.Attempts++
	t.sum.ByOutcome[a.Outcome]++
	if a.Usage.CostUSD == nil {
		t.priced = false
	} else {
		t.cost += *a.Usage.CostUSD
	}
	c := t.cases[a.CaseID]
	if c == nil {
		c = &tries{}
		t.cases[a.CaseID] = c
	}
	switch {
	case a.IsInfrastructureFailure():
		t.sum.Infrastructure++
		c.infrastructure++
	case a.Passed == nil:
		t.sum.Ungraded++
	case *a.Passed:
		t.sum.Passed++
		c.passed++
		c.graded++
	default:
		t.sum.Failed++
		c.graded++
	}
}

func (t *tally) summary(run string, epochs int, took time.Duration) Summary {
	s := t.sum
	s.Run, s.Cases, s.DurationMS = run, len(t.cases), took.Milliseconds()
	if t.priced && s.Attempts > 0 {
		s.CostUSD = &t.cost
	}
	strict, lenient := t.rates()
	s.PassRate = passRate(strict, lenient)
	s.PassAtK, s.PassHatK = map[int]float64{}, map[int]float64{}
	for k := 1; k <= epochs; k++ {
		t.ofK(k, &s)
	}
	return s
}

// rates are the cases' shares of passes, with and without infrastructure
// outcomes.
func (t *tally) rates() (strict, lenient []float64) {
	for _, c := range t.cases {
		if all := c.graded + c.infrastructure; all > 0 {
			strict = append(strict, float64(c.passed)/float64(all))
		}
		if c.graded > 0 {
			lenient = append(lenient, float64(c.passed)/float64(c.graded))
		}
	}
	return strict, lenient
}

// passRate computes the means over the cases' shares of passes, and the interval
// of the strict mean.
func passRate(strict, lenient []float64) (r PassRate) {
	if len(lenient) > 0 {
		r.ExcludingInfrastructure = new(stats.Mean(lenient))
	}
	if len(strict) == 0 {
		return r
	}
	r.Strict = new(stats.Mean(strict))
	if raw, ok := stats.MeanCI95(strict); ok {
		within := raw.Clamp(0, 1)
		r.CI95Raw = &[2]float64{raw.Low, raw.High}
		r.CI95 = &[2]float64{within.Low, within.High}
	}
	return r
}

// ofK adds the chances that one, and that all, of k tries drawn from those that
// were made pass, over the cases that were tried that often.
func (t *tally) ofK(k int, s *Summary) {
	var one, all []float64
	for _, c := range t.cases {
		if tries := c.graded + c.infrastructure; tries >= k {
			one = append(one, stats.PassAtK(tries, c.passed, k))
			all = append(all, stats.PassHatK(tries, c.passed, k))
		}
	}
	if len(one) > 0 {
		s.PassAtK[k], s.PassHatK[k] = stats.Mean(one), stats.Mean(all)
	}
}
