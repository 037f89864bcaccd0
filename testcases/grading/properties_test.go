package grading_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// answerGraderTypes returns the names of the grader types that read only the answer.
func answerGraderTypes() []string {
	return slices.DeleteFunc(grading.GraderTypeNames(), func(kind string) bool {
		return slices.Contains([]string{"command", "kernel_check", "llm_judge", "notebook_check"}, kind)
	})
}

// drawPlausibleInput draws a config and an answer for the grader type kind that match
// each other, and also returns the generator that drew them.
func drawPlausibleInput(t *rapid.T, kind string) (config *pyvalue.Object, answer pyvalue.Value, g valueGenerator) {
	g = valueGenerator{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
	draw := plausibleDrawsByType()[kind]
	require.NotNil(t, draw, kind)
	config, answer = draw(g)
	return config, answer, g
}

func gradeOneAnswer(t *rapid.T, kind string, config, answer pyvalue.Value) grading.Result {
	return grading.Grade(t.Context(), grading.Spec{Type: kind, Config: config}, grading.Input{Answer: answer})
}

// Any config and answer give a consistent result without a panic, and the result
// survives JSON.
func TestAnyConfigAnyAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(answerGraderTypes()).Draw(t, "type")
		config, answer := pyvaluetest.ValueGenerator().Draw(t, "config"), pyvaluetest.ValueGenerator().Draw(t, "answer")
		if plausibleDrawsByType()[kind] != nil && rapid.IntRange(0, 3).Draw(t, "plausible") > 0 {
			c, a, g := drawPlausibleInput(t, kind)
			config, answer = g.mutateObject(c), g.mutateValue(g.mutateValue(a))
		}
		got := gradeOneAnswer(t, kind, config, answer)
		require.True(t, 0 <= got.Score && got.Score <= 1)
		require.NotEmpty(t, got.Reasoning)
		if got.FieldScores == nil {
			require.Equal(t, got.Passed, got.Score == 1, "%s", got.Reasoning)
		}
		if got.Error != nil {
			require.NotEqual(t, "panic", got.Error.Kind, got.Error.Text)
			require.False(t, got.Passed)
			require.Zero(t, got.Score)
			require.Zero(t, got.Metrics.Len())
		}
		out, err := json.Marshal(got)
		require.NoError(t, err)
		again, err := pyvalue.Decode(string(out))
		require.NoError(t, err)
		object, _ := again.(*pyvalue.Object)
		require.Equal(t, marshalResult(got.Metrics), marshalResult(object.Get("metrics")))
	})
}

func marshalResult(v pyvalue.Value) string {
	out, err := v.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// A grader's verdict equals the conditions of a pass, calculated from its metrics.
func TestVerdictFollowsFromMetrics(t *testing.T) {
	t.Parallel()
	conditions := passConditionsByType()
	kinds := []string{}
	for kind := range conditions {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "type")
		config, answer, _ := drawPlausibleInput(t, kind)
		got := gradeOneAnswer(t, kind, config, answer)
		if got.Error == nil && got.Metrics.Len() > 0 {
			require.Equal(t, conditions[kind](metricsReader{got.Metrics}, config), got.Passed, "%s\n%s", got.Reasoning, marshalResult(got.Metrics))
		}
	})
}

// metricsReader reads a result's metrics as float64, which is exact enough for the
// drawn values.
type metricsReader struct{ *pyvalue.Object }

func (m metricsReader) numberMetric(key string) float64 { return metricAsFloat(m.Get(key)) }

func (m metricsReader) lengthMetric(key string) float64 {
	items, _ := m.Get(key).(pyvalue.List)
	return float64(len(items))
}

func metricAsFloat(v pyvalue.Value) float64 {
	switch v := v.(type) {
	case pyvalue.Bool:
		if v {
			return 1
		}
		return 0
	case pyvalue.Int:
		f, _ := v.Big().Float64()
		return f
	case pyvalue.Float:
		return float64(v)
	default:
		return math.NaN()
	}
}

// holdsForNamesWithMetric reports whether holds returns true for each name that has a metric with
// this ending.
func (m metricsReader) holdsForNamesWithMetric(ending string, holds func(name string) bool) bool {
	for key := range m.All() {
		if name, ok := strings.CutSuffix(key, ending); ok && !holds(name) {
			return false
		}
	}
	return true
}

func passConditionsByType() map[string]func(m metricsReader, config *pyvalue.Object) bool {
	labels := func(m metricsReader, _ *pyvalue.Object) bool {
		both := m.lengthMetric("true_positives")
		all := both + m.lengthMetric("false_positives") + m.lengthMetric("false_negatives")
		return both/max(1, all) >= m.numberMetric("pass_threshold")
	}
	adjacent := func(m metricsReader, _ *pyvalue.Object) bool {
		claim := pyvalue.Str(m.Get("adjacency_pass"))
		return m.numberMetric("median_ic_to_pc_um") <= m.numberMetric("max_median_threshold") && m.numberMetric("p90_ic_to_pc_um") <= m.numberMetric("max_p90_threshold") &&
			m.numberMetric("pct_ic_within_15um") >= m.numberMetric("min_pct_15um_threshold") && m.numberMetric("pct_ic_mixed_within_55um") >= m.numberMetric("min_pct_55um_threshold") &&
			!slices.Contains([]string{"", "0", "0.0", "-0.0", "False", "None", "[]", "{}"}, claim)
	}
	return map[string]func(m metricsReader, config *pyvalue.Object) bool{
		"label_set_jaccard": labels,
		"jaccard_label_set": labels,
		"spatial_adjacency": adjacent,
		"numeric_range": func(m metricsReader, _ *pyvalue.Object) bool {
			return m.holdsForNamesWithMetric("_pass", func(n string) bool {
				return m.numberMetric(n+"_min") < m.numberMetric(n+"_actual") && m.numberMetric(n+"_actual") < m.numberMetric(n+"_max")
			})
		},
		"distribution_comparison": func(m metricsReader, config *pyvalue.Object) bool {
			tolerances, _ := config.Get("tolerances").(*pyvalue.Object)
			return m.holdsForNamesWithMetric("_pass", func(n string) bool {
				limit, key := 3.0, "cell_type_percentages"
				if n == "total_cells" {
					limit, key = 0, n
				}
				if entry, _ := tolerances.Get(key).(*pyvalue.Object); entry.Has("value") {
					limit = metricAsFloat(entry.Get("value"))
				}
				return math.Abs(m.numberMetric(n+"_actual")-m.numberMetric(n+"_expected")) <= limit
			})
		},
		"marker_gene_separation": func(m metricsReader, _ *pyvalue.Object) bool {
			return m.numberMetric("mean_auroc_agent") >= m.numberMetric("mean_auroc_threshold") && m.lengthMetric("high_auroc_genes")/m.numberMetric("num_genes") >= m.numberMetric("fraction_high_threshold")
		},
		"marker_gene_precision_recall": func(m metricsReader, _ *pyvalue.Object) bool {
			if perType, ok := m.Get("per_celltype").(*pyvalue.Object); ok {
				return countPassingTypes(perType, m.numberMetric("min_recall_per_celltype")) >= m.numberMetric("min_celltypes_passing")
			}
			both := m.lengthMetric("true_positives")
			return both/max(1, m.numberMetric("k")) >= m.numberMetric("precision_threshold") && both/max(1, both+m.lengthMetric("false_negatives")) >= m.numberMetric("recall_threshold")
		},
	}
}

func countPassingTypes(perType *pyvalue.Object, least float64) (n float64) {
	for _, v := range perType.All() {
		one, _ := v.(*pyvalue.Object)
		m := metricsReader{one}
		if canonical := m.numberMetric("num_canonical"); canonical == 0 && least <= 1 || m.lengthMetric("true_positives")/canonical >= least {
			n++
		}
	}
	return n
}

// The order of labels, genes and cell types does not change a grader's verdict.
func TestOrderOfItemsDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"label_set_jaccard", "marker_gene_precision_recall", "distribution_comparison"}).Draw(t, "type")
		config, answer, g := drawPlausibleInput(t, kind)
		if object, ok := answer.(*pyvalue.Object); ok && kind == "marker_gene_precision_recall" {
			config.Set("answer_field", pyvalue.String(keysOfObject(object)[object.Len()-1])) // else the first list is graded
		}
		before, after := gradeOneAnswer(t, kind, config, answer), gradeOneAnswer(t, kind, shuffleKeysAndItems(g, config), shuffleKeysAndItems(g, answer))
		require.Equal(t, before.Passed, after.Passed, "%s\n%s", before.Reasoning, after.Reasoning)
		require.Equal(t, before.Error == nil, after.Error == nil)
	})
}

// shuffleKeysAndItems returns v with all keys and items in random order.
func shuffleKeysAndItems(g valueGenerator, v pyvalue.Value) pyvalue.Value {
	switch v := v.(type) {
	case pyvalue.List:
		items := pyvalue.List{}
		for _, i := range g.Perm(len(v)) {
			items = append(items, shuffleKeysAndItems(g, v[i]))
		}
		return items
	case *pyvalue.Object:
		items, names := &pyvalue.Object{}, keysOfObject(v)
		for _, i := range g.Perm(len(names)) {
			items.Set(names[i], shuffleKeysAndItems(g, v.Get(names[i])))
		}
		return items
	default:
		return v
	}
}

// An answer that passes also passes with a lower threshold, a wider range or a larger
// tolerance; except that a lower per_gene_cutoff can bring genes of different types, a
// string and an integer, into one list, which Python cannot sort.
func TestEasierThresholdsNeverFail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{
			"distribution_comparison", "label_set_jaccard", "marker_gene_precision_recall", "marker_gene_separation", "numeric_range", "proportion_consistency", "spatial_adjacency",
		}).Draw(t, "type")
		config, answer, _ := drawPlausibleInput(t, kind)
		easier := withEasierThresholds(config, "", rapid.Float64Range(0, 2).Draw(t, "by"))
		before, after := gradeOneAnswer(t, kind, config, answer), gradeOneAnswer(t, kind, easier, answer)
		unsortable := kind == "marker_gene_separation" && after.Error != nil && strings.Contains(after.Error.Text, "cannot order")
		if before.Passed && !unsortable {
			require.True(t, after.Passed, "%s\n%s", before.Reasoning, after.Reasoning)
		}
	})
}

// withEasierThresholds returns a grader config in which every threshold, known by its
// name, is easier to meet by this much.
func withEasierThresholds(v pyvalue.Value, name string, by float64) pyvalue.Value {
	if object, ok := v.(*pyvalue.Object); ok {
		easier := &pyvalue.Object{}
		for key, item := range object.All() {
			easier.Set(key, withEasierThresholds(item, key, by))
		}
		return easier
	}
	f := metricAsFloat(v)
	switch {
	case math.IsNaN(f):
		return v
	case name == "value" || name == "max" || strings.HasPrefix(name, "max_") || strings.HasSuffix(name, "_max"):
		return pyvalue.Float(f + by)
	case name == "min" || strings.HasPrefix(name, "min_") || strings.HasSuffix(name, "_min") ||
		slices.Contains([]string{"pass_threshold", "precision_at_k", "recall_at_k", "mean_auroc", "fraction_high", "per_gene_cutoff"}, name):
		return pyvalue.Float(f - by)
	}
	return v
}
