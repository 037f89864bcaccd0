package grading_test

import (
	"fmt"

	"assay/testcases/grading"
)

// plausible draws a config and an answer for each grader.
func plausible() map[string]func(gen) (config *grading.Object, answer grading.Value) {
	return map[string]func(gen) (*grading.Object, grading.Value){
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
func members(of ...any) *grading.Object {
	o := &grading.Object{}
	for i := 0; i < len(of); i += 2 {
		key, _ := of[i].(string)
		if v, ok := of[i+1].(grading.Value); ok && v != nil {
			o.Set(key, v)
		}
	}
	return o
}

// maybe is v, and nil once in n times.
func (g gen) maybe(n int, v grading.Value) grading.Value {
	if g.sometimes(n) {
		return nil
	}
	return v
}

// number draws from few values, so that some are equal or just a tolerance apart.
func (g gen) number() grading.Value {
	switch g.IntN(4) {
	case 0:
		return grading.NewInt(g.Int64N(5))
	case 1:
		return grading.Float(float64(g.IntN(21)) / 20)
	case 2:
		return grading.Float(float64(g.IntN(41)) / 10)
	default:
		return grading.Float(g.Float64() * 4)
	}
}

func (g gen) numberOrText() grading.Value {
	if g.sometimes(5) {
		return one[grading.Value](g, grading.String("1.5"), grading.String(" 2 "), grading.String("one"), grading.Bool(true), grading.Null{})
	}
	return g.number()
}

// list draws up to most values, at least least.
func (g gen) list(least, most int, draw func() grading.Value) grading.List {
	items := grading.List{}
	for range least + g.IntN(most-least+1) {
		items = append(items, draw())
	}
	return items
}

// scoring puts thresholds where most graders look for them.
func (g gen) scoring(thresholds *grading.Object) grading.Value {
	return g.maybe(8, grading.NewObject("scoring", grading.NewObject("pass_thresholds", thresholds)).Get("scoring"))
}

func (g gen) numericTolerance() (*grading.Object, grading.Value) {
	truth, answer, tolerances := &grading.Object{}, &grading.Object{}, &grading.Object{}
	for _, field := range []string{"n", "type", "a.b", "µ"}[:g.IntN(5)] {
		truth.Set(field, g.number())
		tolerances.Set(field, g.tolerance())
		answer.Set(field, g.numberOrText())
	}
	if g.sometimes(2) {
		answer.Set("a", grading.NewObject("b", g.numberOrText()))
	}
	if g.sometimes(3) {
		flat := g.tolerance()
		for key, v := range flat.All() {
			tolerances.Set(key, v)
		}
	}
	return members("ground_truth", g.maybe(20, truth), one(g, "tolerances", "tolerances", "tolerance"), g.maybe(20, tolerances)), answer
}

func (g gen) tolerance() *grading.Object {
	kind := one[grading.Value](g, grading.String("absolute"), grading.String("relative"), grading.String("min"), grading.String("max"), grading.String("range"), nil)
	return members("type", kind, "value", g.maybe(5, g.number()), "lower", g.maybe(2, g.number()), "upper", g.maybe(2, g.number()))
}

func (g gen) numericRange() (*grading.Object, grading.Value) {
	truth, answer, ranges := &grading.Object{}, &grading.Object{}, &grading.Object{}
	for _, field := range []string{"n", "a.b", "µ"}[:1+g.IntN(3)] {
		truth.Set(field, grading.NewInt(1+g.Int64N(3)))
		ranges.Set(field, members("min", one[grading.Value](g, grading.NewInt(0), grading.Float(0.5), g.number()), "max", one[grading.Value](g, grading.NewInt(4), g.number())))
		answer.Set(field, g.numberOrText())
	}
	answer.Set("a", grading.NewObject("b", g.numberOrText()))
	return members("ground_truth", g.maybe(20, truth), "ranges", g.maybe(20, ranges)), answer
}

func (g gen) label() grading.Value {
	if g.sometimes(12) {
		return one[grading.Value](g, grading.NewInt(1), grading.Float(1), grading.Bool(true), grading.Float(2), g.awkward())
	}
	return one[grading.Value](g, grading.String("T"), grading.String("B"), grading.String("NK"), grading.String("b"), grading.String("T "))
}

func (g gen) labelSet() (*grading.Object, grading.Value) {
	field := one[grading.Value](g, grading.String("types"), grading.String("cell_types_predicted"), nil)
	threshold := one[grading.Value](g, grading.Float(0.5), grading.Float(0.67), grading.Float(2.0/3), grading.Float(0.25), grading.NewInt(0), grading.NewInt(1), nil)
	config := members("ground_truth_labels", g.maybe(20, g.list(0, 4, g.label)), "scoring", g.maybe(5, members("pass_threshold", threshold)), "answer_field", field)
	name := "cell_types_predicted"
	if field != nil {
		name = grading.Text(field)
	}
	return config, members("n", grading.NewInt(1), name, g.maybe(20, g.list(0, 4, g.label)))
}

func (g gen) distribution() (*grading.Object, grading.Value) {
	percents := func() *grading.Object {
		return members("T", g.maybe(6, g.number()), "B", g.maybe(6, g.number()), "é", g.maybe(3, g.number()), "D", g.maybe(2, g.number()))
	}
	truth := members("total_cells", g.maybe(2, g.number()), "cell_type_distribution", g.maybe(20, percents()))
	tolerances := members("total_cells", g.maybe(2, members("value", g.number())), "cell_type_percentages", g.maybe(4, members("type", grading.String("relative"), "value", g.maybe(4, g.number()))))
	return members("ground_truth", g.maybe(20, truth), "tolerances", g.maybe(10, tolerances)),
		members("total_cells", g.maybe(2, g.number()), "cell_type_distribution", g.maybe(20, percents()))
}

func (g gen) gene() grading.Value {
	if g.sometimes(15) {
		return g.awkward()
	}
	return grading.String(one(g, "Cd3d", "CD3D", "cd3e", "Gzmb", "gzmb ", "ΣΑΣ", "σας", "Straße", "STRASSE"))
}

func (g gen) markerGenes() (*grading.Object, grading.Value) {
	genes := func() grading.Value { return g.list(0, 5, g.gene) }
	byType := func() grading.Value {
		return members("T", g.maybe(5, genes()), "B", g.maybe(5, genes()), "genes", g.maybe(5, genes()))
	}
	either := func() grading.Value { return one(g, genes, byType)() }
	field := one[grading.Value](g, grading.String("genes"), grading.String("T"), nil)
	thresholds := members(
		"precision_at_k", g.maybe(2, g.share()), "recall_at_k", g.maybe(2, g.share()),
		"min_recall_per_celltype", g.maybe(2, g.share()), "min_celltypes_passing", g.maybe(2, grading.NewInt(g.Int64N(3))),
	)
	config := members(one(g, "canonical_markers", "canonical_markers", "ground_truth_labels"), g.maybe(20, either()), "answer_field", field, "scoring", g.scoring(thresholds))
	return config, members("n", grading.NewInt(1), one(g, "genes", "top_marker_genes", "other"), g.maybe(20, either()), "last", g.maybe(2, genes()))
}

// share draws a threshold or a measure between 0 and 1.
func (g gen) share() grading.Value {
	return grading.Float(float64(g.IntN(21)) / 20)
}

func (g gen) markerSeparation() (*grading.Object, grading.Value) {
	stat := func() grading.Value {
		return members("gene", g.maybe(40, g.gene()), "auroc", g.maybe(40, g.share()))
	}
	thresholds := members("mean_auroc", g.maybe(2, g.share()), "fraction_high", g.maybe(2, g.share()), "per_gene_cutoff", g.maybe(2, g.share()))
	return members("scoring", g.scoring(thresholds)), members("per_gene_stats", g.maybe(20, g.list(0, 9, stat)), "mean_auroc", g.maybe(20, g.share()))
}

func (g gen) spatialAdjacency() (*grading.Object, grading.Value) {
	limits := members(
		"max_median_ic_to_pc_um", g.maybe(2, g.number()), "max_p90_ic_to_pc_um", g.maybe(2, g.number()),
		"min_pct_ic_within_15um", g.number(), "min_pct_ic_mixed_within_55um", g.number(),
	)
	claim := one[grading.Value](g, grading.Bool(true), grading.Bool(true), grading.Bool(false), grading.String("no"), grading.NewInt(1), g.awkward())
	answer := members(
		"median_ic_to_pc_um", g.maybe(40, g.number()), "p90_ic_to_pc_um", g.number(), "pct_ic_within_15um", g.number(), "pct_ic_mixed_within_55um", g.number(), "adjacency_pass", g.maybe(20, claim),
	)
	return members("scoring", g.scoring(limits)), answer
}

func (g gen) multipleChoice() (*grading.Object, grading.Value) {
	letter := func() grading.Value {
		return grading.String(one(g, "A", "b", " B\n", "C)", "ß", "SS", "1", "1.0", "true", "None", "", "['b']"))
	}
	config := members("correct_answer", g.maybe(4, letter()))
	if g.sometimes(2) {
		config.Set("correct_answers", one[grading.Value](g, g.list(0, 4, letter), g.list(1, 4, letter), grading.String("BC"), members("A", grading.NewInt(1))))
	}
	return config, members("answer", g.maybe(15, one(g, letter(), letter(), g.awkward())))
}

func (g gen) booleanCheck() (*grading.Object, grading.Value) {
	truth, answer := &grading.Object{}, &grading.Object{}
	for _, field := range []string{"ok", "a.b", "is done"}[:g.IntN(4)] {
		truth.Set(field, grading.Bool(g.sometimes(2)))
		if !g.sometimes(10) {
			answer.Set(field, grading.Bool(g.sometimes(2)))
		}
	}
	return members("ground_truth", truth), answer
}

func (g gen) cellTyping() (*grading.Object, grading.Value) {
	cell := func() grading.Value {
		return members("G1", g.maybe(6, g.number()), "G2", g.maybe(6, g.number()), "G3", g.number())
	}
	markers := grading.List{grading.String("G1"), grading.String("G2"), grading.String("G3"), grading.String("gone")}[:g.IntN(5)]
	medians := &grading.Object{}
	for _, name := range []string{"1", "0", "B cell", "é"}[:g.IntN(5)] {
		medians.Set(name, cell())
	}
	chosen := one[grading.Value](g, grading.String("1"), grading.String("0"), grading.String("B cell"), grading.NewInt(1))
	config := members("markers", g.maybe(20, markers), "thresholds", g.maybe(2, members("auroc", g.share(), "gap_ratio", one[grading.Value](g, grading.NewInt(1), grading.Float(1.15), g.number()))))
	return config, members("chosen_cluster", chosen, "samples_chosen", g.list(0, 6, cell), "samples_other", g.list(0, 6, cell), "cluster_medians", g.maybe(40, medians))
}

func (g gen) proportions() (*grading.Object, grading.Value) {
	types := grading.List{grading.String("T"), grading.String("B"), grading.String("NK"), grading.String("é"), grading.String("T")}[:1+g.IntN(5)]
	draw := one(g, g.number, g.share, func() grading.Value { return grading.NewInt(20 + g.Int64N(5)) })
	samples := grading.List{}
	for i := range one(g, 1, 2, 2, 3, 4) {
		parts := members("T", g.maybe(30, draw()), "B", g.maybe(30, draw()), "NK", draw(), "é", draw())
		samples = append(samples, members("sample", grading.String(fmt.Sprintf("s%d", i)), "proportions", parts))
	}
	thresholds := members("chi2_q_min", g.maybe(2, g.share()), "cramers_v_max", g.maybe(2, g.share()))
	return members("scoring", g.scoring(thresholds), "test", grading.String("chi2")), members("cell_types", g.maybe(30, types), "samples", g.maybe(30, samples))
}

func (g gen) mutualInformation() (*grading.Object, grading.Value) {
	rows, columns := 1+g.IntN(4), 1+g.IntN(4)
	label := func() grading.Value {
		return one[grading.Value](g, grading.String("k0"), grading.String("k1"), grading.String("k2"), grading.String("1"), grading.NewInt(1), grading.Float(1), grading.NewInt(2))
	}
	most := one(g, int64(2), 9, 40)
	count := func() grading.Value {
		if g.sometimes(8) {
			return one[grading.Value](g, grading.Float(0.5), grading.Float(1.5), grading.Float(2.5), grading.String("3"), grading.Bool(true), grading.Float(7))
		}
		return grading.NewInt(g.Int64N(most))
	}
	row := func() grading.Value { return g.list(columns, columns, count) }
	thresholds := members("ami_min", g.maybe(3, one[grading.Value](g, grading.Float(-0.05), grading.Float(-1), grading.NewInt(0))), "ami_max", g.maybe(2, one[grading.Value](g, grading.Null{}, grading.Float(0.2), grading.NewInt(1))))
	return members("scoring", g.scoring(thresholds)), members(
		"clusters", g.maybe(40, g.list(rows, rows, label)), "samples", g.list(columns, columns, label), "contingency", g.maybe(40, g.list(rows, rows, row)),
	)
}
