package grading_test

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// plausibleDraws returns for each type of grader a function that draws a config and an
// answer.
func plausibleDraws() map[string]func(generator) (config *pyvalue.Object, answer pyvalue.Value) {
	return map[string]func(generator) (*pyvalue.Object, pyvalue.Value){
		"numeric_tolerance":            generator.numericTolerance,
		"numeric_range":                generator.numericRange,
		"label_set_jaccard":            generator.labelSet,
		"jaccard_label_set":            generator.labelSet,
		"distribution_comparison":      generator.distribution,
		"marker_gene_precision_recall": generator.markerGenes,
		"marker_gene_separation":       generator.markerSeparation,
		"spatial_adjacency":            generator.spatialAdjacency,
		"multiple_choice":              generator.multipleChoice,
		"boolean_check":                generator.booleanCheck,
		"cell_typing":                  generator.cellTyping,
		"proportion_consistency":       generator.proportions,
		"adjusted_mutual_information":  generator.mutualInformation,
	}
}

// objectOf returns an object of alternating keys and values. A nil value leaves out its
// key.
func objectOf(of ...any) *pyvalue.Object {
	o := &pyvalue.Object{}
	for i := 0; i < len(of); i += 2 {
		key, _ := of[i].(string)
		if v, ok := of[i+1].(pyvalue.Value); ok && v != nil {
			o.Set(key, v)
		}
	}
	return o
}

// orNil returns v, but nil with probability 1/n.
func (g generator) orNil(n int, v pyvalue.Value) pyvalue.Value {
	if g.oneIn(n) {
		return nil
	}
	return v
}

// number draws one of few numbers, so that some are equal or exactly a tolerance apart.
func (g generator) number() pyvalue.Value {
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

func (g generator) numberOrText() pyvalue.Value {
	if g.oneIn(5) {
		return oneOf[pyvalue.Value](g, pyvalue.String("1.5"), pyvalue.String(" 2 "), pyvalue.String("one"), pyvalue.Bool(true), pyvalue.Null{})
	}
	return g.number()
}

// list draws at least least and at most most values.
func (g generator) list(least, most int, draw func() pyvalue.Value) pyvalue.List {
	items := pyvalue.List{}
	for range least + g.IntN(most-least+1) {
		items = append(items, draw())
	}
	return items
}

// scoring returns thresholds at the place where most graders expect them.
func (g generator) scoring(thresholds *pyvalue.Object) pyvalue.Value {
	return g.orNil(8, pyvalue.NewObject("scoring", pyvalue.NewObject("pass_thresholds", thresholds)).Get("scoring"))
}

func (g generator) numericTolerance() (*pyvalue.Object, pyvalue.Value) {
	truth, answer, tolerances := &pyvalue.Object{}, &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"n", "type", "a.b", "µ"}[:g.IntN(5)] {
		truth.Set(field, g.number())
		tolerances.Set(field, g.tolerance())
		answer.Set(field, g.numberOrText())
	}
	if g.oneIn(2) {
		answer.Set("a", pyvalue.NewObject("b", g.numberOrText()))
	}
	if g.oneIn(3) {
		flat := g.tolerance()
		for key, v := range flat.All() {
			tolerances.Set(key, v)
		}
	}
	return objectOf("ground_truth", g.orNil(20, truth), oneOf(g, "tolerances", "tolerances", "tolerance"), g.orNil(20, tolerances)), answer
}

func (g generator) tolerance() *pyvalue.Object {
	kind := oneOf[pyvalue.Value](g, pyvalue.String("absolute"), pyvalue.String("relative"), pyvalue.String("min"), pyvalue.String("max"), pyvalue.String("range"), nil)
	return objectOf("type", kind, "value", g.orNil(5, g.number()), "lower", g.orNil(2, g.number()), "upper", g.orNil(2, g.number()))
}

func (g generator) numericRange() (*pyvalue.Object, pyvalue.Value) {
	truth, answer, ranges := &pyvalue.Object{}, &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"n", "a.b", "µ"}[:1+g.IntN(3)] {
		truth.Set(field, pyvalue.NewInt(1+g.Int64N(3)))
		ranges.Set(field, objectOf("min", oneOf[pyvalue.Value](g, pyvalue.NewInt(0), pyvalue.Float(0.5), g.number()), "max", oneOf[pyvalue.Value](g, pyvalue.NewInt(4), g.number())))
		answer.Set(field, g.numberOrText())
	}
	answer.Set("a", pyvalue.NewObject("b", g.numberOrText()))
	return objectOf("ground_truth", g.orNil(20, truth), "ranges", g.orNil(20, ranges)), answer
}

func (g generator) label() pyvalue.Value {
	if g.oneIn(12) {
		return oneOf[pyvalue.Value](g, pyvalue.NewInt(1), pyvalue.Float(1), pyvalue.Bool(true), pyvalue.Float(2), g.awkwardValue())
	}
	return oneOf[pyvalue.Value](g, pyvalue.String("T"), pyvalue.String("B"), pyvalue.String("NK"), pyvalue.String("b"), pyvalue.String("T "))
}

func (g generator) labelSet() (*pyvalue.Object, pyvalue.Value) {
	field := oneOf[pyvalue.Value](g, pyvalue.String("types"), pyvalue.String("cell_types_predicted"), nil)
	threshold := oneOf[pyvalue.Value](g, pyvalue.Float(0.5), pyvalue.Float(0.67), pyvalue.Float(2.0/3), pyvalue.Float(0.25), pyvalue.NewInt(0), pyvalue.NewInt(1), nil)
	config := objectOf("ground_truth_labels", g.orNil(20, g.list(0, 4, g.label)), "scoring", g.orNil(5, objectOf("pass_threshold", threshold)), "answer_field", field)
	name := "cell_types_predicted"
	if field != nil {
		name = pyvalue.Text(field)
	}
	return config, objectOf("n", pyvalue.NewInt(1), name, g.orNil(20, g.list(0, 4, g.label)))
}

func (g generator) distribution() (*pyvalue.Object, pyvalue.Value) {
	percents := func() *pyvalue.Object {
		return objectOf("T", g.orNil(6, g.number()), "B", g.orNil(6, g.number()), "é", g.orNil(3, g.number()), "D", g.orNil(2, g.number()))
	}
	truth := objectOf("total_cells", g.orNil(2, g.number()), "cell_type_distribution", g.orNil(20, percents()))
	tolerances := objectOf("total_cells", g.orNil(2, objectOf("value", g.number())), "cell_type_percentages", g.orNil(4, objectOf("type", pyvalue.String("relative"), "value", g.orNil(4, g.number()))))
	return objectOf("ground_truth", g.orNil(20, truth), "tolerances", g.orNil(10, tolerances)),
		objectOf("total_cells", g.orNil(2, g.number()), "cell_type_distribution", g.orNil(20, percents()))
}

func (g generator) gene() pyvalue.Value {
	if g.oneIn(15) {
		return g.awkwardValue()
	}
	return pyvalue.String(oneOf(g, "Cd3d", "CD3D", "cd3e", "Gzmb", "gzmb ", "ΣΑΣ", "σας", "Straße", "STRASSE"))
}

func (g generator) markerGenes() (*pyvalue.Object, pyvalue.Value) {
	genes := func() pyvalue.Value { return g.list(0, 5, g.gene) }
	byType := func() pyvalue.Value {
		return objectOf("T", g.orNil(5, genes()), "B", g.orNil(5, genes()), "genes", g.orNil(5, genes()))
	}
	either := func() pyvalue.Value { return oneOf(g, genes, byType)() }
	field := oneOf[pyvalue.Value](g, pyvalue.String("genes"), pyvalue.String("T"), nil)
	thresholds := objectOf(
		"precision_at_k", g.orNil(2, g.share()), "recall_at_k", g.orNil(2, g.share()),
		"min_recall_per_celltype", g.orNil(2, g.share()), "min_celltypes_passing", g.orNil(2, pyvalue.NewInt(g.Int64N(3))),
	)
	config := objectOf(oneOf(g, "canonical_markers", "canonical_markers", "ground_truth_labels"), g.orNil(20, either()), "answer_field", field, "scoring", g.scoring(thresholds))
	return config, objectOf("n", pyvalue.NewInt(1), oneOf(g, "genes", "top_marker_genes", "other"), g.orNil(20, either()), "last", g.orNil(2, genes()))
}

// share draws a threshold or a measurement between 0 and 1.
func (g generator) share() pyvalue.Value {
	return pyvalue.Float(float64(g.IntN(21)) / 20)
}

func (g generator) markerSeparation() (*pyvalue.Object, pyvalue.Value) {
	stat := func() pyvalue.Value {
		return objectOf("gene", g.orNil(40, g.gene()), "auroc", g.orNil(40, g.share()))
	}
	thresholds := objectOf("mean_auroc", g.orNil(2, g.share()), "fraction_high", g.orNil(2, g.share()), "per_gene_cutoff", g.orNil(2, g.share()))
	return objectOf("scoring", g.scoring(thresholds)), objectOf("per_gene_stats", g.orNil(20, g.list(0, 9, stat)), "mean_auroc", g.orNil(20, g.share()))
}

func (g generator) spatialAdjacency() (*pyvalue.Object, pyvalue.Value) {
	limits := objectOf(
		"max_median_ic_to_pc_um", g.orNil(2, g.number()), "max_p90_ic_to_pc_um", g.orNil(2, g.number()),
		"min_pct_ic_within_15um", g.number(), "min_pct_ic_mixed_within_55um", g.number(),
	)
	claim := oneOf[pyvalue.Value](g, pyvalue.Bool(true), pyvalue.Bool(true), pyvalue.Bool(false), pyvalue.String("no"), pyvalue.NewInt(1), g.awkwardValue())
	answer := objectOf(
		"median_ic_to_pc_um", g.orNil(40, g.number()), "p90_ic_to_pc_um", g.number(), "pct_ic_within_15um", g.number(), "pct_ic_mixed_within_55um", g.number(), "adjacency_pass", g.orNil(20, claim),
	)
	return objectOf("scoring", g.scoring(limits)), answer
}

func (g generator) multipleChoice() (*pyvalue.Object, pyvalue.Value) {
	letter := func() pyvalue.Value {
		return pyvalue.String(oneOf(g, "A", "b", " B\n", "C)", "ß", "SS", "1", "1.0", "true", "None", "", "['b']"))
	}
	config := objectOf("correct_answer", g.orNil(4, letter()))
	if g.oneIn(2) {
		config.Set("correct_answers", oneOf[pyvalue.Value](g, g.list(0, 4, letter), g.list(1, 4, letter), pyvalue.String("BC"), objectOf("A", pyvalue.NewInt(1))))
	}
	return config, objectOf("answer", g.orNil(15, oneOf(g, letter(), letter(), g.awkwardValue())))
}

func (g generator) booleanCheck() (*pyvalue.Object, pyvalue.Value) {
	truth, answer := &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"ok", "a.b", "is done"}[:g.IntN(4)] {
		truth.Set(field, pyvalue.Bool(g.oneIn(2)))
		if !g.oneIn(10) {
			answer.Set(field, pyvalue.Bool(g.oneIn(2)))
		}
	}
	return objectOf("ground_truth", truth), answer
}

func (g generator) cellTyping() (*pyvalue.Object, pyvalue.Value) {
	cell := func() pyvalue.Value {
		return objectOf("G1", g.orNil(6, g.number()), "G2", g.orNil(6, g.number()), "G3", g.number())
	}
	markers := pyvalue.List{pyvalue.String("G1"), pyvalue.String("G2"), pyvalue.String("G3"), pyvalue.String("gone")}[:g.IntN(5)]
	medians := &pyvalue.Object{}
	for _, name := range []string{"1", "0", "B cell", "é"}[:g.IntN(5)] {
		medians.Set(name, cell())
	}
	chosen := oneOf[pyvalue.Value](g, pyvalue.String("1"), pyvalue.String("0"), pyvalue.String("B cell"), pyvalue.NewInt(1))
	config := objectOf("markers", g.orNil(20, markers), "thresholds", g.orNil(2, objectOf("auroc", g.share(), "gap_ratio", oneOf[pyvalue.Value](g, pyvalue.NewInt(1), pyvalue.Float(1.15), g.number()))))
	return config, objectOf("chosen_cluster", chosen, "samples_chosen", g.list(0, 6, cell), "samples_other", g.list(0, 6, cell), "cluster_medians", g.orNil(40, medians))
}

func (g generator) proportions() (*pyvalue.Object, pyvalue.Value) {
	types := pyvalue.List{pyvalue.String("T"), pyvalue.String("B"), pyvalue.String("NK"), pyvalue.String("é"), pyvalue.String("T")}[:1+g.IntN(5)]
	draw := oneOf(g, g.number, g.share, func() pyvalue.Value { return pyvalue.NewInt(20 + g.Int64N(5)) })
	samples := pyvalue.List{}
	for i := range oneOf(g, 1, 2, 2, 3, 4) {
		parts := objectOf("T", g.orNil(30, draw()), "B", g.orNil(30, draw()), "NK", draw(), "é", draw())
		samples = append(samples, objectOf("sample", pyvalue.String(fmt.Sprintf("s%d", i)), "proportions", parts))
	}
	thresholds := objectOf("chi2_q_min", g.orNil(2, g.share()), "cramers_v_max", g.orNil(2, g.share()))
	return objectOf("scoring", g.scoring(thresholds), "test", pyvalue.String("chi2")), objectOf("cell_types", g.orNil(30, types), "samples", g.orNil(30, samples))
}

func (g generator) mutualInformation() (*pyvalue.Object, pyvalue.Value) {
	rows, columns := 1+g.IntN(4), 1+g.IntN(4)
	label := func() pyvalue.Value {
		return oneOf[pyvalue.Value](g, pyvalue.String("k0"), pyvalue.String("k1"), pyvalue.String("k2"), pyvalue.String("1"), pyvalue.NewInt(1), pyvalue.Float(1), pyvalue.NewInt(2))
	}
	most := oneOf(g, int64(2), 9, 40)
	count := func() pyvalue.Value {
		if g.oneIn(8) {
			return oneOf[pyvalue.Value](g, pyvalue.Float(0.5), pyvalue.Float(1.5), pyvalue.Float(2.5), pyvalue.String("3"), pyvalue.Bool(true), pyvalue.Float(7))
		}
		return pyvalue.NewInt(g.Int64N(most))
	}
	row := func() pyvalue.Value { return g.list(columns, columns, count) }
	thresholds := objectOf("ami_min", g.orNil(3, oneOf[pyvalue.Value](g, pyvalue.Float(-0.05), pyvalue.Float(-1), pyvalue.NewInt(0))), "ami_max", g.orNil(2, oneOf[pyvalue.Value](g, pyvalue.Null{}, pyvalue.Float(0.2), pyvalue.NewInt(1))))
	return objectOf("scoring", g.scoring(thresholds)), objectOf(
		"clusters", g.orNil(40, g.list(rows, rows, label)), "samples", g.list(columns, columns, label), "contingency", g.orNil(40, g.list(rows, rows, row)),
	)
}
