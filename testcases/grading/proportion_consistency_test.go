package grading_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// proportionsAnswer returns a proportion_consistency answer, as JSON, with the cell
// types t0, t1, … and one sample per row.
func proportionsAnswer(rows ...[]float64) string {
	var types, samples []string
	for j := range rows[0] {
		types = append(types, fmt.Sprintf(`"t%d"`, j))
	}
	for i, row := range rows {
		var parts []string
		for j, part := range row {
			parts = append(parts, fmt.Sprintf(`"t%d": %v`, j, part))
		}
		samples = append(samples, fmt.Sprintf(`{"sample": "s%d", "proportions": {%s}}`, i, strings.Join(parts, ", ")))
	}
	return fmt.Sprintf(`{"cell_types": [%s], "samples": [%s]}`, strings.Join(types, ", "), strings.Join(samples, ", "))
}

func twoSampleProportionsAnswer(first, second string) string {
	return `{"cell_types": ["T", "B", "NK"], "samples": [{"sample": "s1", "proportions": ` + first + `}, {"sample": "s2", "proportions": ` + second + `}]}`
}

func TestProportionConsistency(t *testing.T) {
	t.Parallel()
	const some = `{"T": 50, "B": 30, "NK": 20}`
	limits := func(q, v string) string {
		return fmt.Sprintf(`{"scoring": {"pass_thresholds": {"chi2_q_min": %s, "cramers_v_max": %s}}}`, q, v)
	}
	same := proportionsAnswer([]float64{3, 1}, []float64{3, 1})
	runGraderTestRows(t, "proportion_consistency", map[string]graderTestRow{
		"same": {`{"test": "ignored"}`, twoSampleProportionsAnswer(some, some), "pass", `{"num_samples": 2, "num_cell_types": 3, "chi2_statistic": 0.0, "p_value": 1.0, "q_value": 1.0, "degrees_of_freedom": 2, "cramers_v": 0.0,
			"chi2_q_min_threshold": 0.05, "cramers_v_max_threshold": 0.15, "q_pass": true, "cramers_pass": true, "cell_types": ["T", "B", "NK"], "sample_names": ["s1", "s2"]}`},
		"on the thresholds":         {limits("1", "0"), same, "pass", `{"q_pass": true, "cramers_pass": true}`},
		"q just missed":             {limits(nextFloatAbove(1), "0"), same, "fail", `{"q_pass": false, "cramers_pass": true}`},
		"V just missed":             {limits("1", nextFloatBelow(0)), same, "fail", `{"q_pass": true, "cramers_pass": false}`},
		"fractions hide in p":       {`{}`, proportionsAnswer([]float64{.5, .3, .2}, []float64{.2, .3, .5}), "fail", `{"q_pass": true, "cramers_pass": false, "cramers_v": 0.35856858280031806}`},
		"a type that is missing":    {`{}`, twoSampleProportionsAnswer(some, `{"T": 50, "B": 30}`), "fail", `{"degrees_of_freedom": 2}`},
		"a type that is not listed": {`{}`, twoSampleProportionsAnswer(some, `{"T": 50, "B": 30, "NK": 20, "M": 900}`), "pass", `{"chi2_statistic": 0.0}`},
		"one cell type":             {`{}`, proportionsAnswer([]float64{1}, []float64{1000}), "pass", `{"chi2_statistic": 0.0, "p_value": 1.0, "degrees_of_freedom": 0, "cramers_v": 0.0}`},
		"a type twice":              {`{}`, `{"cell_types": ["T", "T"], "samples": [{"sample": "a", "proportions": {"T": 1}}, {"sample": "b", "proportions": {"T": 9}}]}`, "pass", `{"num_cell_types": 2, "cramers_v": 0.0}`},
		"booleans are numbers":      {`{}`, twoSampleProportionsAnswer(`{"T": true, "B": true, "NK": true}`, `{"T": 1, "B": 1, "NK": 1}`), "pass", `{"chi2_statistic": 0.0}`},
		"a huge threshold":          {limits("-"+hugeInteger(), hugeInteger()), same, "pass", `{"cramers_v_max_threshold": ` + hugeInteger() + `}`},
		"NaN":                       {`{}`, twoSampleProportionsAnswer(some, `{"T": NaN, "B": 1, "NK": 1}`), "fail", `{"p_value": {"$float": "NaN"}, "cramers_v": 0.0, "q_pass": false, "cramers_pass": true}`},
		"nothing at all":            {`{}`, twoSampleProportionsAnswer(`{}`, `{}`), "fail", `{"chi2_statistic": {"$float": "NaN"}, "q_pass": false}`},
		"infinity":                  {`{}`, twoSampleProportionsAnswer(some, `{"T": Infinity, "B": 1, "NK": 1}`), "fail", ""},
		"negative":                  {`{}`, twoSampleProportionsAnswer(some, `{"T": -1, "B": 1, "NK": 1}`), "fail", ""},
		"an empty row":              {`{}`, twoSampleProportionsAnswer(some, `{"M": 1}`), "fail", ""},
		"an empty column":           {`{}`, twoSampleProportionsAnswer(`{"T": 1, "B": 1}`, `{"T": 1, "B": 2}`), "fail", ""},
		"text":                      {`{}`, twoSampleProportionsAnswer(some, `{"T": "50", "B": 30, "NK": 20}`), "fail", ""},
		"null":                      {`{}`, twoSampleProportionsAnswer(some, `{"T": null, "B": 30, "NK": 20}`), "fail", ""},
		"a list":                    {`{}`, twoSampleProportionsAnswer(some, `{"T": [50], "B": 30, "NK": 20}`), "fail", ""},
		"huge":                      {`{}`, twoSampleProportionsAnswer(some, `{"T": `+hugeInteger()+`, "B": 30, "NK": 20}`), "fail", ""},
		"one sample":                {`{}`, proportionsAnswer([]float64{3, 1}), "fail", ""},
		"no samples":                {`{}`, `{"cell_types": ["T"], "samples": []}`, "fail", ""},
		"no cell types":             {`{}`, `{"cell_types": [], "samples": [{"sample": "a", "proportions": {}}, {"sample": "b", "proportions": {}}]}`, "fail", ""},
		"cell types as text":        {`{}`, `{"cell_types": "TB", "samples": [{"sample": "a", "proportions": {}}, {"sample": "b", "proportions": {}}]}`, "fail", ""},
		"a sample without a name":   {`{}`, `{"cell_types": ["T"], "samples": [{"proportions": {"T": 1}}, {"sample": "b", "proportions": {"T": 1}}]}`, "fail", ""},
		"a sample that is a list":   {`{}`, `{"cell_types": ["T"], "samples": [["sample", "proportions"], {"sample": "b", "proportions": {"T": 1}}]}`, "fail", ""},
		"a name that is a number":   {`{}`, `{"cell_types": ["T"], "samples": [{"sample": 1, "proportions": {"T": 1}}, {"sample": "b", "proportions": {"T": 1}}]}`, "type_error", ""},
		"a type that is a list":     {`{}`, `{"cell_types": [["T"]], "samples": [{"sample": "a", "proportions": {"T": 1}}, {"sample": "b", "proportions": {"T": 1}}]}`, "type_error", ""},
		"proportions as a list":     {`{}`, twoSampleProportionsAnswer(some, `[1, 2, 3]`), "type_error", ""},
		"proportions null":          {`{}`, twoSampleProportionsAnswer(some, `null`), "type_error", ""},
		"threshold null":            {limits("null", "1"), same, "type_error", ""},
		"threshold text":            {limits("0", `"1"`), same, "type_error", ""},
		"scoring null":              {`{"scoring": null}`, same, "type_error", ""},
		"thresholds null":           {`{"scoring": {"pass_thresholds": null}}`, same, "type_error", ""},
		"a field is missing":        {`{}`, `{"cell_types": ["T"]}`, "fail", ""},
		"answer is null":            {`{}`, `null`, "fail", ""},
		"answer is a number":        {`{}`, `5`, "type_error", ""},
	})
}

// The chi-square statistics equal those of scipy 1.10.1, and p does to 12 digits.
func TestChiSquare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows         [][]float64
		statistic, v string
		p            float64
	}{
		{[][]float64{{10, 20}, {30, 25}}, "2.706155303030302", "0.17842959735459024", 0.0999616438735349},
		{[][]float64{{.6, .4}, {.5, .5}}, "0.0", "0.0", 1}, // the correction removes the whole difference
		{[][]float64{{.5, .3, .2}, {.2, .3, .5}}, "0.2571428571428571", "0.35856858280031806", 0.8793507494073061},
		{[][]float64{{700, 10}, {20, 900}}, "1506.7739965124028", "0.9614578643155585", 0},
		{[][]float64{{90, 5, 5}, {30, 40, 30}}, "75.07936507936508", "0.6126963566048238", 4.974197451002384e-17},
	} {
		got := gradeConfigAndAnswerJSON(t, "proportion_consistency", `{}`, proportionsAnswer(c.rows...))
		require.Equal(t, c.statistic, pyvaluetest.MarshalToString(t, got.Metrics.Get("chi2_statistic")))
		require.Equal(t, c.v, pyvaluetest.MarshalToString(t, got.Metrics.Get("cramers_v")))
		require.InDelta(t, c.p, floatMetric(t, got, "p_value"), 1e-12*c.p)
	}
}

// floatMetric returns the value of a metric that is a float. It fails the test if it is
// not.
func floatMetric(t *testing.T, got grading.Result, metric string) (f float64) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(pyvaluetest.MarshalToString(t, got.Metrics.Get(metric))), &f), got.Reasoning)
	return f
}

func TestProportionConsistencyReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "proportion_consistency", `{"scoring": {"pass_thresholds": {"chi2_q_min": 2, "cramers_v_max": -1}}}`, proportionsAnswer([]float64{3, 1}, []float64{3, 1}))
	require.Equal(t, `Proportion consistency: FAIL

x q of the chi-square test: 1.0, expected at least 2
x Cramér's V: 0.0, expected at most -1

Failures:
- q of the chi-square test: found 1.0, expected at least 2: off by 1
- Cramér's V: found 0.0, expected at most -1: off by 1`, got.Reasoning)
	for answer, want := range map[string]string{
		proportionsAnswer([]float64{0, 1}, []float64{0, 1}):         "row 1 or column 1 has nothing",
		proportionsAnswer([]float64{-1, 1}, []float64{0, 1}):        "without negative values, found -1.0",
		proportionsAnswer([]float64{1}):                             "found 1 and 1",
		twoSampleProportionsAnswer(`{"T": "50"}`, `{}`):             "samples[0]: the proportion of 'T' is not a number but '50'",
		`{"cell_types": ["T"], "samples": [1, {"proportions": 1}]}`: "samples[0]: want an object with sample and proportions, found 1",
	} {
		require.Contains(t, gradeConfigAndAnswerJSON(t, "proportion_consistency", `{}`, answer).Reasoning, want)
	}
}
