package grading_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
)

// TestReference grades what the library that other harnesses use has graded,
// and wants its verdicts. Its scores differ where ours do on purpose: an
// early failure scores 0.
func TestReference(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/reference.jsonl")
	require.NoError(t, err)
	defer file.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		row := object(t, grading.RestoreFloats(decode(t, lines.Text())))
		kind := strings.TrimPrefix(grading.Text(row.Get("grader")), "legacy_")
		if kind == "eval_lint" {
			continue // the rows of the linter, which has a test of its own
		}
		seen[kind]++
		t.Run(grading.Text(row.Get("id")), func(t *testing.T) {
			t.Parallel()
			expect := object(t, row.Get("expect"))
			switch kind {
			case "answer_extraction":
				checkExtraction(t, row, expect)
			case "multi_graders":
				checkSeveral(t, row, expect)
			default:
				spec := grading.Spec{Type: kind, Config: row.Get("config")}
				checkVerdict(t, grading.Grade(t.Context(), spec, grading.Input{Answer: row.Get("answer")}), expect)
			}
		})
	}
	want := map[string]int{}
	for _, kind := range []string{
		"adjusted_mutual_information", "answer_extraction", "boolean_check", "cell_typing", "distribution_comparison", "jaccard_label_set", "label_set_jaccard", "marker_gene_precision_recall",
		"marker_gene_separation", "multi_graders", "multiple_choice", "numeric_range", "numeric_tolerance", "proportion_consistency", "spatial_adjacency", "spatial_adjacency_simple",
	} {
		want[kind] = 10
	}
	require.Equal(t, want, seen)
}

func checkVerdict(t *testing.T, got grading.Result, expect *grading.Object) {
	t.Helper()
	require.Equal(t, grading.Value(grading.Bool(got.Passed)), expect.Get("passed"), got.Reasoning)
	require.Empty(t, differentMetric("metrics", expect.Get("metrics"), got.Metrics))
	require.Nil(t, got.Error)
	if !expect.Has("score") {
		return // a grader of the older set
	}
	score := expect.Get("score")
	if !got.Passed && got.Metrics.Len() == 0 {
		score = grading.Float(0)
	}
	require.Equal(t, score, grading.Value(grading.Float(got.Score)))
	if fields := object(t, expect.Get("field_scores")); fields.Len() > 0 {
		require.Equal(t, asJSON(t, fields), asJSON(t, got.FieldScores))
	}
}

// checkSeveral compares each entry's result. An entry that the library could
// not use has none there, and an error here.
func checkSeveral(t *testing.T, row, expect *grading.Object) {
	t.Helper()
	entries := list(t, object(t, row.Get("config")).Get("graders"))
	results := list(t, object(t, expect.Get("metrics")).Get("results"))
	for i, item := range entries {
		entry := object(t, item)
		kind, _ := entry.Get("type").(grading.String)
		spec := grading.Spec{Type: string(kind), Config: entry.Get("config")}
		got := grading.Grade(t.Context(), spec, grading.Input{Answer: row.Get("answer")})
		if results[i] == (grading.Null{}) {
			require.Equal(t, "unknown_grader", got.Error.Kind)
			continue
		}
		checkVerdict(t, got, object(t, results[i]))
	}
}

func checkExtraction(t *testing.T, row, expect *grading.Object) {
	t.Helper()
	got, err := grading.ExtractSummary(grading.Text(row.Get("answer")))
	require.NoError(t, err)
	require.Equal(t, expect.Get("passed") == grading.Bool(true), got.Answer != nil, got.Reason)
	if got.Answer != nil {
		require.Equal(t, asJSON(t, object(t, expect.Get("metrics")).Get("extracted")), asJSON(t, got.Answer))
	}
}

// asJSON keeps order and the difference between 1 and 1.0.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
