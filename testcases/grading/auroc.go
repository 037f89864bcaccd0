package grading

import (
	"cmp"
	"math"
	"slices"
)

// auroc is the area under the ROC curve of a score that ought to be high for the
// positive and low for the negative: the share of pairs in the right order, in
// which ties count half. It adds the trapezoids as scikit-learn does, to the last
// bit. The error is that a side is empty or a score is not finite.
func auroc(positive, negative []float64) (float64, error) {
	if len(positive) == 0 || len(negative) == 0 {
		return 0, valueError("an AUROC needs samples on both sides, found %d and %d", len(positive), len(negative))
	}
	for _, score := range slices.Concat(positive, negative) {
		if math.IsNaN(score) || math.IsInf(score, 0) {
			return 0, valueError("an AUROC needs finite scores, found %s", floatText(score))
		}
	}
	curve := corners(rocPoints(positive, negative))
	areas := make([]float64, len(curve)-1)
	for i := range areas {
		a, b := curve[i], curve[i+1]
		width := float64(b.negative)/float64(len(negative)) - float64(a.negative)/float64(len(negative))
		heights := float64(b.positive)/float64(len(positive)) + float64(a.positive)/float64(len(positive))
		areas[i] = width * heights / 2
	}
	return sumFloats(areas), nil
}

// rocPoint counts the samples that score at least as much as a threshold.
type rocPoint struct{ positive, negative int }

// rocPoints are those of every score that occurs, from the highest down.
func rocPoints(positive, negative []float64) []rocPoint {
	type sample struct {
		score float64
		count rocPoint
	}
	var samples []sample
	for _, score := range positive {
		samples = append(samples, sample{score, rocPoint{positive: 1}})
	}
	for _, score := range negative {
		samples = append(samples, sample{score, rocPoint{negative: 1}})
	}
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(b.score, a.score) })
	var points []rocPoint
	var sum rocPoint
	for i, s := range samples {
		sum.positive += s.count.positive
		sum.negative += s.count.negative
		if i == len(samples)-1 || samples[i+1].score != s.score {
			points = append(points, sum)
		}
	}
	return points
}

// corners puts the origin before the points, and leaves out those between two
// equal steps, which are no corners of the curve.
func corners(points []rocPoint) []rocPoint {
	curve := []rocPoint{{}}
	for i, p := range points {
		if i > 0 && i < len(points)-1 {
			before, after := points[i-1], points[i+1]
			if p.positive-before.positive == after.positive-p.positive && p.negative-before.negative == after.negative-p.negative {
				continue
			}
		}
		curve = append(curve, p)
	}
	return curve
}
