package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func markerGenesConfig(canonical, thresholds string) string {
	return fmt.Sprintf(`{"canonical_markers": %s, "answer_field": "g", "scoring": {"pass_thresholds": %s}}`, canonical, thresholds)
}

func TestMarkerGenes(t *testing.T) {
	t.Parallel()
	four := `["Cd3d", "Cd3e", "Cd8a", "Gzmb"]`
	runGraderTestRows(t, "marker_gene_precision_recall", map[string]graderTestRow{
		"all":                               {markerGenesConfig(four, `{}`), `{"g": ["Cd3d", "Cd3e", "Cd8a", "Gzmb"]}`, "pass", `{"k": 4, "precision_at_k": 1.0, "recall_at_k": 1.0, "precision_threshold": 0.6, "recall_threshold": 0.5, "answer_field_used": "g"}`},
		"on both thresholds":                {markerGenesConfig(four, `{"precision_at_k": 0.4, "recall_at_k": 0.5}`), `{"g": ["CD3D", "cd3e", "x", "y", "z"]}`, "pass", `{"true_positives": ["CD3D", "cd3e"], "false_positives": ["x", "y", "z"], "false_negatives": ["Cd8a", "Gzmb"], "num_true_positives": 2, "num_false_positives": 3, "num_false_negatives": 2, "num_canonical_markers": 4, "precision_pass": true, "recall_pass": true}`},
		"precision just missed":             {markerGenesConfig(four, `{"precision_at_k": `+nextFloatAbove(0.5)+`}`), `{"g": ["Cd3d", "Cd3e", "x", "y"]}`, "fail", `{"precision_pass": false, "recall_pass": true}`},
		"recall just missed":                {markerGenesConfig(four, `{"recall_at_k": `+nextFloatAbove(0.5)+`}`), `{"g": ["Cd3d", "Cd3e"]}`, "fail", `{"precision_pass": true, "recall_pass": false}`},
		"repetitions cost precision":        {markerGenesConfig(four, `{}`), `{"g": ["Cd3d", "Cd3d", "cd3d", "CD3E"]}`, "fail", `{"k": 4, "precision_at_k": 0.5, "recall_at_k": 0.5, "true_positives": ["CD3E", "cd3d"]}`},
		"canonical repetitions are one":     {markerGenesConfig(`["A", "a", "B"]`, `{}`), `{"g": ["A"]}`, "pass", `{"recall_at_k": 0.5, "num_canonical_markers": 2}`},
		"the last canonical spelling":       {markerGenesConfig(`["a", "A"]`, `{}`), `{"g": []}`, "fail", `{"false_negatives": ["A"], "k": 0, "precision_at_k": 0.0}`},
		"nothing is trimmed":                {markerGenesConfig(`["A"]`, `{}`), `{"g": ["A "]}`, "fail", `{"false_positives": ["A "]}`},
		"numbers as text":                   {markerGenesConfig(`[1, "2.0", true, null]`, `{}`), `{"g": ["1", 2.0, "TRUE", "none"]}`, "pass", `{"true_positives": ["1", "2.0", "TRUE", "none"]}`},
		"1 is not 1.0":                      {markerGenesConfig(`[1]`, `{}`), `{"g": [1.0]}`, "fail", `{"false_positives": ["1.0"]}`},
		"lists as text":                     {markerGenesConfig(`[["A"]]`, `{}`), `{"g": ["['a']"]}`, "pass", `{"k": 1}`},
		"İ becomes two":                     {markerGenesConfig(`["İ"]`, `{}`), `{"g": ["i\u0307"]}`, "pass", `{"num_true_positives": 1}`},
		"ß is not ss":                       {markerGenesConfig(`["ß"]`, `{}`), `{"g": ["SS"]}`, "fail", `{"num_true_positives": 0}`},
		"final sigma":                       {markerGenesConfig(`["ΑΣ"]`, `{}`), `{"g": ["ας"]}`, "pass", `{"num_true_positives": 1}`},
		"nothing canonical":                 {markerGenesConfig(`[]`, `{"precision_at_k": 0, "recall_at_k": 0}`), `{"g": ["A"]}`, "pass", `{"recall_at_k": 0.0, "num_canonical_markers": 0}`},
		"an empty list still needs recall":  {markerGenesConfig(four, `{"precision_at_k": 0}`), `{"g": []}`, "fail", `{"precision_pass": true, "recall_pass": false}`},
		"threshold true":                    {markerGenesConfig(`["A"]`, `{"precision_at_k": true}`), `{"g": ["A"]}`, "pass", `{"precision_threshold": true}`},
		"threshold NaN":                     {markerGenesConfig(`["A"]`, `{"precision_at_k": NaN}`), `{"g": ["A"]}`, "fail", `{"precision_pass": false}`},
		"threshold null":                    {markerGenesConfig(`["A"]`, `{"recall_at_k": null}`), `{"g": ["A"]}`, "type_error", ""},
		"threshold text":                    {markerGenesConfig(`["A"]`, `{"recall_at_k": "0"}`), `{"g": ["A"]}`, "value_error", ""},
		"threshold huge":                    {markerGenesConfig(`["A"]`, `{"recall_at_k": -`+hugeInteger()+`}`), `{"g": ["A"]}`, "overflow", ""},
		"thresholds null":                   {markerGenesConfig(`["A"]`, `null`), `{"g": ["A"]}`, "type_error", ""},
		"thresholds null, nothing to grade": {markerGenesConfig(`["A"]`, `null`), `{"g": "A"}`, "fail", ""},
		"scoring null":                      {`{"scoring": null}`, `{}`, "type_error", ""},
		"thresholds beside scoring":         {`{"canonical_markers": ["A", "B"], "pass_thresholds": {"recall_at_k": 1}}`, `{"top_marker_genes": ["A"]}`, "pass", `{"recall_threshold": 0.5}`},
		"ground_truth_labels":               {`{"ground_truth_labels": ["A"]}`, `{"top_marker_genes": ["a"]}`, "pass", `{"num_canonical_markers": 1}`},
		"canonical null is not absent":      {`{"canonical_markers": null, "ground_truth_labels": ["A"]}`, `{"top_marker_genes": ["a"]}`, "fail", ""},
		"nothing canonical in the config":   {`{}`, `{"top_marker_genes": ["a"]}`, "fail", `{"num_canonical_markers": 0}`},
		"text for a list":                   {markerGenesConfig(four, `{}`), `{"g": "Cd3d"}`, "fail", ""},
		"null for a list":                   {markerGenesConfig(four, `{}`), `{"g": null}`, "fail", ""},
		"an object for a list":              {markerGenesConfig(four, `{}`), `{"g": {"T": ["Cd3d"]}}`, "fail", ""},
		"text as canonical":                 {markerGenesConfig(`"Cd3d"`, `{}`), `{"g": ["Cd3d"]}`, "fail", ""},
		"the first list of the answer":      {markerGenesConfig(`["A"]`, `{}`), `{"n": 1, "z": ["A"], "a": ["B"]}`, "pass", `{"answer_field_used": "z"}`},
		"the first list, even empty":        {markerGenesConfig(`["A"]`, `{}`), `{"z": [], "a": ["A"]}`, "fail", `{"answer_field_used": "z"}`},
		"the first object":                  {markerGenesConfig(`["A"]`, `{}`), `{"z": {}, "a": ["A"]}`, "fail", ""},
		"no list in the answer":             {markerGenesConfig(`["A"]`, `{}`), `{"n": 1, "s": "A"}`, "fail", ""},
		"field null finds the first list":   {`{"canonical_markers": ["A"], "answer_field": null}`, `{"x": ["A"]}`, "pass", `{"answer_field_used": "x"}`},
		"field a list":                      {`{"answer_field": ["g"]}`, `{"g": ["A"]}`, "type_error", ""},
		"field 0, in a list":                {`{"canonical_markers": ["A"], "answer_field": 0}`, `[["A"], 0]`, "pass", `{"answer_field_used": 0}`},
		"an entry of the canonical object":  {markerGenesConfig(`{"g": ["A"], "h": ["B"]}`, `{}`), `{"g": ["A"]}`, "pass", `{"num_canonical_markers": 1}`},
		"an entry of the field fallen to":   {markerGenesConfig(`{"T": ["A"]}`, `{}`), `{"T": ["A"]}`, "pass", `{"answer_field_used": "T"}`},
		"no entry of the canonical object":  {markerGenesConfig(`{"h": ["A"]}`, `{}`), `{"g": ["A"]}`, "fail", ""},
		"answer is a list":                  {markerGenesConfig(`["A"]`, `{}`), `["A"]`, "type_error", ""},
		"answer is a list with the name":    {markerGenesConfig(`["A"]`, `{}`), `["g"]`, "type_error", ""},
		"answer is text":                    {markerGenesConfig(`["A"]`, `{}`), `"A"`, "type_error", ""},
		"answer is a number":                {markerGenesConfig(`["A"]`, `{}`), `5`, "type_error", ""},
	})
}

func TestMarkerGenesOfCellTypes(t *testing.T) {
	t.Parallel()
	two := `{"T": ["Cd3d", "Cd3e"], "B": ["Cd19", "Ms4a1"]}`
	runGraderTestRows(t, "marker_gene_precision_recall", map[string]graderTestRow{
		"half of each":                   {markerGenesConfig(two, `{}`), `{"g": {"B": ["MS4A1", "x"], "T": ["cd3d", "Cd3d"], "NK": 5}}`, "pass", `{"celltypes_passing": 2, "total_celltypes": 2, "min_celltypes_passing": 2, "min_recall_per_celltype": 0.5, "answer_field_used": "g", "per_celltype": {"T": {"pass": true, "recall": 0.5, "num_predicted": 2, "num_canonical": 2, "true_positives": ["cd3d"], "false_negatives": ["cd3e"]}, "B": {"pass": true, "recall": 0.5, "num_predicted": 2, "num_canonical": 2, "true_positives": ["ms4a1"], "false_negatives": ["cd19"]}}}`},
		"just more than half":            {markerGenesConfig(two, `{"min_recall_per_celltype": `+nextFloatAbove(0.5)+`, "min_celltypes_passing": 1}`), `{"g": {"T": ["Cd3d"], "B": ["Cd19"]}}`, "fail", `{"celltypes_passing": 0}`},
		"recall_at_k stands in":          {markerGenesConfig(two, `{"recall_at_k": 1}`), `{"g": {"T": ["Cd3d"], "B": ["Cd19"]}}`, "fail", `{"min_recall_per_celltype": 1}`},
		"enough types":                   {markerGenesConfig(two, `{"min_celltypes_passing": 1}`), `{"g": {"T": ["Cd3d"]}}`, "pass", `{"celltypes_passing": 1}`},
		"enough types, as a float":       {markerGenesConfig(two, `{"min_celltypes_passing": 1.5}`), `{"g": {"T": ["Cd3d"]}}`, "fail", `{"min_celltypes_passing": 1.5}`},
		"precision does not count":       {markerGenesConfig(`{"T": ["A"]}`, `{"precision_at_k": 1}`), `{"g": {"T": ["x", "A"]}}`, "pass", `{"celltypes_passing": 1}`},
		"keys are exact":                 {markerGenesConfig(`{"T": ["A"]}`, `{}`), `{"g": {"t": ["A"]}}`, "fail", `{"per_celltype": {"T": {"pass": false, "recall": 0.0, "num_predicted": 0, "num_canonical": 1, "true_positives": [], "false_negatives": ["a"]}}}`},
		"a type without genes":           {markerGenesConfig(`{"T": []}`, `{"recall_at_k": 1}`), `{"g": {}}`, "pass", `{"per_celltype": {"T": {"pass": true, "recall": 1.0, "num_predicted": 0, "num_canonical": 0, "true_positives": [], "false_negatives": []}}}`},
		"no types":                       {markerGenesConfig(`{}`, `{}`), `{"g": {}}`, "pass", `{"celltypes_passing": 0, "total_celltypes": 0, "per_celltype": {}}`},
		"no types, recall is not read":   {markerGenesConfig(`{}`, `{"recall_at_k": null}`), `{"g": {}}`, "pass", `{"min_recall_per_celltype": null}`},
		"no list":                        {markerGenesConfig(two, `{"min_celltypes_passing": 1}`), `{"g": {"T": "Cd3d", "B": ["Cd19"]}}`, "pass", `{"celltypes_passing": 1}`},
		"null is not a list":             {markerGenesConfig(`{"T": []}`, `{}`), `{"g": {"T": null}}`, "fail", `{"celltypes_passing": 0}`},
		"canonical text is characters":   {markerGenesConfig(`{"T": "AB"}`, `{}`), `{"g": {"T": ["b"]}}`, "pass", `{"celltypes_passing": 1}`},
		"canonical object is keys":       {markerGenesConfig(`{"T": {"A": 0}}`, `{}`), `{"g": {"T": ["a"]}}`, "pass", `{"celltypes_passing": 1}`},
		"canonical null":                 {markerGenesConfig(`{"T": null}`, `{}`), `{"g": {"T": []}}`, "type_error", ""},
		"canonical null, nothing to ask": {markerGenesConfig(`{"T": null}`, `{}`), `{"g": {"T": 5}}`, "fail", `{"celltypes_passing": 0}`},
		"canonical number":               {markerGenesConfig(`{"T": 5}`, `{}`), `{"g": {}}`, "type_error", ""},
		"recall null":                    {markerGenesConfig(two, `{"recall_at_k": null}`), `{"g": {}}`, "type_error", ""},
		"recall text, no lists":          {markerGenesConfig(`{"T": []}`, `{"recall_at_k": "0"}`), `{"g": {"T": 5}}`, "value_error", ""},
		"recall huge":                    {markerGenesConfig(two, `{"recall_at_k": -`+hugeInteger()+`}`), `{"g": {}}`, "overflow", ""},
		"types null":                     {markerGenesConfig(two, `{"min_celltypes_passing": null}`), `{"g": {}}`, "type_error", ""},
		"types text":                     {markerGenesConfig(two, `{"min_celltypes_passing": "1"}`), `{"g": {}}`, "type_error", ""},
		"types huge is not written so":   {markerGenesConfig(two, `{"min_celltypes_passing": -`+hugeInteger()+`}`), `{"g": {}}`, "pass", `{"celltypes_passing": 0}`},
		"thresholds null":                {markerGenesConfig(two, `null`), `{"g": {}}`, "type_error", ""},
	})
}

func TestMarkerGenesReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "marker_gene_precision_recall", markerGenesConfig(`["A", "B", "C", "D"]`, `{}`), `{"g": ["a", "X"]}`)
	require.Equal(t, []string{
		"k", "precision_at_k", "recall_at_k", "precision_threshold", "recall_threshold", "true_positives", "false_positives", "false_negatives",
		"num_true_positives", "num_false_positives", "num_false_negatives", "num_canonical_markers", "precision_pass", "recall_pass", "answer_field_used",
	}, keysOfObject(got.Metrics))
	require.Equal(t, `Marker genes: FAIL

x precision: 0.5, expected at least 0.6
x recall: 0.25, expected at least 0.5
+ 1 canonical: ['a']
x 3 missing: ['B', 'C', 'D']
x 1 not canonical: ['X']

Failures:
- precision: found 0.5, expected at least 0.6: off by 0.1
- recall: found 0.25, expected at least 0.5: off by 0.25`, got.Reasoning)

	got = gradeConfigAndAnswerJSON(t, "marker_gene_precision_recall", markerGenesConfig(`{"T": ["A", "B", "C"], "B": ["D"], "NK": ["E"]}`, `{"min_celltypes_passing": 2}`), `{"g": {"T": ["A"], "B": "D", "NK": ["e"]}}`)
	require.Equal(t, []string{"celltypes_passing", "total_celltypes", "min_celltypes_passing", "min_recall_per_celltype", "per_celltype", "answer_field_used"}, keysOfObject(got.Metrics))
	require.Equal(t, []string{"pass", "recall", "error"}, keysOfObject(pyvaluetest.RequireObject(t, pyvaluetest.RequireObject(t, got.Metrics.Get("per_celltype")).Get("B"))))
	require.Equal(t, `Marker genes: FAIL

x T: recall 0.3333333333333333, expected at least 0.5; missing: ['b', 'c']
x B: want a list, found string
+ NK: recall 1.0, expected at least 0.5

Failures:
- 1 of 3 cell types pass, expected at least 2`, got.Reasoning)
}
