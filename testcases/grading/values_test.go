package grading_test

import (
	"math"
	"math/big"

	"pgregory.net/rapid"

	"assay/testcases/grading"
)

// values draws JSON values with an inclination to the awkward.
func values() *rapid.Generator[grading.Value] {
	return rapid.Custom(func(t *rapid.T) grading.Value { return drawValue(t, 3) })
}

func drawValue(t *rapid.T, depth int) grading.Value {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return grading.Null{}
	case 1:
		return grading.Bool(rapid.Bool().Draw(t, "bool"))
	case 2:
		return drawInt(t)
	case 3:
		return grading.Float(rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e16, 1e-5, 1e308, 5e-324, 0.1})).Draw(t, "float"))
	case 4:
		return grading.String(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "answer", "1.5", "nan", "it's", `"`, "\xed\xa0\x80", "\u00ad", "value"})).Draw(t, "string"))
	case 5:
		list := grading.List{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	default:
		object := &grading.Object{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object.Set(drawKey(t), drawValue(t, depth-1))
		}
		return object
	}
}

// drawKey draws names that graders look for, so that they find some.
func drawKey(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom([]string{
		"answer", "ground_truth", "tolerances", "tolerance", "type", "value", "lower", "upper", "n", "a.b", "a", "b", "correct_answer", "correct_answers",
		"answer_field", "probes", "code", "expr", "equals", "ranges", "min", "max", "ground_truth_labels", "scoring", "pass_threshold", "pass_thresholds", "cell_types_predicted",
		"cell_type_distribution", "total_cells", "cell_type_percentages", "canonical_markers", "top_marker_genes", "per_gene_stats", "mean_auroc", "gene", "auroc", "adjacency_pass",
	}), rapid.String()).Draw(t, "key")
}

func drawInt(t *rapid.T) grading.Value {
	if rapid.IntRange(0, 9).Draw(t, "huge") > 0 {
		return grading.NewInt(rapid.Int64Range(-1000, 1000).Draw(t, "int"))
	}
	i := new(big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "digits")), uint(rapid.IntRange(0, 2000).Draw(t, "shift")))
	v, err := grading.Decode(i.String())
	if err != nil {
		t.Fatal(err)
	}
	return v
}
