package grading

// labelSet passes when the Jaccard index of the expected and the answered labels,
// the share of all labels that both have, is at least a threshold. Both sides are
// sets as Python makes them, and two empty ones have the index 0.
func labelSet(config *Object, answer Value) (Result, error) {
	expected, err := setOf("ground_truth_labels", orElse(config, "ground_truth_labels", List{}))
	if err != nil {
		return Result{}, err
	}
	scoring, err := section(config, "scoring")
	if err != nil {
		return Result{}, err
	}
	field := orElse(config, "answer_field", String("cell_types_predicted"))
	r := newReport("Label set")
	found, err := take(answer, field)
	if err != nil {
		return Result{}, err
	}
	if found == nil {
		return r.without(answer, Text(field)), nil
	}
	predicted, err := setOf("the answer's "+Text(field), found)
	if err != nil {
		return Result{}, err
	}
	threshold := orElse(scoring, "pass_threshold", Float(0.9))
	if err := decimals(threshold); err != nil {
		return Result{}, err
	}
	return r.compareLabels(expected, predicted, field, threshold)
}

func (r *report) compareLabels(expected, predicted *dict, field, threshold Value) (Result, error) {
	both, err := sorted(common(expected, predicted))
	if err != nil {
		return Result{}, err
	}
	extra, err := sorted(without(predicted, expected))
	if err != nil {
		return Result{}, err
	}
	missing, err := sorted(without(expected, predicted))
	if err != nil {
		return Result{}, err
	}
	index := ratio(len(both), len(both)+len(extra)+len(missing))
	r.metrics.Set("jaccard_index", index)
	r.metrics.Set("pass_threshold", threshold)
	r.metrics.Set("answer_field", field)
	r.metrics.Set("true_positives", both)
	r.metrics.Set("false_positives", extra)
	r.metrics.Set("false_negatives", missing)
	r.metrics.Set("predicted_count", NewInt(int64(len(predicted.keys))))
	r.metrics.Set("ground_truth_count", NewInt(int64(len(expected.keys))))

	_, err = r.atLeast("Jaccard index", index, threshold)
	r.names(true, "as expected", both)
	r.names(false, "missing", missing)
	r.names(false, "not expected", extra)
	return r.verdict(), err
}
