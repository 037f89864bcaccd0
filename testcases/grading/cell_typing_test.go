package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue/pyvaluetest"
)

const (
	oneMarker  = `{"markers": ["g"]}`
	clearlyTop = `{"a": {"g": 4}, "b": {"g": 2}}`
)

// cellTypingAnswer returns a cell_typing answer, as JSON, that chose cluster a.
func cellTypingAnswer(chosen, others, medians string) string {
	return fmt.Sprintf(`{"chosen_cluster": "a", "samples_chosen": %s, "samples_other": %s, "cluster_medians": %s}`, chosen, others, medians)
}

func TestCellTyping(t *testing.T) {
	t.Parallel()
	const high, low = `[{"g": 2}, {"g": 3}]`, `[{"g": 1}]`
	chose := func(chosen string) string {
		return `{"chosen_cluster": ` + chosen + `, "samples_chosen": ` + high + `, "samples_other": ` + low + `, "cluster_medians": ` + clearlyTop + `}`
	}
	thresholds := func(text string) string { return `{"markers": ["g"], "thresholds": ` + text + `}` }
	runGraderTestRows(t, "cell_typing", map[string]graderTestRow{
		"top": {oneMarker, chose(`"a"`), "pass", `{"geneset_auroc": 1.0, "chosen_cluster_median_score": 4.0, "top_cluster": "a", "top_cluster_median_score": 4.0,
			"second_best_cluster": "b", "second_best_median_score": 2.0, "gap_ratio": 2.0, "is_top_cluster": true, "auroc_pass": true, "gap_pass": true}`},
		"second":                        {oneMarker, chose(`"b"`), "fail", `{"chosen_cluster_median_score": 2.0, "is_top_cluster": false, "auroc_pass": true, "gap_pass": true}`},
		"unknown":                       {oneMarker, chose(`"c"`), "fail", `{"chosen_cluster_median_score": 0.0, "is_top_cluster": false}`},
		"a number is no name":           {oneMarker, chose(`1`), "fail", `{"chosen_cluster_median_score": 0.0}`},
		"null is no name":               {oneMarker, chose(`null`), "fail", `{"is_top_cluster": false}`},
		"a list as the name":            {oneMarker, chose(`["a"]`), "type_error", ""},
		"on the thresholds":             {thresholds(`{"auroc": 1, "gap_ratio": 2}`), chose(`"a"`), "pass", `{"auroc_pass": true, "gap_pass": true}`},
		"gap just missed":               {thresholds(`{"auroc": 1, "gap_ratio": ` + nextFloatAbove(2) + `}`), chose(`"a"`), "fail", `{"gap_pass": false}`},
		"AUROC just missed":             {thresholds(`{"auroc": ` + nextFloatAbove(1) + `, "gap_ratio": 2}`), chose(`"a"`), "fail", `{"auroc_pass": false}`},
		"a huge threshold":              {thresholds(`{"auroc": ` + hugeInteger() + `, "gap_ratio": 2}`), chose(`"a"`), "fail", `{"auroc_pass": false}`},
		"a threshold is missing":        {thresholds(`{"auroc": 1}`), chose(`"a"`), "key_error", ""},
		"the other is missing":          {thresholds(`{"gap_ratio": 1}`), chose(`"a"`), "key_error", ""},
		"thresholds null":               {thresholds(`null`), chose(`"a"`), "type_error", ""},
		"threshold null":                {thresholds(`{"auroc": null, "gap_ratio": 1}`), chose(`"a"`), "type_error", ""},
		"threshold text":                {thresholds(`{"auroc": 1, "gap_ratio": "1"}`), chose(`"a"`), "type_error", ""},
		"no sample chosen":              {oneMarker, cellTypingAnswer(`[]`, low, clearlyTop), "fail", ""},
		"no other sample":               {oneMarker, cellTypingAnswer(high, `[]`, clearlyTop), "fail", ""},
		"a sample of NaN":               {oneMarker, cellTypingAnswer(`[{"g": NaN}]`, low, clearlyTop), "fail", ""},
		"an infinite sample":            {oneMarker, cellTypingAnswer(high, `[{"g": -Infinity}]`, clearlyTop), "fail", ""},
		"one cluster":                   {oneMarker, cellTypingAnswer(high, low, `{"a": {"g": 4}}`), "fail", ""},
		"no cluster":                    {oneMarker, cellTypingAnswer(high, low, `{}`), "fail", ""},
		"a tie goes to the first":       {`{"markers": ["g"], "thresholds": {"auroc": 0, "gap_ratio": 1}}`, cellTypingAnswer(high, low, `{"z": {"g": 1}, "b": {"g": 4}, "a": {"g": 4.0}}`), "fail", `{"top_cluster": "b", "second_best_cluster": "a", "gap_ratio": 1.0}`},
		"second of zero":                {oneMarker, cellTypingAnswer(high, low, `{"b": {"g": 0}, "a": {"g": 1}}`), "pass", `{"gap_ratio": {"$float": "Infinity"}}`},
		"second below zero":             {oneMarker, cellTypingAnswer(high, low, `{"a": {"g": -1}, "b": {"g": -2}}`), "pass", `{"gap_ratio": {"$float": "Infinity"}}`},
		"NaN stays where Python has it": {oneMarker, cellTypingAnswer(high, low, `{"a": {"g": 1}, "b": {"g": NaN}, "c": {"g": 2}}`), "pass", `{"top_cluster": "a", "second_best_cluster": "b", "second_best_median_score": {"$float": "NaN"}, "gap_ratio": {"$float": "Infinity"}}`},
		"a marker that is missing is 0": {`{"markers": ["g", "h"]}`, cellTypingAnswer(high, low, `{"a": {"g": 4}, "b": {"g": 1, "h": 2}}`), "pass", `{"top_cluster_median_score": 2.0, "second_best_median_score": 1.5}`},
		"booleans are numbers":          {oneMarker, cellTypingAnswer(`[{"g": true}]`, `[{"g": false}]`, clearlyTop), "pass", `{"geneset_auroc": 1.0}`},
		"no markers":                    {`{"thresholds": {"auroc": 0.5, "gap_ratio": 1}}`, cellTypingAnswer(`[1]`, `[2]`, `{"a": 1, "b": {}}`), "pass", `{"geneset_auroc": 0.5, "gap_ratio": {"$float": "Infinity"}}`},
		"markers as text":               {`{"markers": "gh"}`, cellTypingAnswer(high, low, `{"a": {"gh": 9, "h": 4}, "b": {"g": 2}}`), "pass", `{"top_cluster_median_score": 2.0, "second_best_median_score": 1.0}`},
		"a marker that is a number":     {`{"markers": ["g", 1]}`, cellTypingAnswer(high, low, `{"a": {"g": 4, "1": 9}, "b": {"g": 2}}`), "pass", `{"top_cluster_median_score": 2.0}`},
		"a marker that is a list":       {`{"markers": [["g"]]}`, cellTypingAnswer(high, low, clearlyTop), "type_error", ""},
		"markers null":                  {`{"markers": null}`, cellTypingAnswer(high, low, clearlyTop), "type_error", ""},
		"text as a value":               {oneMarker, cellTypingAnswer(`[{"g": "2"}]`, low, clearlyTop), "type_error", ""},
		"null as a value":               {oneMarker, cellTypingAnswer(high, low, `{"a": {"g": null}, "b": {"g": 1}}`), "type_error", ""},
		"a huge value":                  {oneMarker, cellTypingAnswer(high, low, `{"a": {"g": `+hugeInteger()+`}, "b": {"g": 1}}`), "overflow", ""},
		"a sample that is a number":     {oneMarker, cellTypingAnswer(`[2]`, low, clearlyTop), "type_error", ""},
		"samples null":                  {oneMarker, cellTypingAnswer(`null`, low, clearlyTop), "type_error", ""},
		"medians as a list":             {oneMarker, cellTypingAnswer(high, low, `[{"g": 4}]`), "type_error", ""},
		"a field is missing":            {oneMarker, `{"chosen_cluster": "a", "samples_chosen": [], "samples_other": []}`, "fail", ""},
		"answer is a number":            {oneMarker, `5`, "type_error", ""},
	})
}

// The AUROC metrics equal those of scikit-learn 1.2.1.
func TestAUROC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		chosen, others []float64
		want           string
	}{
		{[]float64{3, 2, 1}, []float64{2, 1, 0, 0}, "0.8333333333333333"},
		{[]float64{.1, .4, .35, .8, .6, .6}, []float64{.2, .3, .4, .1, .9, .6, .5}, "0.5714285714285714"},
		{[]float64{1, 1, 2}, []float64{1, 2, 2, 0, 0, 0, 0}, "0.7142857142857142"}, // 5/7 would round up
		{[]float64{0}, []float64{0}, "0.5"},
		{[]float64{0}, []float64{1}, "0.0"},
	} {
		samples := func(scores []float64) (list string) {
			for _, score := range scores {
				list += fmt.Sprintf(`,{"g": %v}`, score)
			}
			return "[" + list[1:] + "]"
		}
		got := gradeConfigAndAnswerJSON(t, "cell_typing", oneMarker, cellTypingAnswer(samples(c.chosen), samples(c.others), clearlyTop))
		require.Equal(t, c.want, pyvaluetest.MarshalToString(t, got.Metrics.Get("geneset_auroc")))
	}
}

// If there are more clusters than Python sorts by insertion, they are still ranked in
// the right order.
func TestManyClustersRanking(t *testing.T) {
	t.Parallel()
	medians := `{"a": {"g": 100}`
	for i := range 100 {
		medians += fmt.Sprintf(`, "%d": {"g": %d}`, i, i/2)
	}
	got := gradeConfigAndAnswerJSON(t, "cell_typing", oneMarker, cellTypingAnswer(`[{"g": 1}]`, `[{"g": 0}]`, medians+"}"))
	require.True(t, got.Passed, got.Reasoning)
	require.Equal(t, `"98"`, pyvaluetest.MarshalToString(t, got.Metrics.Get("second_best_cluster")))
}

func TestCellTypingReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "cell_typing", oneMarker, `{"chosen_cluster": "b", "samples_chosen": [{"g": 1}], "samples_other": [{"g": 1}], "cluster_medians": {"a": {"g": 2.2}, "b": {"g": 2}}}`)
	require.Equal(t, `Cell typing: FAIL

x chose 'b', highest is 'a' with 2.2, then 'b' with 2.0
x AUROC of the chosen samples: 0.5, expected at least 0.75
x highest score by second: 1.1, expected at least 1.15

Failures:
- chosen_cluster: found 'b', expected 'a', which scores highest
- AUROC of the chosen samples: found 0.5, expected at least 0.75: off by 0.25
- highest score by second: found 1.1, expected at least 1.15: off by 0.05`, got.Reasoning)
	got = gradeConfigAndAnswerJSON(t, "cell_typing", oneMarker, cellTypingAnswer(`[]`, `[{"g": 1}]`, clearlyTop))
	require.Contains(t, got.Reasoning, "an AUROC needs samples on both sides, found 0 and 1")
}
