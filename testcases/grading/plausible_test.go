package grading_test

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// plausible draws a config and an answer for each grader.
func plausible() map[string]func(gen) (config *pyvalue.Object, answer pyvalue.Value) {
	return map[string]func(gen) (*pyvalue.Object, pyvalue.Value){
		"numeric_tolerance":            gen.numericTolerance,
		"numeric_range":                gen.numericRange,
		"label_set_jaccard":            gen.labelSet,
		"jaccard_label_set":            gen.labelSet,
		"distribution_comparison":      gen.distribution,
		"marker_gene_precision_recall": gen.markerGenes,
		"marker_gene_separation":       gen.markerSeparation,
		"spatial_adjacency":            gen.spatialAdjacency,
		"multiple_choice":              gen.multipleChoice,
		"boolean_check":                gen.booleanCheck,
		"cell_typing":                  gen.cellTyping,
		"proportion_consistency":       gen.proportions,
		"adjusted_mutual_information":  gen.mutualInformation,
	}
}

// members makes an object of keys and values in turns. A nil value leaves its key
// out.
func members(of ...any) *pyvalue.Object {
	o := &pyvalue.Object{}
	for i := 0; i < len(of); i += 2 {
		key, _ := of[i].(string)
		if v, ok := of[i+1].(pyvalue.Value); ok && v != nil {
			o.Set(key, v)
		}
	}
	return o
}

// maybe is v, and nil once in n times.
func (g gen) maybe(n int, v pyvalue.Value) pyvalue.Value {
	if g.sometimes(n) {
		return nil
	}
	return v
}

// number draws from few values, so that some are equal or just a tolerance apart.
func (g gen) number() pyvalue.Value {
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

func (g gen) numberOrText() pyvalue.Value {
	if g.sometimes(5) {
		return one[pyvalue.Value](g, pyvalue.String("1.5"), pyvalue.String(" 2 "), pyvalue.String("one"), pyvalue.Bool(true), pyvalue.Null{})
	}
	return g.number()
}

// list draws up to most values, at least least.
func (g gen) list(least, most int, draw func() pyvalue.Value) pyvalue.List {
	items := pyvalue.List{}
	for range least + g.IntN(most-least+1) {
		items = append(items, draw())
	}
	return items
}

// scoring puts thresholds where most graders look for them.
func (g gen) scoring(thresholds *pyvalue.Object) pyvalue.Value {
	return g.maybe(8, pyvalue.NewObject("scoring", pyvalue.NewObject("pass_thresholds", thresholds)).Get("scoring"))
}

func (g gen) numericTolerance() (*pyvalue.Object, pyvalue.Value) {
	truth, answer, tolerances := &pyvalue.Object{}, &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"n", "type", "a.b", "µ"}[:g.IntN(5)] {
		truth.Set(field, g.number())
		tolerances.Set(field, g.tolerance())
		answer.Set(field, g.numberOrText())
	}
	if g.sometimes(2) {
		answer.Set("a", pyvalue.NewObject("b", g.numberOrText()))
	}
	if g.sometimes(3) {
		flat := g.tolerance()
		for key, v := range flat.All() {
			tolerances.Set(key, v)
		}
	}
	return members("ground_truth", g.maybe(20, truth), one(g, "tolerances", "tolerances", "tolerance"), g.maybe(20, tolerances)), answer
}

func (g gen) tolerance() *pyvalue.Object {
	kind := one[pyvalue.Value](g, pyvalue.String("absolute"), pyvalue.String("relative"), pyvalue.String("min"), pyvalue.String("max"), pyvalue.String("range"), nil)
	return members("type", kind, "value", g.maybe(5, g.number()), "lower", g.maybe(2, g.number()), "upper", g.maybe(2, g.number()))
}

func (g gen) numericRange() (*pyvalue.Object, pyvalue.Value) {
	truth, answer, ranges := &pyvalue.Object{}, &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"n", "a.b", "µ"}[:1+g.IntN(3)] {
		truth.Set(field, pyvalue.NewInt(1+g.Int64N(3)))
		ranges.Set(field, members("min", one[pyvalue.Value](g, pyvalue.NewInt(0), pyvalue.Float(0.5), g.number()), "max", one[pyvalue.Value](g, pyvalue.NewInt(4), g.number())))
		answer.Set(field, g.numberOrText())
	}
	answer.Set("a", pyvalue.NewObject("b", g.numberOrText()))
	return members("ground_truth", g.maybe(20, truth), "ranges", g.maybe(20, ranges)), answer
}

func (g gen) label() pyvalue.Value {
	if g.sometimes(12) {
		return one[pyvalue.Value](g, pyvalue.NewInt(1), pyvalue.Float(1), pyvalue.Bool(true), pyvalue.Float(2), g.awkward())
	}
	return one[pyvalue.Value](g, pyvalue.String("T"), pyvalue.String("B"), pyvalue.String("NK"), pyvalue.String("b"), pyvalue.String("T "))
}

func (g gen) labelSet() (*pyvalue.Object, pyvalue.Value) {
	field := one[pyvalue.Value](g, pyvalue.String("types"), pyvalue.String("cell_types_predicted"), nil)
	threshold := one[pyvalue.Value](g, pyvalue.Float(0.5), pyvalue.Float(0.67), pyvalue.Float(2.0/3), pyvalue.Float(0.25), pyvalue.NewInt(0), pyvalue.NewInt(1), nil)
	config := members("ground_truth_labels", g.maybe(20, g.list(0, 4, g.label)), "scoring", g.maybe(5, members("pass_threshold", threshold)), "answer_field", field)
	name := "cell_types_predicted"
	if field != nil {
		name = pyvalue.Text(field)
	}
	return config, members("n", pyvalue.NewInt(1), name, g.maybe(20, g.list(0, 4, g.label)))
}

func (g gen) distribution() (*pyvalue.Object, pyvalue.Value) {
	percents := func() *pyvalue.Object {
		return members("T", g.maybe(6, g.number()), "B", g.maybe(6, g.number()), "é", g.maybe(3, g.number()), "D", g.maybe(2, g.number()))
	}
	truth := members("total_cells", g.maybe(2, g.number()), "cell_type_distribution", g.maybe(20, percents()))
	tolerances := members("total_cells", g.maybe(2, members("value", g.number())), "cell_type_percentages", g.maybe(4, members("type", pyvalue.String("relative"), "value", g.maybe(4, g.number()))))
	return members("ground_truth", g.maybe(20, truth), "tolerances", g.maybe(10, tolerances)),
		members("total_cells", g.maybe(2, g.number()), "cell_type_distribution", g.maybe(20, percents()))
}

func (g gen) gene() pyvalue.Value {
	if g.sometimes(15) {
		return g.awkward()
	}
	return pyvalue.String(one(g, "Cd3d", "CD3D", "cd3e", "Gzmb", "gzmb ", "ΣΑΣ", "σας", "Straße", "STRASSE"))
}

func (g gen) markerGenes() (*pyvalue.Object, pyvalue.Value) {
	genes := func() pyvalue.Value { return g.list(0, 5, g.gene) }
	byType := func() pyvalue.Value {
		return members("T", g.maybe(5, genes()), "B", g.maybe(5, genes()), "genes", g.maybe(5, genes()))
	}
	either := func() pyvalue.Value { return one(g, genes, byType)() }
	field := one[pyvalue.Value](g, pyvalue.String("genes"), pyvalue.String("T"), nil)
	thresholds := members(
		"precision_at_k", g.maybe(2, g.share()), "recall_at_k", g.maybe(2, g.share()),
		"min_recall_per_celltype", g.maybe(2, g.share()), "min_celltypes_passing", g.maybe(2, pyvalue.NewInt(g.Int64N(3))),
	)
	config := members(one(g, "canonical_markers", "canonical_markers", "ground_truth_labels"), g.maybe(20, either()), "answer_field", field, "scoring", g.scoring(thresholds))
	return config, members("n", pyvalue.NewInt(1), one(g, "genes", "top_marker_genes", "other"), g.maybe(20, either()), "last", g.maybe(2, genes()))
}

// share draws a threshold or a measure between 0 and 1.
func (g gen) share() pyvalue.Value {
	return pyvalue.Float(float64(g.IntN(21)) / 20)
}

func (g gen) markerSeparation() (*pyvalue.Object, pyvalue.Value) {
	stat := func() pyvalue.Value {
		return members("gene", g.maybe(40, g.gene()), "auroc", g.maybe(40, g.share()))
	}
	thresholds := members("mean_auroc", g.maybe(2, g.share()), "fraction_high", g.maybe(2, g.share()), "per_gene_cutoff", g.maybe(2, g.share()))
	return members("scoring", g.scoring(thresholds)), members("per_gene_stats", g.maybe(20, g.list(0, 9, stat)), "mean_auroc", g.maybe(20, g.share()))
}

func (g gen) spatialAdjacency() (*pyvalue.Object, pyvalue.Value) {
	limits := members(
		"max_median_ic_to_pc_um", g.maybe(2, g.number()), "max_p90_ic_to_pc_um", g.maybe(2, g.number()),
		"min_pct_ic_within_15um", g.number(), "min_pct_ic_mixed_within_55um", g.number(),
	)
	claim := one[pyvalue.Value](g, pyvalue.Bool(true), pyvalue.Bool(true), pyvalue.Bool(false), pyvalue.String("no"), pyvalue.NewInt(1), g.awkward())
	answer := members(
		"median_ic_to_pc_um", g.maybe(40, g.number()), "p90_ic_to_pc_um", g.number(), "pct_ic_within_15um", g.number(), "pct_ic_mixed_within_55um", g.number(), "adjacency_pass", g.maybe(20, claim),
	)
	return members("scoring", g.scoring(limits)), answer
}

func (g gen) multipleChoice() (*pyvalue.Object, pyvalue.Value) {
	letter := func() pyvalue.Value {
		return pyvalue.String(one(g, "A", "b", " B\n", "C)", "ß", "SS", "1", "1.0", "true", "None", "", "['b']"))
	}
	config := members("correct_answer", g.maybe(4, letter()))
	if g.sometimes(2) {
		config.Set("correct_answers", one[pyvalue.Value](g, g.list(0, 4, letter), g.list(1, 4, letter), pyvalue.String("BC"), members("A", pyvalue.NewInt(1))))
	}
	return config, members("answer", g.maybe(15, one(g, letter(), letter(), g.awkward())))
}

func (g gen) booleanCheck() (*pyvalue.Object, pyvalue.Value) {
	truth, answer := &pyvalue.Object{}, &pyvalue.Object{}
	for _, field := range []string{"ok", "a.b", "is done"}[:g.IntN(4)] {
		truth.Set(field, pyvalue.Bool(g.sometimes(2)))
		if !g.sometimes(10) {
			answer.Set(field, pyvalue.Bool(g.sometimes(2)))
		}
	}
	return members("ground_truth", truth), answer
}

func (g gen) cellTyping() (*pyvalue.Object, pyvalue.Value) {
	cell := func() pyvalue.Value {
		return members("G1", g.maybe(6, g.number()), "G2", g.maybe(6, g.number()), "G3", g.number())
	}
	markers := pyvalue.List{pyvalue.String("G1"), pyvalue.String("G2"), pyvalue.String("G3"), pyvalue.String("gone")}[:g.IntN(5)]
	medians := &pyvalue.Object{}
	for _, name := range []string{"1", "0", "B cell", "é"}[:g.IntN(5)] {
		medians.Set(name, cell())
	}
	chosen := one[pyvalue.Value](g, pyvalue.String("1"), pyvalue.String("0"), pyvalue.String("B cell"), pyvalue.NewInt(1))
	config := members("markers", g.maybe(20, markers), "thresholds", g.maybe(2, members("auroc", g.share(), "gap_ratio", one[pyvalue.Value](g, pyvalue.NewInt(1), pyvalue.Float(1.15), g.number()))))
	return config, members("chosen_cluster", chosen, "samples_chosen", g.list(0, 6, cell), "samples_other", g.list(0, 6, cell), "cluster_medians", g.maybe(40, medians))
}

func (g gen) proportions() (*pyvalue.Object, pyvalue.Value) {
	types := pyvalue.List{pyvalue.String("T"), pyvalue.String("B"), pyvalue.String("NK"), pyvalue.String("é"), pyvalue.String("T")}[:1+g.IntN(5)]
	draw := one(g, g.number, g.share, func() pyvalue.Value { return pyvalue.NewInt(20 + g.Int64N(5)) })
	samples := pyvalue.List{}
	for i := range one(g, 1, 2, 2, 3, 4) {
		parts := members("T", g.maybe(30, draw()), "B", g.maybe(30, draw()), "NK", draw(), "é", draw())
		samples = append(samples, members("sample", pyvalue.String(fmt.Sprintf("s%d", i)), "proportions", parts))
	}
	thresholds := members("chi2_q_min", g.maybe(2, g.share()), "cramers_v_max", g.maybe(2, g.share()))
	return members("scoring", g.scoring(thresholds), "test", pyvalue.String("chi2")), members("cell_types", g.maybe(30, types), "samples", g.maybe(30, samples))
}

func (g gen) mutualInformation() (*pyvalue.Object, pyvalue.Value) {
	rows, columns := 1+g.IntN(4), 1+g.IntN(4)
	label := func() pyvalue.Value {
		return one[pyvalue.Value](g, pyvalue.String("k0"), pyvalue.String("k1"), pyvalue.String("k2"), pyvalue.String("1"), pyvalue.NewInt(1), pyvalue.Float(1), pyvalue.NewInt(2))
	}
	most := one(g, int64(2), 9, 40)
	count := func() pyvalue.Value {
		if g.sometimes(8) {
			return one[pyvalue.Value](g, pyvalue.Float(0.5), pyvalue.Float(1.5), pyvalue.Float(2.5), pyvalue.String("3"), pyvalue.Bool(true), pyvalue.Float(7))
		}
		return pyvalue.NewInt(g.Int64N(most))
	}
	row := func() pyvalue.Value { return g.list(columns, columns, count) }
	thresholds := members("ami_min", g.maybe(3, one[pyvalue.Value](g, pyvalue.Float(-0.05), pyvalue.Float(-1), pyvalue.NewInt(0))), "ami_max", g.maybe(2, one[pyvalue.Value](g, pyvalue.Null{}, pyvalue.Float(0.2), pyvalue.NewInt(1))))
	return members("scoring", g.scoring(thresholds)), members(
		"clusters", g.maybe(40, g.list(rows, rows, label)), "samples", g.list(columns, columns, label), "contingency", g.maybe(40, g.list(rows, rows, row)),
	)
}
