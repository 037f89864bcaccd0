package grading

import "assay/testcases/grading/pyvalue"

// gradeLabelSet passes if the Jaccard index of the expected and the answered labels,
// which is the share of all labels that both sides have, is at least a threshold. Both
// sides are sets as Python makes them. Two empty sets have the index 0.
func gradeLabelSet(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	expected, err := pyvalue.NewSet("ground_truth_labels", getOrDefault(config, "ground_truth_labels", pyvalue.List{}))
	if err != nil {
		return Result{}, err
	}
	scoring, err := getConfigSection(config, "scoring")
	if err != nil {
		return Result{}, err
	}
	field := getOrDefault(config, "answer_field", pyvalue.String("cell_types_predicted"))
	r := newGraderReport("Label set")
	found, err := pythonItemIfContained(answer, field)
	if err != nil {
		return Result{}, err
	}
	if found == nil {
		return r.missingFieldsResult(answer, pyvalue.Str(field)), nil
	}
	predicted, err := pyvalue.NewSet("the answer's "+pyvalue.Str(field), found)
	if err != nil {
		return Result{}, err
	}
	threshold := getOrDefault(scoring, "pass_threshold", pyvalue.Float(0.9))
	if err := checkFitsFloat(threshold); err != nil {
		return Result{}, err
	}
	return r.compareLabels(expected, predicted, field, threshold)
}

// compareLabels sets the metrics of a label_set and compares the Jaccard index with the
// threshold.
func (r *graderReport) compareLabels(expected, predicted *pyvalue.Dict, field, threshold pyvalue.Value) (Result, error) {
	both, err := pyvalue.SortSet(pyvalue.IntersectSets(expected, predicted))
	if err != nil {
		return Result{}, err
	}
	extra, err := pyvalue.SortSet(pyvalue.SubtractSets(predicted, expected))
	if err != nil {
		return Result{}, err
	}
	missing, err := pyvalue.SortSet(pyvalue.SubtractSets(expected, predicted))
	if err != nil {
		return Result{}, err
	}
	index := ratioOrZero(len(both), len(both)+len(extra)+len(missing))
	r.metrics.Set("jaccard_index", index)
	r.metrics.Set("pass_threshold", threshold)
	r.metrics.Set("answer_field", field)
	r.metrics.Set("true_positives", both)
	r.metrics.Set("false_positives", extra)
	r.metrics.Set("false_negatives", missing)
	r.metrics.Set("predicted_count", pyvalue.NewInt(int64(len(predicted.Keys()))))
	r.metrics.Set("ground_truth_count", pyvalue.NewInt(int64(len(expected.Keys()))))

	_, err = r.requireAtLeast("Jaccard index", index, threshold)
	r.addListLine(true, "as expected", both)
	r.addListLine(false, "missing", missing)
	r.addListLine(false, "not expected", extra)
	return r.binaryResult(), err
}
