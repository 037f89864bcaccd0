package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func labelSetConfig(truth, threshold string) string {
	return fmt.Sprintf(`{"ground_truth_labels": %s, "answer_field": "c", "scoring": {"pass_threshold": %s}}`, truth, threshold)
}

func TestLabelSet(t *testing.T) {
	t.Parallel()
	four := `["A", "B", "C", "D"]`
	runGraderTestRows(t, "label_set_jaccard", map[string]graderTestRow{
		"the same":                        {labelSetConfig(four, "1"), `{"c": ["D", "C", "B", "A"]}`, "pass", `{"jaccard_index": 1.0, "pass_threshold": 1, "answer_field": "c", "true_positives": ["A", "B", "C", "D"], "false_positives": [], "false_negatives": [], "predicted_count": 4, "ground_truth_count": 4}`},
		"on the threshold":                {labelSetConfig(four, "0.75"), `{"c": ["A", "B", "C"]}`, "pass", `{"jaccard_index": 0.75, "false_negatives": ["D"]}`},
		"just below the threshold":        {labelSetConfig(four, nextFloatAbove(0.75)), `{"c": ["A", "B", "C"]}`, "fail", `{"jaccard_index": 0.75}`},
		"just above the threshold":        {labelSetConfig(four, nextFloatBelow(0.75)), `{"c": ["A", "B", "C"]}`, "pass", `{"jaccard_index": 0.75}`},
		"two thirds is less than 0.67":    {labelSetConfig(`["A", "B", "C"]`, "0.67"), `{"c": ["A", "B"]}`, "fail", `{"jaccard_index": 0.6666666666666666}`},
		"repetitions collapse":            {labelSetConfig(`["A", "A", "B"]`, "1"), `{"c": ["B", "A", "B"]}`, "pass", `{"predicted_count": 2, "ground_truth_count": 2}`},
		"case matters":                    {labelSetConfig(`["A"]`, "0.1"), `{"c": ["a"]}`, "fail", `{"false_positives": ["a"], "false_negatives": ["A"]}`},
		"space matters":                   {labelSetConfig(`["A"]`, "0.1"), `{"c": ["A "]}`, "fail", `{"jaccard_index": 0.0}`},
		"the form of é matters":           {labelSetConfig(`["é"]`, "0.1"), `{"c": ["e\u0301"]}`, "fail", `{"jaccard_index": 0.0}`},
		"two empty sets have nothing":     {labelSetConfig(`[]`, "0.1"), `{"c": []}`, "fail", `{"jaccard_index": 0.0, "predicted_count": 0}`},
		"threshold 0 passes anything":     {labelSetConfig(`[]`, "0"), `{"c": []}`, "pass", `{"jaccard_index": 0.0, "pass_threshold": 0}`},
		"threshold true is 1":             {labelSetConfig(`["A"]`, "true"), `{"c": ["A"]}`, "pass", `{"pass_threshold": true}`},
		"threshold NaN":                   {labelSetConfig(`["A"]`, "NaN"), `{"c": ["A"]}`, "fail", `{"pass_threshold": NaN}`},
		"threshold negative infinity":     {labelSetConfig(`["A"]`, "-Infinity"), `{"c": []}`, "pass", `{"jaccard_index": 0.0}`},
		"threshold huge":                  {labelSetConfig(`["A"]`, "-"+hugeInteger()), `{"c": ["A"]}`, "overflow", ""},
		"threshold text":                  {labelSetConfig(`["A"]`, `"0.5"`), `{"c": ["A"]}`, "value_error", ""},
		"threshold null":                  {labelSetConfig(`["A"]`, `null`), `{"c": ["A"]}`, "type_error", ""},
		"threshold object":                {labelSetConfig(`["A"]`, `{"x": 1}`), `{"c": ["A"]}`, "type_error", ""},
		"threshold null, field missing":   {labelSetConfig(`["A"]`, `null`), `{"d": ["A"]}`, "fail", ""},
		"the default threshold":           {`{"ground_truth_labels": ["A","B","C","D","E","F","G","H","I","J"]}`, `{"cell_types_predicted": ["A","B","C","D","E","F","G","H","I"]}`, "pass", `{"jaccard_index": 0.9, "pass_threshold": 0.9}`},
		"no ground truth":                 {`{"answer_field": "c"}`, `{"c": ["A"]}`, "fail", `{"ground_truth_count": 0}`},
		"text is its characters":          {labelSetConfig(`["n", "o"]`, "1"), `{"c": "noon"}`, "pass", `{"predicted_count": 2}`},
		"text of an emoji":                {labelSetConfig(`["😀"]`, "1"), `{"c": "😀"}`, "pass", `{"predicted_count": 1}`},
		"an object is its keys":           {labelSetConfig(`{"A": 1}`, "1"), `{"c": {"A": [1]}}`, "pass", `{"true_positives": ["A"]}`},
		"null":                            {labelSetConfig(four, "0"), `{"c": null}`, "type_error", ""},
		"a number":                        {labelSetConfig(four, "0"), `{"c": 4}`, "type_error", ""},
		"a boolean":                       {labelSetConfig(four, "0"), `{"c": true}`, "type_error", ""},
		"a list in the list":              {labelSetConfig(four, "0"), `{"c": ["A", ["B"]]}`, "type_error", ""},
		"an object in the list":           {labelSetConfig(four, "0"), `{"c": [{}]}`, "type_error", ""},
		"labels null":                     {labelSetConfig(`null`, "0"), `{"c": []}`, "type_error", ""},
		"labels with a list, no field":    {labelSetConfig(`[["A"]]`, "0"), `{}`, "type_error", ""},
		"1, 1.0 and true are one":         {labelSetConfig(`[1]`, "1"), `{"c": [1.0, true, 1]}`, "pass", `{"true_positives": [1.0], "predicted_count": 1}`},
		"the smaller set names them":      {labelSetConfig(`[1, 2]`, "0"), `{"c": [true]}`, "pass", `{"true_positives": [true], "false_negatives": [2]}`},
		"the smaller is the ground truth": {labelSetConfig(`[1]`, "0"), `{"c": [true, 2]}`, "pass", `{"true_positives": [1], "false_positives": [2]}`},
		"0, -0.0 and false are one":       {labelSetConfig(`[0]`, "1"), `{"c": [-0.0, false]}`, "pass", `{"true_positives": [-0.0]}`},
		"NaN is one element":              {labelSetConfig(`[NaN, NaN]`, "1"), `{"c": [NaN]}`, "pass", `{"true_positives": [NaN]}`},
		"2^53+1 is not its float":         {labelSetConfig(`[9007199254740993]`, "0"), `{"c": [9007199254740992.0]}`, "pass", `{"true_positives": []}`},
		"2^53 is its float":               {labelSetConfig(`[9007199254740992]`, "1"), `{"c": [9007199254740992.0]}`, "pass", `{"jaccard_index": 1.0}`},
		"huge labels":                     {labelSetConfig(`[`+hugeInteger()+`, 1e308]`, "1"), `{"c": [1e308, ` + hugeInteger() + `]}`, "pass", `{"predicted_count": 2}`},
		"numbers are sorted by value":     {labelSetConfig(`[10, 9.5, true]`, "1"), `{"c": [10, 9.5, true]}`, "pass", `{"true_positives": [true, 9.5, 10]}`},
		"sorted by code points":           {labelSetConfig(`["b", "B", "é", "😀", "\uffff", "a"]`, "0"), `{"c": []}`, "pass", `{"false_negatives": ["B", "a", "b", "é", "\uffff", "😀"]}`},
		"one odd label in each list":      {labelSetConfig(`["A", 1]`, "0"), `{"c": ["A", null]}`, "pass", `{"true_positives": ["A"], "false_positives": [null], "false_negatives": [1]}`},
		"a mixture cannot be sorted":      {labelSetConfig(four, "0"), `{"c": ["X", 1]}`, "type_error", ""},
		"null beside null is one":         {labelSetConfig(`[null, null]`, "1"), `{"c": [null]}`, "pass", `{"true_positives": [null]}`},
		"null cannot be sorted":           {labelSetConfig(`["A", null]`, "0"), `{"c": []}`, "type_error", ""},
		"a mixture, split over lists":     {labelSetConfig(`["A", 1]`, "0"), `{"c": ["A"]}`, "pass", `{"true_positives": ["A"], "false_negatives": [1]}`},
		"field missing":                   {labelSetConfig(four, "0"), `{"C": ["A"]}`, "fail", ""},
		"field is no path":                {`{"answer_field": "a.b"}`, `{"a": {"b": []}}`, "fail", ""},
		"field with a dot is a key":       {`{"answer_field": "a.b", "scoring": {"pass_threshold": 0}}`, `{"a.b": []}`, "pass", `{"answer_field": "a.b"}`},
		"field null is never found":       {`{"answer_field": null}`, `{"null": [], "cell_types_predicted": []}`, "fail", ""},
		"field a list":                    {`{"answer_field": ["c"]}`, `{"c": []}`, "type_error", ""},
		"field a number, in a list":       {`{"answer_field": 1, "ground_truth_labels": "ab", "scoring": {"pass_threshold": 1}}`, `[1, "ba"]`, "pass", `{"answer_field": 1}`},
		"field a number, from the end":    {`{"answer_field": -2, "ground_truth_labels": "ab", "scoring": {"pass_threshold": 1}}`, `["ba", -2]`, "pass", `{"answer_field": -2}`},
		"field true is index 1":           {`{"answer_field": true, "ground_truth_labels": "ab", "scoring": {"pass_threshold": 1}}`, `[true, "ba"]`, "pass", `{"answer_field": true}`},
		"field past the list":             {`{"answer_field": 7}`, `[7]`, "key_error", ""},
		"field huge":                      {`{"answer_field": ` + hugeInteger() + `}`, `[` + hugeInteger() + `]`, "key_error", ""},
		"field a float, in a list":        {`{"answer_field": 0.0}`, `[0]`, "type_error", ""},
		"answer is a list without it":     {labelSetConfig(four, "0"), `["A"]`, "fail", ""},
		"answer is a list with it":        {labelSetConfig(four, "0"), `["c"]`, "type_error", ""},
		"answer is text without it":       {labelSetConfig(four, "0"), `"A"`, "fail", ""},
		"answer is text with it":          {labelSetConfig(four, "0"), `"abc"`, "type_error", ""},
		"answer is a number":              {labelSetConfig(four, "0"), `5`, "type_error", ""},
		"scoring null":                    {`{"scoring": null}`, `{}`, "type_error", ""},
		"scoring a list":                  {`{"scoring": []}`, `{}`, "type_error", ""},
		"per_label_thresholds: default":   {`{"ground_truth_labels": ["A"], "scoring": {"per_label_thresholds": {"A": 0}}}`, `{"cell_types_predicted": []}`, "fail", `{"pass_threshold": 0.9}`},
	})
}

func TestLabelSetReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "jaccard_label_set", labelSetConfig(`["A", "B", "C"]`, "0.75"), `{"c": ["C", "X", "A"]}`)
	require.Equal(t, []string{"jaccard_index", "pass_threshold", "answer_field", "true_positives", "false_positives", "false_negatives", "predicted_count", "ground_truth_count"}, keysOfObject(got.Metrics))
	require.Equal(t, `Label set: FAIL

x Jaccard index: 0.5, expected at least 0.75
+ 2 as expected: ['A', 'C']
x 1 missing: ['B']
x 1 not expected: ['X']

Failures:
- Jaccard index: found 0.5, expected at least 0.75: off by 0.25`, got.Reasoning)
	got = gradeConfigAndAnswerJSON(t, "label_set_jaccard", `{}`, `{"labels": []}`)
	require.Equal(t, "Label set: FAIL\n\nFailures:\n- the answer has no field \"cell_types_predicted\"; it is {'labels': []}", got.Reasoning)
}
