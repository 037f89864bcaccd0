package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// separationAnswer returns a marker_separation answer, as JSON, with genes a, b, … that
// have these AUROCs.
func separationAnswer(mean string, aurocs ...string) string {
	rows := ""
	for i, auroc := range aurocs {
		rows += fmt.Sprintf(`, {"gene": "%c", "auroc": %s}`, 'a'+rune(i), auroc)
	}
	return fmt.Sprintf(`{"mean_auroc": %s, "per_gene_stats": [%s]}`, mean, rows[2:])
}

func separationConfig(thresholds string) string {
	return fmt.Sprintf(`{"scoring": {"pass_thresholds": %s}}`, thresholds)
}

func TestMarkerSeparation(t *testing.T) {
	t.Parallel()
	runGraderTestRows(t, "marker_gene_separation", map[string]graderTestRow{
		"on the thresholds": {`{}`, separationAnswer("0.85", "0.8", "0.9", "0.8", "0.85", "0.95", "0.9", "0.8", "0.1", "0.2", "0.3"), "pass", `{"num_genes": 10, "mean_auroc_agent": 0.85, "mean_auroc_threshold": 0.85, "fraction_high": 0.7, "fraction_high_threshold": 0.7, "per_gene_cutoff": 0.8,
			"num_high_auroc_genes": 7, "num_low_auroc_genes": 3, "high_auroc_genes": ["a", "b", "c", "d", "e", "f", "g"], "low_auroc_genes": ["h", "i", "j"], "mean_auroc_pass": true, "fraction_high_pass": true}`},
		"mean just missed":                  {`{}`, separationAnswer(nextFloatBelow(0.85), "0.9"), "fail", `{"mean_auroc_pass": false, "fraction_high_pass": true}`},
		"cutoff just missed":                {`{}`, separationAnswer("0.9", nextFloatBelow(0.8)), "fail", `{"fraction_high": 0.0, "low_auroc_genes": ["a"], "mean_auroc_pass": true}`},
		"fraction just missed":              {separationConfig(`{"fraction_high": ` + nextFloatAbove(0.5) + `}`), separationAnswer("0.9", "0.9", "0.1"), "fail", `{"fraction_high_pass": false}`},
		"the reported mean counts":          {`{}`, separationAnswer("0.99", "0.8", "0.8"), "pass", `{"mean_auroc_agent": 0.99, "mean_auroc_computed": 0.8}`},
		"the mean is added from the left":   {`{}`, separationAnswer("1", "0.1", "0.2", "0.3"), "fail", `{"mean_auroc_computed": 0.20000000000000004}`},
		"the mean of integers":              {`{}`, separationAnswer("1", "1", "true", "2"), "pass", `{"mean_auroc_computed": 1.3333333333333333}`},
		"the last of a gene counts":         {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": "a", "auroc": 0}, {"gene": "b", "auroc": 1}, {"gene": "a", "auroc": 0.9}]}`, "fail", `{"num_genes": 3, "fraction_high": 0.6666666666666666, "num_high_auroc_genes": 2, "per_gene_aurocs": {"a": 0.9, "b": 1}}`},
		"case matters":                      {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": "a", "auroc": 1}, {"gene": "A", "auroc": 1}]}`, "pass", `{"high_auroc_genes": ["A", "a"]}`},
		"NaN is neither":                    {separationConfig(`{"fraction_high": 0.5}`), separationAnswer("0.9", "NaN", "0.9"), "pass", `{"num_high_auroc_genes": 1, "num_low_auroc_genes": 0, "mean_auroc_computed": NaN}`},
		"mean NaN":                          {`{}`, separationAnswer("NaN", "0.9"), "fail", `{"mean_auroc_pass": false}`},
		"mean true":                         {`{}`, separationAnswer("true", "0.9"), "pass", `{"mean_auroc_agent": true}`},
		"mean text":                         {`{}`, separationAnswer(`"0.9"`, "0.9"), "value_error", ""},
		"mean null":                         {`{}`, separationAnswer("null", "0.9"), "type_error", ""},
		"mean a list, threshold too":        {separationConfig(`{"mean_auroc": [0]}`), separationAnswer("[1]", "0.9"), "type_error", ""},
		"mean text, threshold too":          {separationConfig(`{"mean_auroc": "0"}`), separationAnswer(`"1"`, "0.9"), "value_error", ""},
		"mean huge":                         {`{}`, separationAnswer(hugeInteger(), "0.9"), "overflow", ""},
		"auroc text":                        {`{}`, separationAnswer("0.9", `"0.9"`), "type_error", ""},
		"auroc null":                        {`{}`, separationAnswer("0.9", `null`), "type_error", ""},
		"auroc a list":                      {`{}`, separationAnswer("0.9", `[1]`), "type_error", ""},
		"auroc huge":                        {`{}`, separationAnswer("0.9", hugeInteger()), "overflow", ""},
		"auroc huge and its opposite":       {`{}`, separationAnswer("0.9", hugeInteger(), "-"+hugeInteger()), "fail", `{"mean_auroc_computed": 0.0, "fraction_high": 0.5}`},
		"auroc huge and a float":            {`{}`, separationAnswer("0.9", "0.5", hugeInteger()), "overflow", ""},
		"cutoff huge":                       {separationConfig(`{"per_gene_cutoff": ` + hugeInteger() + `}`), separationAnswer("0.9", "1"), "overflow", ""},
		"cutoff null":                       {separationConfig(`{"per_gene_cutoff": null}`), separationAnswer("0.9", "1"), "type_error", ""},
		"cutoff NaN":                        {separationConfig(`{"per_gene_cutoff": NaN}`), separationAnswer("0.9", "1"), "fail", `{"num_high_auroc_genes": 0, "num_low_auroc_genes": 0}`},
		"fraction huge, missed":             {separationConfig(`{"fraction_high": ` + hugeInteger() + `}`), separationAnswer("0.9", "1"), "overflow", ""},
		"fraction huge, kept":               {separationConfig(`{"fraction_high": -` + hugeInteger() + `}`), separationAnswer("0.9", "1"), "pass", `{"fraction_high_pass": true}`},
		"fraction huge, kept, mean missed":  {separationConfig(`{"fraction_high": -` + hugeInteger() + `}`), separationAnswer("0", "1"), "fail", `{"mean_auroc_pass": false}`},
		"fraction null":                     {separationConfig(`{"fraction_high": null}`), separationAnswer("0.9", "1"), "type_error", ""},
		"fraction text":                     {separationConfig(`{"fraction_high": "0"}`), separationAnswer("0.9", "1"), "type_error", ""},
		"thresholds null":                   {separationConfig(`null`), `{}`, "type_error", ""},
		"scoring a list":                    {`{"scoring": []}`, `{}`, "type_error", ""},
		"no stats":                          {`{}`, `{"mean_auroc": 1}`, "fail", ""},
		"no mean":                           {`{}`, `{"per_gene_stats": [{"gene": "a", "auroc": 1}]}`, "fail", ""},
		"stats empty":                       {`{}`, `{"mean_auroc": 1, "per_gene_stats": []}`, "fail", ""},
		"stats an object":                   {`{}`, `{"mean_auroc": 1, "per_gene_stats": {"gene": "a", "auroc": 1}}`, "fail", ""},
		"stats null":                        {`{}`, `{"mean_auroc": 1, "per_gene_stats": null}`, "fail", ""},
		"a row without auroc":               {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": "a", "auroc": 1}, {"gene": "b"}]}`, "fail", ""},
		"a row that is a list":              {`{}`, `{"mean_auroc": 1, "per_gene_stats": [["gene", "auroc"]]}`, "fail", ""},
		"a gene that is a list":             {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": ["a"], "auroc": 1}]}`, "type_error", ""},
		"a bad row before such a gene":      {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{}, {"gene": ["a"], "auroc": 1}]}`, "fail", ""},
		"such a gene before a bad row":      {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": ["a"], "auroc": 1}, {}]}`, "type_error", ""},
		"genes that are no text":            {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": 2, "auroc": 1}, {"gene": true, "auroc": 1}, {"gene": 1.0, "auroc": 0.9}]}`, "fail", `{"high_auroc_genes": [true, 2], "fraction_high": 0.6666666666666666, "per_gene_aurocs": {"2": 1, "true": 0.9}}`},
		"other keys of genes":               {separationConfig(`{"fraction_high": 0}`), `{"mean_auroc": 1, "per_gene_stats": [{"gene": 1.5, "auroc": 0}, {"gene": -Infinity, "auroc": 1}]}`, "pass", `{"per_gene_aurocs": {"1.5": 0, "-Infinity": 1}}`},
		"the keys null and NaN":             {separationConfig(`{"fraction_high": 0}`), `{"mean_auroc": 1, "per_gene_stats": [{"gene": NaN, "auroc": 0}, {"gene": null, "auroc": 1}]}`, "pass", `{"per_gene_aurocs": {"NaN": 0, "null": 1}}`},
		"mixed genes in one list":           {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": "a", "auroc": 1}, {"gene": 1, "auroc": 1}]}`, "type_error", ""},
		"mixed genes, split over the lists": {`{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": "a", "auroc": 1}, {"gene": 1, "auroc": 0}]}`, "fail", `{"high_auroc_genes": ["a"], "low_auroc_genes": [1]}`},
		"answer is a list":                  {`{}`, `[1]`, "fail", ""},
		"answer is a list with the names":   {`{}`, `["per_gene_stats", "mean_auroc"]`, "type_error", ""},
		"answer is text with the names":     {`{}`, `"per_gene_stats and mean_auroc"`, "type_error", ""},
		"answer is a number":                {`{}`, `1.5`, "type_error", ""},
	})
}

func TestMarkerSeparationReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "marker_gene_separation", `{}`, separationAnswer("0.8", "0.9", "0.5", "0.75"))
	require.Equal(t, []string{
		"num_genes", "mean_auroc_agent", "mean_auroc_computed", "mean_auroc_threshold", "fraction_high", "fraction_high_threshold", "per_gene_cutoff", "num_high_auroc_genes",
		"num_low_auroc_genes", "high_auroc_genes", "low_auroc_genes", "mean_auroc_pass", "fraction_high_pass", "per_gene_aurocs",
	}, keysOfObject(got.Metrics))
	require.Equal(t, `Marker gene separation: FAIL

x reported mean AUROC: 0.8, expected at least 0.85
x share of genes with an AUROC of at least 0.8: 0.3333333333333333, expected at least 0.7
x 2 below: ['b', 'c']

Failures:
- reported mean AUROC: found 0.8, expected at least 0.85: off by 0.05
- share of genes with an AUROC of at least 0.8: found 0.3333333333333333, expected at least 0.7: off by 0.366667`, got.Reasoning)
	got = gradeConfigAndAnswerJSON(t, "marker_gene_separation", `{}`, `{"mean_auroc": 1, "per_gene_stats": [{"gene": "a", "auroc": 1}, {"gene": "b"}]}`)
	require.Contains(t, got.Reasoning, "- per_gene_stats[1]: want an object with gene and auroc, found {'gene': 'b'}")
	got = gradeConfigAndAnswerJSON(t, "marker_gene_separation", `{}`, `{"genes": []}`)
	require.Contains(t, got.Reasoning, `- the answer has no field "per_gene_stats", "mean_auroc"; it is {'genes': []}`)
}
