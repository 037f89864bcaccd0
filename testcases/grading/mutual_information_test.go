package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

func contingencyAnswer(clusters, samples, contingency string) string {
	return fmt.Sprintf(`{"clusters": %s, "samples": %s, "contingency": %s}`, clusters, samples, contingency)
}

// squareContingencyAnswer returns an answer with a contingency table of two clusters
// and two samples, as JSON.
func squareContingencyAnswer(contingency string) string {
	return contingencyAnswer(`["k0", "k1"]`, `["s0", "s1"]`, contingency)
}

func adjustedMutualInformationConfig(least, most string) string {
	return fmt.Sprintf(`{"scoring": {"pass_thresholds": {"ami_min": %s, "ami_max": %s}}}`, least, most)
}

func TestMutualInformation(t *testing.T) {
	t.Parallel()
	const apart, anything = `[[10, 0], [0, 10]]`, `{"scoring": {"pass_thresholds": {"ami_min": -1}}}`
	runGraderTestRows(t, "adjusted_mutual_information", map[string]graderTestRow{
		"apart":                                  {`{}`, squareContingencyAnswer(apart), "pass", `{"ami": 1.0, "ami_min_threshold": 0.0, "ami_max_threshold": null, "clusters": ["k0", "k1"], "samples": ["s0", "s1"]}`},
		"on the upper threshold":                 {adjustedMutualInformationConfig("0", "1"), squareContingencyAnswer(apart), "pass", `{"ami_min_threshold": 0, "ami_max_threshold": 1}`},
		"above it":                               {adjustedMutualInformationConfig("0", nextFloatBelow(1)), squareContingencyAnswer(apart), "fail", `{"ami": 1.0}`},
		"on the lower threshold":                 {adjustedMutualInformationConfig("1", "null"), squareContingencyAnswer(apart), "pass", `{"ami_max_threshold": null}`},
		"below it":                               {adjustedMutualInformationConfig(nextFloatAbove(1), "null"), squareContingencyAnswer(apart), "fail", `{"ami": 1.0}`},
		"perfectly mixed fails unless":           {`{}`, squareContingencyAnswer(`[[50, 50], [50, 50]]`), "fail", `{"ami_min_threshold": 0.0}`},
		"perfectly mixed and let pass":           {adjustedMutualInformationConfig("-0.05", "0.2"), squareContingencyAnswer(`[[50, 50], [50, 50]]`), "pass", `{"ami_max_threshold": 0.2}`},
		"one cluster":                            {`{}`, contingencyAnswer(`["k"]`, `["s0", "s1"]`, `[[3, 3]]`), "pass", `{"ami": 0.0}`},
		"one sample":                             {`{}`, contingencyAnswer(`["k0", "k1"]`, `["s"]`, `[[3], [4]]`), "pass", `{"ami": 0.0}`},
		"one of each":                            {`{}`, contingencyAnswer(`["k"]`, `["s"]`, `[[3]]`), "pass", `{"ami": 1.0}`},
		"a single count":                         {`{}`, squareContingencyAnswer(`[[0, 0], [1, 0]]`), "pass", `{"ami": 1.0}`},
		"two singletons":                         {`{}`, squareContingencyAnswer(`[[1, 0], [0, 1]]`), "pass", `{"ami": 0.0}`},
		"three singletons":                       {`{}`, contingencyAnswer(`[0, 1, 2]`, `[0, 1, 2]`, `[[0, 1, 0], [1, 0, 0], [0, 0, 1]]`), "pass", `{"ami": 0.0}`},
		"text is read as numbers":                {`{}`, squareContingencyAnswer(`[["10", " 0 "], ["0.0", "1_0e0"]]`), "pass", `{"ami": 1.0}`},
		"booleans are numbers":                   {`{}`, squareContingencyAnswer(`[[true, false], [false, true]]`), "pass", `{"ami": 0.0}`},
		"half to even":                           {`{}`, squareContingencyAnswer(`[[0.5, 1.5], [2.5, 0.49]]`), "pass", `{"ami": 1.0}`}, // rounded: 0, 2; 2, 0
		"rounded to nothing":                     {`{}`, squareContingencyAnswer(`[[0.5, 0.2], [0, 0]]`), "fail", ""},
		"equal labels are one":                   {`{}`, contingencyAnswer(`["k", "k"]`, `["s0", "s1"]`, apart), "pass", `{"ami": 0.0, "clusters": ["k", "k"]}`},
		"1 and 1.0 are one":                      {`{}`, contingencyAnswer(`[1, 1.0]`, `["s0", "s1"]`, apart), "pass", `{"ami": 0.0}`},
		"1 and true are one":                     {`{}`, contingencyAnswer(`[1, true]`, `["s0", "s1"]`, apart), "pass", `{"ami": 0.0}`},
		"1 and text are one":                     {`{}`, contingencyAnswer(`[1, "1"]`, `["s0", "s1"]`, apart), "pass", `{"ami": 0.0}`},
		"text takes 1 and 1.0 apart":             {`{}`, contingencyAnswer(`[1, 1.0, "k"]`, `["s0", "s1"]`, `[[10, 0], [0, 10], [0, 0]]`), "pass", `{"ami": 0.0}`},
		"if it is counted":                       {`{}`, contingencyAnswer(`[1, 1.0, "1"]`, `[0, 1, 2]`, `[[10, 0, 0], [0, 10, 0], [10, 0, 0]]`), "pass", `{"ami": 1.0}`},
		"large integers are apart":               {`{}`, contingencyAnswer(`[9007199254740993, 9007199254740992]`, `["s0", "s1"]`, apart), "pass", `{"ami": 1.0}`},
		"unless one is a double":                 {`{}`, contingencyAnswer(`[9007199254740993, 9007199254740992.0]`, `["s0", "s1"]`, apart), "pass", `{"ami": 0.0}`},
		"zeros are one":                          {`{}`, contingencyAnswer(`[0.0, -0.0]`, `["s0", "s1"]`, apart), "pass", `{"ami": 0.0}`},
		"a label without counts may be anything": {`{}`, contingencyAnswer(`["k0", "k1", null]`, `["s0", "s1"]`, `[[10, 0], [0, 10], [0, 0]]`), "pass", `{"ami": 1.0}`},
		"a label of NaN":                         {anything, contingencyAnswer(`[1, NaN]`, `["s0", "s1"]`, apart), "type_error", ""},
		"an infinite label":                      {anything, contingencyAnswer(`[1, Infinity]`, `["s0", "s1"]`, apart), "type_error", ""},
		"NaN beside text is text":                {`{}`, contingencyAnswer(`["k", NaN]`, `["s0", "s1"]`, apart), "pass", `{"ami": 1.0}`},
		"a label of null":                        {anything, contingencyAnswer(`["k0", null]`, `["s0", "s1"]`, apart), "type_error", ""},
		"a label that is a list":                 {anything, contingencyAnswer(`["k0", "k1"]`, `[["s0"], ["s1"]]`, apart), "type_error", ""},
		"NaN":                                    {anything, squareContingencyAnswer(`[[1, NaN], [1, 1]]`), "value_error", ""},
		"null":                                   {anything, squareContingencyAnswer(`[[1, null], [1, 1]]`), "value_error", ""},
		"infinity":                               {anything, squareContingencyAnswer(`[[1, 1e400], [1, 1]]`), "value_error", ""},
		"infinite text":                          {anything, squareContingencyAnswer(`[[1, "inf"], [1, 1]]`), "value_error", ""},
		"too many to list":                       {anything, squareContingencyAnswer(`[[2147483647, 1], [1, 1]]`), "overflow", ""},
		"negative":                               {anything, squareContingencyAnswer(`[[1, -1], [1, 1]]`), "fail", ""},
		"minus infinity":                         {anything, squareContingencyAnswer(`[[1, -Infinity], [NaN, 1]]`), "fail", ""},
		"nothing":                                {anything, squareContingencyAnswer(`[[0, 0], [0, 0]]`), "fail", ""},
		"unreadable text":                        {anything, squareContingencyAnswer(`[[1, "many"], [1, 1]]`), "fail", ""},
		"a cell that is a list":                  {anything, squareContingencyAnswer(`[[1, [1]], [1, 1]]`), "fail", ""},
		"a huge cell":                            {anything, squareContingencyAnswer(`[[1, ` + hugeInteger() + `], [1, 1]]`), "fail", ""},
		"ragged":                                 {anything, squareContingencyAnswer(`[[1, 1], [1]]`), "fail", ""},
		"a row too few":                          {anything, squareContingencyAnswer(`[[1, 1]]`), "fail", ""},
		"a column too many":                      {anything, squareContingencyAnswer(`[[1, 1, 1], [1, 1, 1]]`), "fail", ""},
		"rows that are text":                     {anything, squareContingencyAnswer(`["11", "11"]`), "fail", ""},
		"a flat list":                            {anything, squareContingencyAnswer(`[1, 1]`), "fail", ""},
		"no table":                               {anything, squareContingencyAnswer(`[]`), "fail", ""},
		"no clusters":                            {anything, contingencyAnswer(`[]`, `["s0", "s1"]`, apart), "fail", ""},
		"samples as text":                        {anything, contingencyAnswer(`["k0", "k1"]`, `"ab"`, apart), "fail", ""},
		"the older name of samples":              {anything, `{"clusters": ["k"], "conditions": ["s"], "contingency": [[1]]}`, "fail", ""},
		"a threshold of null":                    {adjustedMutualInformationConfig("null", "null"), squareContingencyAnswer(apart), "type_error", ""},
		"a threshold of text":                    {adjustedMutualInformationConfig("0", `"1"`), squareContingencyAnswer(apart), "type_error", ""},
		"a huge threshold":                       {adjustedMutualInformationConfig("-"+hugeInteger(), "null"), squareContingencyAnswer(apart), "overflow", ""},
		"another huge threshold":                 {adjustedMutualInformationConfig("0", hugeInteger()), squareContingencyAnswer(apart), "overflow", ""},
		"scoring null":                           {`{"scoring": null}`, squareContingencyAnswer(apart), "type_error", ""},
		"answer is a list":                       {anything, `["clusters", "samples", "contingency"]`, "type_error", ""},
		"answer is a number":                     {anything, `5`, "type_error", ""},
	})
}

// The adjusted mutual information equals that of scikit-learn 1.2.1.
func TestAdjustedMutualInformationMetric(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]float64{
		`[[90, 2], [3, 95]]`:           0.8244298293855112,
		`[[50, 50], [50, 50]]`:         -0.003647286119687901,
		`[[1, 2], [3, 4]]`:             -0.10828974769256394,
		`[[2000, 2100], [1900, 2050]]`: -5.6357013495853316e-05,
	} {
		got := gradeConfigAndAnswerJSON(t, "adjusted_mutual_information", `{}`, squareContingencyAnswer(table))
		require.InEpsilon(t, want, floatMetric(t, got, "ami"), 1e-9, table)
	}
	got := gradeConfigAndAnswerJSON(t, "adjusted_mutual_information", `{}`, contingencyAnswer(`["a", "b", "c"]`, `["x", "y", "z"]`, `[[5, 1, 0], [0, 7, 2], [1, 1, 9]]`))
	require.InEpsilon(t, 0.4470289231470055, floatMetric(t, got, "ami"), 1e-12)
	got = gradeConfigAndAnswerJSON(t, "adjusted_mutual_information", `{}`, squareContingencyAnswer(`[[500000000, 500000000], [500000000, 500000000]]`))
	require.InDelta(t, 0, floatMetric(t, got, "ami"), 1e-8, "counts that could not be listed")
}

func TestMutualInformationReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "adjusted_mutual_information", adjustedMutualInformationConfig("0", "0.75"), squareContingencyAnswer(`[[10, 0], [0, 10]]`))
	require.Equal(t, `Adjusted mutual information: FAIL

+ adjusted mutual information: 1.0, expected at least 0
x adjusted mutual information: 1.0, expected at most 0.75

Failures:
- adjusted mutual information: found 1.0, expected at most 0.75: off by 0.25`, got.Reasoning)
	for table, want := range map[string]string{
		`[[1, 2]]`:              "found 2, 2 and 1 rows",
		`[[1, 2], [1]]`:         "contingency[1]: want a list of 2 counts, found [1]",
		`[[1, 2], [1, "many"]]`: "contingency[1][1]: want a count, found 'many'",
		`[[0, 0], [0, 0]]`:      "every count is 0",
		`[[0, 0], [0, NaN]]`:    "contingency[1][1]: want a finite count, found nan",
	} {
		require.Contains(t, gradeConfigAndAnswerJSON(t, "adjusted_mutual_information", `{}`, squareContingencyAnswer(table)).Reasoning, want)
	}
}

// A contingency table that would take minutes is refused at once; one that takes a few
// seconds is not.
func TestMutualInformationStepLimit(t *testing.T) {
	t.Parallel()
	const size = 1000
	row := pyvalue.List{}
	for range size {
		row = append(row, pyvalue.NewInt(50))
	}
	var table, names pyvalue.List
	for i := range size {
		table = append(table, row)
		names = append(names, pyvalue.NewInt(int64(i)))
	}
	answer := pyvalue.NewObject("clusters", names)
	answer.Set("samples", names)
	answer.Set("contingency", table)
	got := grading.Grade(t.Context(), grading.Spec{Type: "adjusted_mutual_information"}, grading.Input{Answer: answer})
	require.Equal(t, "value_error", got.Error.Kind)
	require.Contains(t, got.Error.Text, "more steps than a grader may")
}
