package stats

import (
	"cmp"
	"slices"
)

// AUROC returns the area under the ROC curve of a score that should be high for
// positive samples and low for negative ones: the share of pairs in the right order, in
// which a tie counts half. It adds the trapezoids under the curve as scikit-learn does,
// with the same result to the last bit (gonum's stat.ROC and integrate.Trapezoidal
// differ in the last bits). Each side must have at least one score, and all scores must
// be finite; otherwise the result has no meaning.
func AUROC(positive, negative []float64) float64 {
	curve := dropCollinearPoints(rocCurvePoints(positive, negative))
	areas := make([]float64, len(curve)-1)
	for i := range areas {
		a, b := curve[i], curve[i+1]
		width := float64(b.negative)/float64(len(negative)) - float64(a.negative)/float64(len(negative))
		heights := float64(b.positive)/float64(len(positive)) + float64(a.positive)/float64(len(positive))
		areas[i] = width * heights / 2
	}
	return PairwiseSum(areas)
}

// rocCurvePoint is a point of a ROC curve: how many positive and negative samples have
// a score of at least some threshold.
type rocCurvePoint struct{ positive, negative int }

// rocCurvePoints returns the points of a ROC curve: one for each distinct score as the
// threshold, from the highest score down.
func rocCurvePoints(positive, negative []float64) []rocCurvePoint {
	type sample struct {
		score float64
		count rocCurvePoint
	}
	var samples []sample
	for _, score := range positive {
		samples = append(samples, sample{score, rocCurvePoint{positive: 1}})
	}
	for _, score := range negative {
		samples = append(samples, sample{score, rocCurvePoint{negative: 1}})
	}
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(b.score, a.score) })
	var points []rocCurvePoint
	var sum rocCurvePoint
	for i, s := range samples {
		sum.positive += s.count.positive
		sum.negative += s.count.negative
		if i == len(samples)-1 || samples[i+1].score != s.score {
			points = append(points, sum)
		}
	}
	return points
}

// dropCollinearPoints returns the ROC curve through the origin and the points, without
// the points between two equal steps.
func dropCollinearPoints(points []rocCurvePoint) []rocCurvePoint {
	curve := []rocCurvePoint{{}}
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
