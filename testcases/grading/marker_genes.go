package grading

import "assay/testcases/grading/pyvalue"

// markerGenes passes when the answered marker genes are precise, by the share of
// them that is canonical, and complete, by the share of the canonical ones that
// is among them. Genes are compared in lower case. When both sides are objects,
// cell type to genes, it asks how many types are complete enough.
//
// When the answer lacks the field, its first list or object is taken for it.
func markerGenes(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	canonical := orElse(config, "canonical_markers", orElse(config, "ground_truth_labels", pyvalue.List{}))
	scoring, err := section(config, "scoring")
	if err != nil {
		return Result{}, err
	}
	field, predicted, err := markerField(answer, orElse(config, "answer_field", pyvalue.String("top_marker_genes")))
	if err != nil {
		return Result{}, err
	}
	g := markerGrader{report: newReport("Marker genes"), scoring: scoring, field: field}
	if predicted == nil {
		return g.report.without(answer, pyvalue.Text(field)), nil
	}
	byType, ok := canonical.(*pyvalue.Object)
	if ok {
		if answered, both := predicted.(*pyvalue.Object); both {
			return g.cellTypes(byType, answered)
		}
		entry, err := take(byType, field)
		if err != nil {
			return Result{}, err
		}
		if entry != nil {
			canonical = entry
		}
	}
	return g.flat(canonical, predicted)
}

// markerField returns the field of the answer that is graded and what is in it,
// nil if there is none.
func markerField(answer, field pyvalue.Value) (chosen, predicted pyvalue.Value, err error) {
	predicted, err = take(answer, field)
	if err != nil || predicted != nil {
		return field, predicted, err
	}
	object, ok := answer.(*pyvalue.Object)
	if !ok {
		return nil, nil, pyvalue.TypeError("the answer: want an object, found %s", pyvalue.KindOf(answer))
	}
	for key, v := range object.All() {
		if kind := pyvalue.KindOf(v); kind == "list" || kind == "object" {
			return pyvalue.String(key), v, nil
		}
	}
	return field, nil, nil
}

type markerGrader struct {
	report  *report
	scoring *pyvalue.Object
	field   pyvalue.Value
}

// flat is for two lists, and fails for anything else.
func (g markerGrader) flat(canonical, predicted pyvalue.Value) (Result, error) {
	given, isList := predicted.(pyvalue.List)
	if !isList {
		g.report.fail(pyvalue.Text(g.field) + ": want a list, found " + show(predicted))
		return g.report.verdict(), nil
	}
	wanted, isList := canonical.(pyvalue.List)
	if !isList {
		g.report.fail("the case's canonical markers for " + pyvalue.Text(g.field) + " are not a list but " + show(canonical))
		return g.report.verdict(), nil
	}
	return g.lists(wanted, given)
}

// lists compares two lists of genes. Precision is by the number of genes given,
// with repetitions; recall by that of different canonical ones.
func (g markerGrader) lists(wanted, given pyvalue.List) (Result, error) {
	thresholds, err := section(g.scoring, "pass_thresholds")
	if err != nil {
		return Result{}, err
	}
	leastPrecision := orElse(thresholds, "precision_at_k", pyvalue.Float(0.6))
	leastRecall := orElse(thresholds, "recall_at_k", pyvalue.Float(0.5))
	if err := decimals(leastPrecision, leastRecall); err != nil {
		return Result{}, err
	}
	c := compareGenes(spellings(wanted), spellings(given))
	precision, recall := ratio(len(c.both), len(given)), ratio(len(c.both), len(c.both)+len(c.missing))
	precise, err := g.report.atLeast("precision", precision, leastPrecision)
	if err != nil {
		return Result{}, err
	}
	complete, err := g.report.atLeast("recall", recall, leastRecall)
	if err != nil {
		return Result{}, err
	}
	g.report.names(true, "canonical", c.both)
	g.report.names(false, "missing", c.missing)
	g.report.names(false, "not canonical", c.extra)

	m := g.report.metrics
	m.Set("k", count(given))
	m.Set("precision_at_k", precision)
	m.Set("recall_at_k", recall)
	m.Set("precision_threshold", leastPrecision)
	m.Set("recall_threshold", leastRecall)
	m.Set("true_positives", c.both)
	m.Set("false_positives", c.extra)
	m.Set("false_negatives", c.missing)
	m.Set("num_true_positives", count(c.both))
	m.Set("num_false_positives", count(c.extra))
	m.Set("num_false_negatives", count(c.missing))
	m.Set("num_canonical_markers", pyvalue.NewInt(int64(len(c.both)+len(c.missing))))
	m.Set("precision_pass", pyvalue.Bool(precise))
	m.Set("recall_pass", pyvalue.Bool(complete))
	m.Set("answer_field_used", g.field)
	return g.report.verdict(), nil
}
