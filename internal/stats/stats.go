// Package stats computes statistics over plain floats. It knows nothing of cases,
// graders or files, reads no input but its arguments and keeps no state, so every
// function is safe for concurrent use.
//
// Functions are grouped by theme: means and confidence intervals in this file,
// the chances of passing k tries in tries.go. Correlations, tests and distances
// get a file each.
package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Mean returns the arithmetic mean of values, which are summed from first to last.
// It returns NaN if values is empty.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Interval is a range of numbers from Low to High, both included.
type Interval struct{ Low, High float64 }

// MeanCI95 returns the two-sided 95 % confidence interval of the mean of the population
// that values were drawn from. It is Student's t interval: mean ± t(0.975, n-1) · s/√n,
// with the sample's standard deviation s (divisor n-1). ok is false if there are fewer
// than two values, for which there is no interval.
func MeanCI95(values []float64) (ci Interval, ok bool) {
	n := float64(len(values))
	if n < 2 {
		return Interval{}, false
	}
	mean := Mean(values)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	half := t * stat.StdDev(values, nil) / math.Sqrt(n)
	return Interval{Low: mean - half, High: mean + half}, true
}

// Clamp returns the interval with each end limited to the range from low to high.
func (i Interval) Clamp(low, high float64) Interval {
	return Interval{Low: max(i.Low, low), High: min(i.High, high)}
}
