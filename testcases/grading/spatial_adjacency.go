package grading

import (
	"slices"

	"assay/testcases/grading/pyvalue"
)

// gradeSpatialAdjacency passes if the four numbers of a spatial_adjacency answer meet
// their thresholds and its field adjacency_pass has a true value.
func gradeSpatialAdjacency(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	thresholds, err := getPassThresholds(config)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Spatial adjacency")
	tests := adjacencyMeasures()
	fields := []string{}
	for _, test := range tests {
		fields = append(fields, test.field)
	}
	given, missing, err := splitMissingFields(answer, append(fields, "adjacency_pass")...)
	if err != nil || missing != nil {
		return r.missingFieldsResult(answer, missing...), err
	}
	for _, name := range slices.Concat(fields, []string{"adjacency_pass"}) {
		r.metrics.Set(name, given.Get(name))
	}
	for _, test := range tests {
		r.metrics.Set(test.limitMetric, test.getThreshold(thresholds))
	}
	for _, test := range tests {
		if err := r.checkAdjacencyMeasure(test, given.Get(test.field), test.getThreshold(thresholds)); err != nil {
			return Result{}, err
		}
	}
	claim := given.Get("adjacency_pass")
	r.addLine(pyvalue.IsTruthy(claim), "adjacency_pass: "+formatValue(claim))
	if !pyvalue.IsTruthy(claim) {
		r.addFailure("adjacency_pass: the answer itself says " + formatValue(claim))
	}
	return r.binaryResult(), nil
}

// adjacencyMeasure is one number of a spatial_adjacency answer, with its threshold and
// the names of both in the metrics.
type adjacencyMeasure struct {
	field, threshold        string
	fallback                float64 // default of the threshold, in µm or percent
	isMax                   bool
	limitMetric, passMetric string
}

// adjacencyMeasures returns the four numbers of a spatial_adjacency answer, in the
// order in which they are checked.
func adjacencyMeasures() []adjacencyMeasure {
	return []adjacencyMeasure{
		{"median_ic_to_pc_um", "max_median_ic_to_pc_um", 25, true, "max_median_threshold", "median_pass"},
		{"p90_ic_to_pc_um", "max_p90_ic_to_pc_um", 80, true, "max_p90_threshold", "p90_pass"},
		{"pct_ic_within_15um", "min_pct_ic_within_15um", 60, false, "min_pct_15um_threshold", "within_15um_pass"},
		{"pct_ic_mixed_within_55um", "min_pct_ic_mixed_within_55um", 60, false, "min_pct_55um_threshold", "mixed_55um_pass"},
	}
}

// getThreshold returns the threshold of this number in a spatial_adjacency config, or
// its default.
func (t adjacencyMeasure) getThreshold(thresholds *pyvalue.Object) pyvalue.Value {
	return getOrDefault(thresholds, t.threshold, pyvalue.Float(t.fallback))
}

// checkAdjacencyMeasure compares one number of a spatial_adjacency answer with its
// threshold. It is an error if one of them does not fit a float64.
func (r *graderReport) checkAdjacencyMeasure(test adjacencyMeasure, found, limit pyvalue.Value) error {
	if err := checkFitsFloat(found, limit); err != nil {
		return err
	}
	compare := r.requireAtLeast
	if test.isMax {
		compare = r.requireAtMost
	}
	ok, err := compare(test.field, found, limit)
	r.metrics.Set(test.passMetric, pyvalue.Bool(ok))
	return err
}
