// Package pyvaluetest has helpers for tests that use values of package pyvalue.
package pyvaluetest

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/testcases/grading/pyvalue"
)

// MustDecode decodes a JSON text. A malformed text fails the test.
func MustDecode(t *testing.T, text string) pyvalue.Value {
	t.Helper()
	v, err := pyvalue.Decode(text)
	require.NoError(t, err, text)
	return v
}

// RequireObject returns v as an object. A value of another kind fails the test.
func RequireObject(t *testing.T, v pyvalue.Value) *pyvalue.Object {
	t.Helper()
	o, ok := v.(*pyvalue.Object)
	require.True(t, ok, pyvalue.KindOf(v))
	return o
}

// RequireList returns v as a list. A value of another kind fails the test.
func RequireList(t *testing.T, v pyvalue.Value) pyvalue.List {
	t.Helper()
	l, ok := v.(pyvalue.List)
	require.True(t, ok, pyvalue.KindOf(v))
	return l
}

// MarshalToString returns the JSON of v as text, which shows the order of keys and the
// difference between 1 and 1.0.
func MarshalToString(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

// ValueGenerator generates JSON values with up to three levels, many special cases
// among them, for property tests.
func ValueGenerator() *rapid.Generator[pyvalue.Value] {
	return rapid.Custom(func(t *rapid.T) pyvalue.Value { return drawValue(t, 3) })
}

func drawValue(t *rapid.T, depth int) pyvalue.Value {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return pyvalue.Null{}
	case 1:
		return pyvalue.Bool(rapid.Bool().Draw(t, "bool"))
	case 2:
		return drawInt(t)
	case 3:
		return pyvalue.Float(rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e16, 1e-5, 1e308, 5e-324, 0.1})).Draw(t, "float"))
	case 4:
		return pyvalue.String(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "answer", "1.5", "nan", "it's", `"`, "\xed\xa0\x80", "\u00ad", "value"})).Draw(t, "string"))
	case 5:
		list := pyvalue.List{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	default:
		object := &pyvalue.Object{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object.Set(DrawKey(t), drawValue(t, depth-1))
		}
		return object
	}
}

// DrawKey draws a key of an object: often one that graders look for, otherwise any
// text.
func DrawKey(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom([]string{
		"answer", "ground_truth", "tolerances", "tolerance", "type", "value", "lower", "upper", "n", "a.b", "a", "b", "correct_answer", "correct_answers",
		"answer_field", "probes", "code", "expr", "equals", "ranges", "min", "max", "ground_truth_labels", "scoring", "pass_threshold", "pass_thresholds", "cell_types_predicted",
		"cell_type_distribution", "total_cells", "cell_type_percentages", "canonical_markers", "top_marker_genes", "per_gene_stats", "mean_auroc", "gene", "auroc", "adjacency_pass",
	}), rapid.String()).Draw(t, "key")
}

func drawInt(t *rapid.T) pyvalue.Value {
	if rapid.IntRange(0, 9).Draw(t, "huge") > 0 {
		return pyvalue.NewInt(rapid.Int64Range(-1000, 1000).Draw(t, "int"))
	}
	i := new(big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "digits")), uint(rapid.IntRange(0, 2000).Draw(t, "shift")))
	v, err := pyvalue.Decode(i.String())
	if err != nil {
		t.Fatal(err)
	}
	return v
}
