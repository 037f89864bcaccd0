package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func rangeConfig(low, truth, high string) string {
	return fmt.Sprintf(`{"ground_truth": {"n": %s}, "ranges": {"n": {"min": %s, "max": %s}}}`, truth, low, high)
}

func TestNumericRange(t *testing.T) {
	t.Parallel()
	unit := rangeConfig("0", "0.5", "1")
	const unread = `{"n_actual": null, "n_pass": false}`
	runGraderTestRows(t, "numeric_range", map[string]graderTestRow{
		"inside":                         {unit, `{"n": 0.25}`, "pass", `{"n_expected": 0.5, "n_min": 0, "n_max": 1, "n_actual": 0.25, "n_pass": true}`},
		"the minimum is outside":         {unit, `{"n": 0}`, "fail", `{"n_actual": 0, "n_pass": false}`},
		"the maximum is outside":         {unit, `{"n": 1.0}`, "fail", `{"n_actual": 1.0}`},
		"the nearest above the minimum":  {unit, `{"n": ` + nextFloatAbove(0) + `}`, "pass", `{"n_pass": true}`},
		"the nearest below the maximum":  {unit, `{"n": ` + nextFloatBelow(1) + `}`, "pass", `{"n_pass": true}`},
		"negative zero is the minimum":   {unit, `{"n": -0.0}`, "fail", `{"n_actual": -0.0}`},
		"true is 1":                      {unit, `{"n": true}`, "fail", `{"n_actual": 1}`},
		"true is 1, inside":              {rangeConfig("0", "0.5", "2"), `{"n": true}`, "pass", `{"n_actual": 1}`},
		"text":                           {unit, `{"n": " 2_5e-2 "}`, "pass", `{"n_actual": 0.25}`},
		"text that is not a number":      {unit, `{"n": "50%"}`, "fail", `{"n_actual": "50%", "n_pass": false}`},
		"text that is NaN":               {unit, `{"n": "nan"}`, "fail", `{"n_actual": NaN}`},
		"null":                           {unit, `{"n": null}`, "fail", unread},
		"missing":                        {unit, `{"N": 0.5}`, "fail", unread},
		"list":                           {unit, `{"n": [0.5]}`, "fail", `{"n_actual": [0.5], "n_pass": false}`},
		"object":                         {unit, `{"n": {"n": 0.5}}`, "fail", `{"n_actual": {"n": 0.5}}`},
		"NaN":                            {unit, `{"n": NaN}`, "fail", `{"n_actual": NaN}`},
		"infinite bounds":                {rangeConfig("-Infinity", "5", "Infinity"), `{"n": ` + hugeInteger() + `}`, "pass", `{"n_min": -Infinity, "n_max": Infinity}`},
		"infinity is no less than it":    {rangeConfig("-Infinity", "5", "Infinity"), `{"n": Infinity}`, "fail", `{"n_pass": false}`},
		"huge bounds":                    {rangeConfig("-"+hugeInteger(), "0", hugeInteger()), `{"n": 1e308}`, "pass", `{"n_actual": 1e308}`},
		"integers beyond doubles":        {rangeConfig("9007199254740992.0", "1e17", "1e18"), `{"n": 9007199254740993}`, "pass", `{"n_pass": true}`},
		"NaN minimum":                    {rangeConfig("NaN", "0.5", "1"), `{"n": 0.5}`, "fail", unread},
		"NaN maximum":                    {rangeConfig("0", "0.5", "NaN"), `{"n": 0.5}`, "fail", unread},
		"NaN ground truth":               {rangeConfig("0", "NaN", "1"), `{"n": 0.5}`, "fail", unread},
		"null minimum":                   {rangeConfig("null", "0.5", "1"), `{"n": 0.5}`, "fail", `{"n_min": null, "n_actual": null}`},
		"boolean minimum":                {rangeConfig("false", "0.5", "1"), `{"n": 0.5}`, "fail", `{"n_min": false, "n_actual": null}`},
		"boolean maximum":                {rangeConfig("0", "0.5", "true"), `{"n": 0.5}`, "fail", unread},
		"text as maximum":                {rangeConfig("0", "0.5", `"1"`), `{"n": 0.5}`, "fail", `{"n_max": "1", "n_actual": null}`},
		"boolean ground truth":           {rangeConfig("0", "true", "2"), `{"n": 1}`, "fail", `{"n_expected": true, "n_actual": null}`},
		"list as ground truth":           {rangeConfig("0", "[1]", "2"), `{"n": 1}`, "fail", unread},
		"minimum above maximum":          {rangeConfig("2", "1", "0"), `{"n": 1}`, "fail", unread},
		"minimum is maximum":             {rangeConfig("1", "1", "1"), `{"n": 1}`, "fail", unread},
		"ground truth on the edge":       {rangeConfig("0", "1", "1"), `{"n": 0.5}`, "fail", unread},
		"ground truth outside":           {rangeConfig("0", "3", "1"), `{"n": 0.5}`, "fail", unread},
		"no bounds":                      {`{"ground_truth": {"n": 1}, "ranges": {"n": {}}}`, `{"n": 1}`, "fail", `{"n_min": null, "n_max": null}`},
		"no range of its own":            {`{"ground_truth": {"n": 1}, "ranges": {"m": {"min": 0, "max": 2}}}`, `{"n": 1}`, "fail", `{"n_min": null, "n_actual": null}`},
		"a range that is a list":         {`{"ground_truth": {"n": 1}, "ranges": {"n": [0, 2]}}`, `{"n": 1}`, "fail", unread},
		"a range that is null":           {`{"ground_truth": {"n": 1}, "ranges": {"n": null}}`, `{"n": 1}`, "fail", unread},
		"no ground truth":                {`{"ranges": {"n": {"min": 0, "max": 2}}}`, `{"n": 1}`, "fail", ""},
		"an empty ground truth":          {`{"ground_truth": {}, "ranges": {"n": {"min": 0, "max": 2}}}`, `{"n": 1}`, "fail", ""},
		"a ground truth that is a list":  {`{"ground_truth": [1], "ranges": {"n": {"min": 0, "max": 2}}}`, `{"n": 1}`, "fail", ""},
		"no ranges":                      {`{"ground_truth": {"n": 1}}`, `{"n": 1}`, "fail", ""},
		"ranges that are null":           {`{"ground_truth": {"n": 1}, "ranges": null}`, `{"n": 1}`, "fail", ""},
		"empty ranges":                   {`{"ground_truth": {"n": 1}, "ranges": {}}`, `{"n": 1}`, "fail", ""},
		"answer is a list":               {unit, `["n"]`, "type_error", ""},
		"answer is a number":             {unit, `5`, "type_error", ""},
		"answer is text, range is bad":   {rangeConfig("1", "1", "1"), `"n"`, "fail", unread},
		"a path":                         {`{"ground_truth": {"a.b": 1}, "ranges": {"a.b": {"min": 0, "max": 2}}}`, `{"a": {"b": 1.5}}`, "pass", `{"a.b_actual": 1.5}`},
		"a path is no key of the answer": {`{"ground_truth": {"a.b": 1}, "ranges": {"a.b": {"min": 0, "max": 2}}}`, `{"a.b": 1.5}`, "fail", `{"a.b_actual": null}`},
		"a path is a key of the ranges":  {`{"ground_truth": {"a.b": 1}, "ranges": {"a": {"b": {"min": 0, "max": 2}}}}`, `{"a": {"b": 1.5}}`, "fail", `{"a.b_actual": null}`},
		"a path in a list":               {`{"ground_truth": {"a.b": 1}, "ranges": {"a.b": {"min": 0, "max": 2}}}`, `[1]`, "fail", `{"a.b_actual": null}`},
	})
}

func TestNumericRangeScoresAndReasoning(t *testing.T) {
	t.Parallel()
	config := `{"ground_truth": {"a": 1, "b": 1, "c": 1, "d": 1}, "ranges": {"a": {"min": 0, "max": 2}, "b": {"min": 0, "max": 2}, "c": {"min": 5, "max": 2}, "d": {"min": 0, "max": 2}}}`
	got := gradeConfigAndAnswerJSON(t, "numeric_range", config, `{"a": 1, "b": 2.5, "c": 3}`)
	require.InDelta(t, 0.25, got.Score, 0)
	require.Equal(t, `{"a":1.0,"b":0.0,"c":0.0,"d":0.0}`, pyvaluetest.MarshalToString(t, got.FieldScores))
	require.Equal(t, []string{"a_expected", "a_min", "a_max", "a_actual", "a_pass"}, keysOfObject(got.Metrics)[:5])
	require.Equal(t, `Numeric range: FAIL

+ a: 1, expected between 0 and 2
x b: 2.5, expected between 0 and 2
x c: None, expected between 5 and 2
x d: None, expected between 0 and 2

Failures:
- b: found 2.5, expected more than 0 and less than 2: off by 0.5
- c: its ground truth 1 is not strictly between min 5 and max 2
- d: missing from the answer`, got.Reasoning)
	require.Nil(t, gradeConfigAndAnswerJSON(t, "numeric_range", `{}`, `{"a": 1}`).FieldScores)
}
