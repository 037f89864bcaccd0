package grading_test

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// plausibleDrawsByType returns, for each grader type, a function that draws a random
// config and an answer that might match.
func plausibleDrawsByType() map[string]func(valueGenerator) (config *pyvalue.Object, answer pyvalue.Value) {
	return map[string]func(valueGenerator) (*pyvalue.Object, pyvalue.Value){
		"numeric_tolerance":            valueGenerator.drawNumericToleranceConfigAndAnswer,
		"numeric_range":                valueGenerator.drawNumericRangeConfigAndAnswer,
		"label_set_jaccard":            valueGenerator.drawLabelSetConfigAndAnswer,
		"jaccard_label_set":            valueGenerator.drawLabelSetConfigAndAnswer,
		"distribution_comparison":      valueGenerator.drawDistributionConfigAndAnswer,
		"marker_gene_precision_recall": valueGenerator.drawMarkerGenesConfigAndAnswer,
		"marker_gene_separation":       valueGenerator.drawMarkerSeparationConfigAndAnswer,
		"spatial_adjacency":            valueGenerator.drawSpatialAdjacencyConfigAndAnswer,
		"multiple_choice":              valueGenerator.drawMultipleChoiceConfigAndAnswer,
		"boolean_check":                valueGenerator.drawBooleanCheckConfigAndAnswer,
		"cell_typing":                  valueGenerator.drawCellTypingConfigAndAnswer,
		"proportion_consistency":       valueGenerator.drawProportionsConfigAndAnswer,
		"adjusted_mutual_information":  valueGenerator.drawMutualInformationConfigAndAnswer,
	}
}

// objectOfKeysAndValues returns an object from alternating keys and values. A nil value leaves out
// its key.
func objectOfKeysAndValues(of ...any) *pyvalue.Object {
	o := &pyvalue.Object{}
	for i := 0; i < len(of); i += 2 {
		key, _ := of[i].(string)
		if v, ok := of[i+1].(pyvalue.Value); ok && v != nil {
			o.Set(key, v)
		}
	}
	return o
}

// valueOrNil returns nil with probability 1/n, and otherwise v.
func (g valueGenerator) valueOrNil(n int, v pyvalue.Value) pyvalue.Value {
	if g.hasChanceOneIn(n) {
		return nil
	}
	return v
}

// drawNumber draws one of a few numbers, so that some are equal or exactly a tolerance
// apart.
func (g valueGenerator) drawNumber() pyvalue.Value {
	switch g.IntN(4) {
	case 0:
		return pyvalue.NewInt(g.Int64N(5))
	case 1:
		return pyvalue.Float(float64(g.IntN(21)) / 20)
	case 2:
		return pyvalue.Float(float64(g.IntN(41)) / 10)
	default:
		return pyvalue.Float(g.Float64() * 4)
	}
}

func (g valueGenerator) drawNumberOrText() pyvalue.Value {
	if g.hasChanceOneIn(5) {
		return pickOne[pyvalue.Value](g, pyvalue.String("1.5"), pyvalue.String(" 2 "), pyvalue.String("one"), pyvalue.Bool(true), pyvalue.Null{})
	}
	return g.drawNumber()
}

// drawList draws a list of at least least and at most most values.
func (g valueGenerator) drawList(least, most int, draw func() pyvalue.Value) pyvalue.List {
	items := pyvalue.List{}
	for range least + g.IntN(most-least+1) {
		items = append(items, draw())
	}
	return items
}

// drawScoring returns a scoring object with pass thresholds, where most graders expect
// them.
func (g valueGenerator) drawScoring(thresholds *pyvalue.Object) pyvalue.Value {
	return g.valueOrNil(8, pyvalue.NewObject("scoring", pyvalue.NewObject("pass_thresholds", thresholds)).Get("scoring"))
}

func (g valueGenerator) drawNumericToleranceConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	truth, answer, tolerances := &pyvalue.Object{}, &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"n", "type", "a.b", "µ"}[:g.IntN(5)] {
		truth.Set(field, g.drawNumber())
		tolerances.Set(field, g.drawTolerance())
		answer.Set(field, g.drawNumberOrText())
	}
	if g.hasChanceOneIn(2) {
		answer.Set("a", pyvalue.NewObject("b", g.drawNumberOrText()))
	}
	if g.hasChanceOneIn(3) {
		flat := g.drawTolerance()
		for key, v := range flat.All() {
			tolerances.Set(key, v)
		}
	}
	return objectOfKeysAndValues("ground_truth", g.valueOrNil(20, truth), pickOne(g, "tolerances", "tolerances", "tolerance"), g.valueOrNil(20, tolerances)), answer
}

func (g valueGenerator) drawTolerance() *pyvalue.Object {
	kind := pickOne[pyvalue.Value](g, pyvalue.String("absolute"), pyvalue.String("relative"), pyvalue.String("min"), pyvalue.String("max"), pyvalue.String("range"), nil)
	return objectOfKeysAndValues("type", kind, "value", g.valueOrNil(5, g.drawNumber()), "lower", g.valueOrNil(2, g.drawNumber()), "upper", g.valueOrNil(2, g.drawNumber()))
}

func (g valueGenerator) drawNumericRangeConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	truth, answer, ranges := &pyvalue.Object{}, &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"n", "a.b", "µ"}[:1+g.IntN(3)] {
		truth.Set(field, pyvalue.NewInt(1+g.Int64N(3)))
		ranges.Set(field, objectOfKeysAndValues("min", pickOne[pyvalue.Value](g, pyvalue.NewInt(0), pyvalue.Float(0.5), g.drawNumber()), "max", pickOne[pyvalue.Value](g, pyvalue.NewInt(4), g.drawNumber())))
		answer.Set(field, g.drawNumberOrText())
	}
	answer.Set("a", pyvalue.NewObject("b", g.drawNumberOrText()))
	return objectOfKeysAndValues("ground_truth", g.valueOrNil(20, truth), "ranges", g.valueOrNil(20, ranges)), answer
}

func (g valueGenerator) drawLabel() pyvalue.Value {
	if g.hasChanceOneIn(12) {
		return pickOne[pyvalue.Value](g, pyvalue.NewInt(1), pyvalue.Float(1), pyvalue.Bool(true), pyvalue.Float(2), g.drawAwkwardValue())
	}
	return pickOne[pyvalue.Value](g, pyvalue.String("T"), pyvalue.String("B"), pyvalue.String("NK"), pyvalue.String("b"), pyvalue.String("T "))
}

func (g valueGenerator) drawLabelSetConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	field := pickOne[pyvalue.Value](g, pyvalue.String("types"), pyvalue.String("cell_types_predicted"), nil)
	threshold := pickOne[pyvalue.Value](g, pyvalue.Float(0.5), pyvalue.Float(0.67), pyvalue.Float(2.0/3), pyvalue.Float(0.25), pyvalue.NewInt(0), pyvalue.NewInt(1), nil)
	config := objectOfKeysAndValues("ground_truth_labels", g.valueOrNil(20, g.drawList(0, 4, g.drawLabel)), "scoring", g.valueOrNil(5, objectOfKeysAndValues("pass_threshold", threshold)), "answer_field", field)
	name := "cell_types_predicted"
	if field != nil {
		name = pyvalue.Str(field)
	}
	return config, objectOfKeysAndValues("n", pyvalue.NewInt(1), name, g.valueOrNil(20, g.drawList(0, 4, g.drawLabel)))
}

func (g valueGenerator) drawDistributionConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	percents := func() *pyvalue.Object {
		return objectOfKeysAndValues("T", g.valueOrNil(6, g.drawNumber()), "B", g.valueOrNil(6, g.drawNumber()), "é", g.valueOrNil(3, g.drawNumber()), "D", g.valueOrNil(2, g.drawNumber()))
	}
	truth := objectOfKeysAndValues("total_cells", g.valueOrNil(2, g.drawNumber()), "cell_type_distribution", g.valueOrNil(20, percents()))
	tolerances := objectOfKeysAndValues("total_cells", g.valueOrNil(2, objectOfKeysAndValues("value", g.drawNumber())), "cell_type_percentages", g.valueOrNil(4, objectOfKeysAndValues("type", pyvalue.String("relative"), "value", g.valueOrNil(4, g.drawNumber()))))
	return objectOfKeysAndValues("ground_truth", g.valueOrNil(20, truth), "tolerances", g.valueOrNil(10, tolerances)),
		objectOfKeysAndValues("total_cells", g.valueOrNil(2, g.drawNumber()), "cell_type_distribution", g.valueOrNil(20, percents()))
}

func (g valueGenerator) drawGene() pyvalue.Value {
	if g.hasChanceOneIn(15) {
		return g.drawAwkwardValue()
	}
	return pyvalue.String(pickOne(g, "Cd3d", "CD3D", "cd3e", "Gzmb", "gzmb ", "ΣΑΣ", "σας", "Straße", "STRASSE"))
}

func (g valueGenerator) drawMarkerGenesConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	genes := func() pyvalue.Value { return g.drawList(0, 5, g.drawGene) }
	byType := func() pyvalue.Value {
		return objectOfKeysAndValues("T", g.valueOrNil(5, genes()), "B", g.valueOrNil(5, genes()), "genes", g.valueOrNil(5, genes()))
	}
	either := func() pyvalue.Value { return pickOne(g, genes, byType)() }
	field := pickOne[pyvalue.Value](g, pyvalue.String("genes"), pyvalue.String("T"), nil)
	thresholds := objectOfKeysAndValues(
		"precision_at_k", g.valueOrNil(2, g.drawFraction()), "recall_at_k", g.valueOrNil(2, g.drawFraction()),
		"min_recall_per_celltype", g.valueOrNil(2, g.drawFraction()), "min_celltypes_passing", g.valueOrNil(2, pyvalue.NewInt(g.Int64N(3))),
	)
	config := objectOfKeysAndValues(pickOne(g, "canonical_markers", "canonical_markers", "ground_truth_labels"), g.valueOrNil(20, either()), "answer_field", field, "scoring", g.drawScoring(thresholds))
	return config, objectOfKeysAndValues("n", pyvalue.NewInt(1), pickOne(g, "genes", "top_marker_genes", "other"), g.valueOrNil(20, either()), "last", g.valueOrNil(2, genes()))
}

// drawFraction draws a threshold or measurement between 0 and 1.
func (g valueGenerator) drawFraction() pyvalue.Value {
	return pyvalue.Float(float64(g.IntN(21)) / 20)
}

func (g valueGenerator) drawMarkerSeparationConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	stat := func() pyvalue.Value {
		return objectOfKeysAndValues("gene", g.valueOrNil(40, g.drawGene()), "auroc", g.valueOrNil(40, g.drawFraction()))
	}
	thresholds := objectOfKeysAndValues("mean_auroc", g.valueOrNil(2, g.drawFraction()), "fraction_high", g.valueOrNil(2, g.drawFraction()), "per_gene_cutoff", g.valueOrNil(2, g.drawFraction()))
	return objectOfKeysAndValues("scoring", g.drawScoring(thresholds)), objectOfKeysAndValues("per_gene_stats", g.valueOrNil(20, g.drawList(0, 9, stat)), "mean_auroc", g.valueOrNil(20, g.drawFraction()))
}

func (g valueGenerator) drawSpatialAdjacencyConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	limits := objectOfKeysAndValues(
		"max_median_ic_to_pc_um", g.valueOrNil(2, g.drawNumber()), "max_p90_ic_to_pc_um", g.valueOrNil(2, g.drawNumber()),
		"min_pct_ic_within_15um", g.drawNumber(), "min_pct_ic_mixed_within_55um", g.drawNumber(),
	)
	claim := pickOne[pyvalue.Value](g, pyvalue.Bool(true), pyvalue.Bool(true), pyvalue.Bool(false), pyvalue.String("no"), pyvalue.NewInt(1), g.drawAwkwardValue())
	answer := objectOfKeysAndValues(
		"median_ic_to_pc_um", g.valueOrNil(40, g.drawNumber()), "p90_ic_to_pc_um", g.drawNumber(), "pct_ic_within_15um", g.drawNumber(), "pct_ic_mixed_within_55um", g.drawNumber(), "adjacency_pass", g.valueOrNil(20, claim),
	)
	return objectOfKeysAndValues("scoring", g.drawScoring(limits)), answer
}

func (g valueGenerator) drawMultipleChoiceConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	letter := func() pyvalue.Value {
		return pyvalue.String(pickOne(g, "A", "b", " B\n", "C)", "ß", "SS", "1", "1.0", "true", "None", "", "['b']"))
	}
	config := objectOfKeysAndValues("correct_answer", g.valueOrNil(4, letter()))
	if g.hasChanceOneIn(2) {
		config.Set("correct_answers", pickOne[pyvalue.Value](g, g.drawList(0, 4, letter), g.drawList(1, 4, letter), pyvalue.String("BC"), objectOfKeysAndValues("A", pyvalue.NewInt(1))))
	}
	return config, objectOfKeysAndValues("answer", g.valueOrNil(15, pickOne(g, letter(), letter(), g.drawAwkwardValue())))
}

func (g valueGenerator) drawBooleanCheckConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	truth, answer := &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"ok", "a.b", "is done"}[:g.IntN(4)] {
		truth.Set(field, pyvalue.Bool(g.hasChanceOneIn(2)))
		if !g.hasChanceOneIn(10) {
			answer.Set(field, pyvalue.Bool(g.hasChanceOneIn(2)))
		}
	}
	return objectOfKeysAndValues("ground_truth", truth), answer
}

func (g valueGenerator) drawCellTypingConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	cell := func() pyvalue.Value {
		return objectOfKeysAndValues("G1", g.valueOrNil(6, g.drawNumber()), "G2", g.valueOrNil(6, g.drawNumber()), "G3", g.drawNumber())
	}
	markers := pyvalue.List{pyvalue.String("G1"), pyvalue.String("G2"), pyvalue.String("G3"), pyvalue.String("gone")}[:g.IntN(5)]
	medians := &pyvalue.Object{}
	for _, name := range []string{"1", "0", "B cell", "é"}[:g.IntN(5)] {
		medians.Set(name, cell())
	}
	chosen := pickOne[pyvalue.Value](g, pyvalue.String("1"), pyvalue.String("0"), pyvalue.String("B cell"), pyvalue.NewInt(1))
	config := objectOfKeysAndValues("markers", g.valueOrNil(20, markers), "thresholds", g.valueOrNil(2, objectOfKeysAndValues("auroc", g.drawFraction(), "gap_ratio", pickOne[pyvalue.Value](g, pyvalue.NewInt(1), pyvalue.Float(1.15), g.drawNumber()))))
	return config, objectOfKeysAndValues("chosen_cluster", chosen, "samples_chosen", g.drawList(0, 6, cell), "samples_other", g.drawList(0, 6, cell), "cluster_medians", g.valueOrNil(40, medians))
}

func (g valueGenerator) drawProportionsConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	types := pyvalue.List{pyvalue.String("T"), pyvalue.String("B"), pyvalue.String("NK"), pyvalue.String("é"), pyvalue.String("T")}[:1+g.IntN(5)]
	draw := pickOne(g, g.drawNumber, g.drawFraction, func() pyvalue.Value { return pyvalue.NewInt(20 + g.Int64N(5)) })
	samples := pyvalue.List{}
	for i := range pickOne(g, 1, 2, 2, 3, 4) {
		parts := objectOfKeysAndValues("T", g.valueOrNil(30, draw()), "B", g.valueOrNil(30, draw()), "NK", draw(), "é", draw())
		samples = append(samples, objectOfKeysAndValues("sample", pyvalue.String(fmt.Sprintf("s%d", i)), "proportions", parts))
	}
	thresholds := objectOfKeysAndValues("chi2_q_min", g.valueOrNil(2, g.drawFraction()), "cramers_v_max", g.valueOrNil(2, g.drawFraction()))
	return objectOfKeysAndValues("scoring", g.drawScoring(thresholds), "test", pyvalue.String("chi2")), objectOfKeysAndValues("cell_types", g.valueOrNil(30, types), "samples", g.valueOrNil(30, samples))
}

func (g valueGenerator) drawMutualInformationConfigAndAnswer() (*pyvalue.Object, pyvalue.Value) {
	rows, columns := 1+g.IntN(4), 1+g.IntN(4)
	label := func() pyvalue.Value {
		return pickOne[pyvalue.Value](g, pyvalue.String("k0"), pyvalue.String("k1"), pyvalue.String("k2"), pyvalue.String("1"), pyvalue.NewInt(1), pyvalue.Float(1), pyvalue.NewInt(2))
	}
	most := pickOne(g, int64(2), 9, 40)
	count := func() pyvalue.Value {
		if g.hasChanceOneIn(8) {
			return pickOne[pyvalue.Value](g, pyvalue.Float(0.5), pyvalue.Float(1.5), pyvalue.Float(2.5), pyvalue.String("3"), pyvalue.Bool(true), pyvalue.Float(7))
		}
		return pyvalue.NewInt(g.Int64N(most))
	}
	row := func() pyvalue.Value { return g.drawList(columns, columns, count) }
	thresholds := objectOfKeysAndValues("ami_min", g.valueOrNil(3, pickOne[pyvalue.Value](g, pyvalue.Float(-0.05), pyvalue.Float(-1), pyvalue.NewInt(0))), "ami_max", g.valueOrNil(2, pickOne[pyvalue.Value](g, pyvalue.Null{}, pyvalue.Float(0.2), pyvalue.NewInt(1))))
	return objectOfKeysAndValues("scoring", g.drawScoring(thresholds)), objectOfKeysAndValues(
		"clusters", g.valueOrNil(40, g.drawList(rows, rows, label)), "samples", g.drawList(columns, columns, label), "contingency", g.valueOrNil(40, g.drawList(rows, rows, row)),
	)
}
