package grading_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// The verdicts equal those of the Python library that other harnesses use. Scores
// differ on purpose in one respect: an early failure scores 0.
func TestAgainstReferenceLibrary(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/reference.jsonl")
	require.NoError(t, err)
	defer file.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		row := pyvaluetest.RequireObject(t, pyvalue.RestoreNonFiniteFloats(pyvaluetest.MustDecode(t, lines.Text())))
		kind := strings.TrimPrefix(pyvalue.Str(row.Get("grader")), "legacy_")
		if kind == "eval_lint" {
			continue // rows of the linter, which has its own test
		}
		seen[kind]++
		t.Run(pyvalue.Str(row.Get("id")), func(t *testing.T) {
			t.Parallel()
			expect := pyvaluetest.RequireObject(t, row.Get("expect"))
			switch kind {
			case "answer_extraction":
				requireReferenceExtraction(t, row, expect)
			case "multi_graders":
				requireReferenceVerdicts(t, row, expect)
			default:
				spec := grading.Spec{Type: kind, Config: row.Get("config")}
				requireReferenceVerdict(t, grading.Grade(t.Context(), spec, grading.Input{Answer: row.Get("answer")}), expect)
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

func requireReferenceVerdict(t *testing.T, got grading.Result, expect *pyvalue.Object) {
	t.Helper()
	require.Equal(t, pyvalue.Value(pyvalue.Bool(got.Passed)), expect.Get("passed"), got.Reasoning)
	require.Empty(t, firstMetricDiff("metrics", expect.Get("metrics"), got.Metrics))
	require.Nil(t, got.Error)
	if !expect.Has("score") {
		return // a grader of the older set
	}
	score := expect.Get("score")
	if !got.Passed && got.Metrics.Len() == 0 {
		score = pyvalue.Float(0)
	}
	require.Equal(t, score, pyvalue.Value(pyvalue.Float(got.Score)))
	if fields := pyvaluetest.RequireObject(t, expect.Get("field_scores")); fields.Len() > 0 {
		require.Equal(t, pyvaluetest.MarshalToString(t, fields), pyvaluetest.MarshalToString(t, got.FieldScores))
	}
}

// requireReferenceVerdicts compares the result of each grader entry with the reference
// library's. An entry that the library could not use has no result there, and must be
// an error here.
func requireReferenceVerdicts(t *testing.T, row, expect *pyvalue.Object) {
	t.Helper()
	entries := pyvaluetest.RequireList(t, pyvaluetest.RequireObject(t, row.Get("config")).Get("graders"))
	results := pyvaluetest.RequireList(t, pyvaluetest.RequireObject(t, expect.Get("metrics")).Get("results"))
	for i, item := range entries {
		entry := pyvaluetest.RequireObject(t, item)
		kind, _ := entry.Get("type").(pyvalue.String)
		spec := grading.Spec{Type: string(kind), Config: entry.Get("config")}
		got := grading.Grade(t.Context(), spec, grading.Input{Answer: row.Get("answer")})
		if results[i] == (pyvalue.Null{}) {
			require.Equal(t, "unknown_grader", got.Error.Kind)
			continue
		}
		requireReferenceVerdict(t, got, pyvaluetest.RequireObject(t, results[i]))
	}
}

func requireReferenceExtraction(t *testing.T, row, expect *pyvalue.Object) {
	t.Helper()
	got, err := grading.ExtractAnswerFromSummary(pyvalue.Str(row.Get("answer")))
	require.NoError(t, err)
	require.Equal(t, expect.Get("passed") == pyvalue.Bool(true), got.Answer != nil, got.Reason)
	if got.Answer != nil {
		require.Equal(t, pyvaluetest.MarshalToString(t, pyvaluetest.RequireObject(t, expect.Get("metrics")).Get("extracted")), pyvaluetest.MarshalToString(t, got.Answer))
	}
}
