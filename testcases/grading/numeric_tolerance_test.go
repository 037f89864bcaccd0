package grading_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func gradeConfigAndAnswerJSON(t *testing.T, kind, config, answer string) grading.Result {
	t.Helper()
	return grading.Grade(t.Context(), grading.Spec{Type: kind, Config: pyvaluetest.MustDecode(t, config), Field: "grader"}, grading.Input{Answer: pyvaluetest.MustDecode(t, answer)})
}

// Each row tests one rule of the numeric_tolerance grader. outcome is "pass", "fail" or
// the kind of the error; error is the metric n_error, "" if there must be no metrics.
func TestNumericTolerance(t *testing.T) {
	t.Parallel()
	huge := "1" + strings.Repeat("0", 400)
	for name, c := range map[string]struct{ config, answer, outcome, err string }{
		"exact by default":                    {`{"ground_truth": {"n": 5}}`, `{"n": 5.0}`, "pass", "0.0"},
		"exact by default, off":               {`{"ground_truth": {"n": 5}}`, `{"n": 5.0000001}`, "fail", "1.0000000028043132e-07"},
		"edge is inside":                      {toleranceConfig(`{"type": "absolute", "value": 25}`, "100"), `{"n": 125}`, "pass", "25"},
		"edge in doubles":                     {toleranceConfig(`{"type": "absolute", "value": 0.1}`, "1.0"), `{"n": 1.1}`, "fail", "0.10000000000000009"},
		"type is absolute by default":         {toleranceConfig(`{"value": 1}`, "5"), `{"n": 6}`, "pass", "1"},
		"value is 0 by default":               {toleranceConfig(`{"type": "absolute"}`, "5"), `{"n": 6}`, "fail", "1"},
		"asymmetric low edge":                 {toleranceConfig(`{"lower": 2, "upper": 4}`, "12"), `{"n": 10}`, "pass", "-2"},
		"asymmetric below":                    {toleranceConfig(`{"lower": 2, "upper": 4}`, "12"), `{"n": 9}`, "fail", "-3"},
		"asymmetric ignores value":            {toleranceConfig(`{"lower": 2, "upper": 4, "value": 100}`, "12"), `{"n": 17}`, "fail", "5"},
		"only lower is no bound":              {toleranceConfig(`{"lower": 2, "value": 3}`, "12"), `{"n": 9}`, "pass", "3"},
		"lower null counts as given":          {toleranceConfig(`{"lower": null, "upper": 4, "value": 9}`, "12"), `{"n": 12}`, "fail", `{"$float":"Infinity"}`},
		"relative":                            {toleranceConfig(`{"type": "relative", "value": 0.05}`, "200"), `{"n": 190}`, "pass", "0.05"},
		"relative ignores lower and upper":    {toleranceConfig(`{"type": "relative", "value": 0.05, "lower": 100, "upper": 100}`, "200"), `{"n": 100}`, "fail", "0.5"},
		"relative around negative":            {toleranceConfig(`{"type": "relative", "value": 0.5}`, "-200"), `{"n": -100}`, "pass", "0.5"},
		"relative around 0 never passes":      {toleranceConfig(`{"type": "relative", "value": 1}`, "0"), `{"n": 0}`, "fail", `{"$float":"Infinity"}`},
		"relative around 0, infinite":         {toleranceConfig(`{"type": "relative", "value": Infinity}`, "0"), `{"n": 0}`, "pass", `{"$float":"Infinity"}`},
		"relative around false":               {toleranceConfig(`{"type": "relative", "value": 1}`, "false"), `{"n": 0}`, "fail", `{"$float":"Infinity"}`},
		"relative of huge integers":           {toleranceConfig(`{"type": "relative", "value": 0.01}`, huge), `{"n": ` + huge + `1}`, "fail", "9.0"},
		"min":                                 {toleranceConfig(`{"type": "min", "value": 0.8}`, "0.9"), `{"n": 0.8}`, "pass", "0"},
		"min below":                           {toleranceConfig(`{"type": "min", "value": 3}`, "9"), `{"n": 1}`, "fail", "2"},
		"min without value is 0":              {toleranceConfig(`{"type": "min"}`, "9"), `{"n": 1}`, "pass", "0"},
		"min infinite":                        {toleranceConfig(`{"type": "min", "value": 3}`, "9"), `{"n": "inf"}`, "pass", "0"},
		"min NaN":                             {toleranceConfig(`{"type": "min", "value": 3}`, "9"), `{"n": NaN}`, "fail", "0"},
		"min does not read the truth":         {toleranceConfig(`{"type": "min", "value": 3}`, "null"), `{"n": 3}`, "pass", "0"},
		"min orders lists":                    {toleranceConfig(`{"type": "min", "value": [1]}`, "0"), `{"n": [1, 0]}`, "pass", "0"},
		"max":                                 {toleranceConfig(`{"type": "max", "value": 5}`, "1"), `{"n": 5}`, "pass", "0"},
		"max above":                           {toleranceConfig(`{"type": "max", "value": 5}`, "1"), `{"n": 7}`, "fail", "2"},
		"max negative infinity":               {toleranceConfig(`{"type": "max", "value": 5}`, "1"), `{"n": "-Infinity"}`, "pass", "0"},
		"max huge does not fit":               {toleranceConfig(`{"type": "max", "value": 5.0}`, "1"), `{"n": ` + huge + `}`, "overflow", ""},
		"max huge against integer":            {toleranceConfig(`{"type": "max", "value": 5}`, "1"), `{"n": ` + huge + `}`, "fail", strings.Repeat("9", 399) + "5"},
		"type range is unknown":               {toleranceConfig(`{"type": "range", "min": 0, "max": 9}`, "5"), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"type in capitals is unknown":         {toleranceConfig(`{"type": "Absolute", "value": 9}`, "5"), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"type null is unknown":                {toleranceConfig(`{"type": null, "value": 9}`, "5"), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"type list is unknown":                {toleranceConfig(`{"type": ["min"], "value": 9}`, "5"), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"string":                              {toleranceConfig(`{"value": 1}`, "5"), `{"n": " 4_0e-1 "}`, "pass", "1.0"},
		"string with unit":                    {toleranceConfig(`{"value": 1}`, "5"), `{"n": "5 kg"}`, "fail", ""},
		"string with comma":                   {toleranceConfig(`{"value": 9999}`, "5"), `{"n": "1,000"}`, "fail", ""},
		"string nan":                          {toleranceConfig(`{"value": Infinity}`, "5"), `{"n": "nan"}`, "fail", `{"$float":"NaN"}`},
		"boolean is 1":                        {toleranceConfig(`{"value": 0}`, "1"), `{"n": true}`, "pass", "0"},
		"null":                                {toleranceConfig(`{"value": 9}`, "5"), `{"n": null}`, "fail", `{"$float":"Infinity"}`},
		"list":                                {toleranceConfig(`{"value": 9}`, "5"), `{"n": [5]}`, "fail", `{"$float":"Infinity"}`},
		"object":                              {toleranceConfig(`{"value": 9}`, "5"), `{"n": {"n": 5}}`, "fail", `{"$float":"Infinity"}`},
		"value null":                          {toleranceConfig(`{"value": null}`, "5"), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"value string":                        {toleranceConfig(`{"value": "1"}`, "5"), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"truth null":                          {toleranceConfig(`{"value": 1}`, "null"), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"truth string":                        {toleranceConfig(`{"value": 1}`, `"5"`), `{"n": 5}`, "fail", `{"$float":"Infinity"}`},
		"missing":                             {toleranceConfig(`{"value": 1}`, "5"), `{"N": 5}`, "fail", ""},
		"key with a space":                    {toleranceConfig(`{"value": 1}`, "5"), `{"n ": 5}`, "fail", ""},
		"infinite truth":                      {toleranceConfig(`{"value": 1}`, "Infinity"), `{"n": Infinity}`, "fail", `{"$float":"NaN"}`},
		"integers beyond doubles":             {toleranceConfig(`{"value": 0}`, "9007199254740993"), `{"n": 9007199254740992}`, "fail", "1"},
		"integers beyond doubles, as float":   {toleranceConfig(`{"value": 0}`, "9007199254740993"), `{"n": 9007199254740992.0}`, "pass", "0.0"},
		"huge minus float":                    {toleranceConfig(`{"value": 1}`, huge), `{"n": 5.0}`, "overflow", ""},
		"huge distance cannot be written":     {toleranceConfig(`{"value": 1}`, huge), `{"n": 5}`, "overflow", ""},
		"huge distance inside":                {toleranceConfig(`{"value": `+huge+`}`, huge), `{"n": 0}`, "overflow", ""},
		"huge and equal":                      {toleranceConfig(`{"value": 1}`, huge), `{"n": ` + huge + `}`, "pass", "0"},
		"one tolerance for all":               {`{"ground_truth": {"n": 5}, "tolerances": {"type": "absolute", "value": 2}}`, `{"n": 7}`, "pass", "2"},
		"one for all without type is none":    {`{"ground_truth": {"n": 5}, "tolerances": {"value": 2}}`, `{"n": 7}`, "fail", "2"},
		"an entry beats the one for all":      {`{"ground_truth": {"n": 5}, "tolerances": {"type": "absolute", "value": 2, "n": {"value": 0}}}`, `{"n": 6}`, "fail", "1"},
		"not without a value":                 {`{"ground_truth": {"n": 5}, "tolerances": {"type": "absolute", "value": 2, "n": {"lower": 0, "upper": 0}}}`, `{"n": 6}`, "pass", "1"},
		"tolerance":                           {`{"ground_truth": {"n": 5}, "tolerance": {"n": {"value": 2}}}`, `{"n": 7}`, "pass", "2"},
		"tolerance yields to tolerances":      {`{"ground_truth": {"n": 5}, "tolerance": {"n": {"value": 2}}, "tolerances": {}}`, `{"n": 7}`, "fail", "2"},
		"tolerances null":                     {`{"ground_truth": {"n": 5}, "tolerances": null}`, `{"n": 5}`, "type_error", ""},
		"tolerance a bare number":             {`{"ground_truth": {"n": 5}, "tolerance": 50}`, `{"n": 5}`, "type_error", ""},
		"field tolerance a bare number":       {toleranceConfig(`50`, "5"), `{"n": 5}`, "type_error", ""},
		"bare number, field already failed":   {toleranceConfig(`50`, "5"), `{"m": 5}`, "fail", ""},
		"bare number, field null":             {`{"ground_truth": {"n": 5}, "tolerance": 50}`, `{"n": null}`, "fail", `{"$float":"Infinity"}`},
		"truth is a list":                     {`{"ground_truth": [5]}`, `{"n": 5}`, "type_error", ""},
		"truth is null":                       {`{"ground_truth": null}`, `{"n": 5}`, "type_error", ""},
		"answer is a list":                    {toleranceConfig(`{"value": 1}`, "5"), `["n"]`, "type_error", ""},
		"answer is a string":                  {toleranceConfig(`{"value": 1}`, "5"), `"n"`, "type_error", ""},
		"no truth passes":                     {`{}`, `{"n": 5}`, "pass", ""},
		"no truth passes anything":            {`{"ground_truth": {}}`, `[1]`, "pass", ""},
		"unbelievably precise":                {toleranceConfig(`{"value": 0}`, "0.1"), `{"n": 0.1000000000000000055511151231257827}`, "pass", "0.0"},
		"negative tolerance":                  {toleranceConfig(`{"value": -1}`, "5"), `{"n": 5}`, "fail", "0"},
		"overflowing quotient":                {toleranceConfig(`{"type": "relative", "value": 1}`, "1"), `{"n": ` + huge + `}`, "overflow", ""},
		"one for all, max, huge":              {`{"ground_truth": {"n": 5}, "tolerances": {"type": "max", "value": 2}}`, `{"n": ` + huge + `}`, "overflow", ""},
		"one for all, min, huge, within":      {`{"ground_truth": {"n": 5}, "tolerances": {"type": "min", "value": 2}}`, `{"n": ` + huge + `}`, "pass", "0"},
		"one for all, lower, upper, huge":     {`{"ground_truth": {"n": 5}, "tolerances": {"type": "absolute", "lower": 1, "upper": 2}}`, `{"n": ` + huge + `}`, "overflow", ""},
		"lower, upper, huge":                  {toleranceConfig(`{"lower": 1, "upper": 2}`, "5"), `{"n": ` + huge + `}`, "fail", strings.Repeat("9", 399) + "5"},
		"the one for all, huge, own bounds":   {`{"ground_truth": {"n": 5}, "tolerances": {"type": "absolute", "value": ` + huge + `, "n": {"lower": 1, "upper": 2}}}`, `{"n": -` + huge + `}`, "overflow", ""},
		"within one for all, own bounds":      {`{"ground_truth": {"n": 0}, "tolerances": {"type": "absolute", "value": ` + huge + `, "n": {"lower": 1, "upper": 2}}}`, `{"n": ` + huge + `}`, "pass", huge},
		"own entry null":                      {toleranceConfig(`null`, "5"), `{"n": 5}`, "type_error", ""},
		"own entry a list with value":         {`{"ground_truth": {"n": 5}, "tolerances": {"type": "absolute", "n": ["value"]}}`, `{"n": 5}`, "type_error", ""},
		"own entry a number, field null":      {toleranceConfig(`50`, "5"), `{"n": null}`, "type_error", ""},
		"a field named like the type":         {`{"ground_truth": {"type": 5}, "tolerances": {"type": "absolute", "value": 2}}`, `{"type": 5}`, "type_error", ""},
		"tolerances a list":                   {`{"ground_truth": {"n": 5}, "tolerances": []}`, `{"n": 5}`, "type_error", ""},
		"tolerances null, every field failed": {`{"ground_truth": {"n": 5}, "tolerances": null}`, `{"n": "x"}`, "fail", ""},
		"no value, flat":                      {`{"ground_truth": {"n": 5}, "tolerances": {"type": "max"}}`, `{"n": -5}`, "pass", "0"},
		"min and max without value":           {toleranceConfig(`{"type": "min", "min": 3}`, "5"), `{"n": -1}`, "fail", "1"},
		"only upper null is no bound":         {toleranceConfig(`{"upper": null, "value": 3}`, "12"), `{"n": 9}`, "pass", "3"},
		"edge, one unit outside":              {toleranceConfig(`{"value": 25}`, "100"), `{"n": ` + nextFloatAbove(125) + `}`, "fail", "25.000000000000014"},
		"relative edge, one unit outside":     {toleranceConfig(`{"type": "relative", "value": `+nextFloatBelow(0.05)+`}`, "200"), `{"n": 190}`, "fail", "0.05"},
		"min, one unit outside":               {toleranceConfig(`{"type": "min", "value": 1.0}`, "9"), `{"n": ` + nextFloatBelow(1) + `}`, "fail", "1.1102230246251565e-16"},
		"negative zero":                       {toleranceConfig(`{"value": 0}`, "0"), `{"n": -0.0}`, "pass", "0.0"},
		"dotted name of the tolerance itself": {`{"ground_truth": {"type": 5}, "tolerances": {"type": {"value": 1}}}`, `{"type": 6}`, "pass", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gradeConfigAndAnswerJSON(t, "numeric_tolerance", c.config, c.answer)
			require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), got.Reasoning)
			err := ""
			if got.Metrics.Has("n_error") {
				err = pyvaluetest.MarshalToString(t, got.Metrics.Get("n_error"))
				require.Equal(t, pyvalue.Value(pyvalue.Bool(got.Passed)), got.Metrics.Get("n_pass"))
			}
			require.Equal(t, c.err, err)
			if got.Error != nil {
				require.Zero(t, got.Score)
				require.Zero(t, got.Metrics.Len())
			}
		})
	}
}

func toleranceConfig(tolerance, truth string) string {
	return fmt.Sprintf(`{"ground_truth": {"n": %s}, "tolerances": {"n": %s}}`, truth, tolerance)
}

func resultOutcomeWithErrorKind(r grading.Result) string {
	switch {
	case r.Error != nil:
		return r.Error.Kind
	case r.Passed:
		return "pass"
	default:
		return "fail"
	}
}

func TestNumericToleranceDottedNames(t *testing.T) {
	t.Parallel()
	config := `{"ground_truth": {"metrics.v": 0.5}, "tolerances": {"metrics.v": {"value": 0.1}}}`
	for answer, want := range map[string]string{
		`{"metrics": {"v": 0.55}}`:               "pass",
		`{"metrics.v": 0.5}`:                     "fail",
		`{"metrics": {"v": 0.7}}`:                "fail",
		`{"metrics": [0.5]}`:                     "fail",
		`{"metrics": {"v": 0.5}, "metrics.": 1}`: "pass",
		`[1]`:                                    "fail",
		`"metrics.v"`:                            "fail",
		`5`:                                      "fail",
	} {
		require.Equal(t, want, resultOutcomeWithErrorKind(gradeConfigAndAnswerJSON(t, "numeric_tolerance", config, answer)), answer)
	}
}

func TestNumericToleranceScoresAndReasoning(t *testing.T) {
	t.Parallel()
	config := `{"ground_truth": {"cells": 1500, "umi": 820.5, "auc": 0.9, "gone": 1}, "tolerances": {
		"cells": {"value": 25}, "umi": {"type": "relative", "value": 0.05}, "auc": {"type": "min", "value": 0.8}}}`
	got := gradeConfigAndAnswerJSON(t, "numeric_tolerance", config, `{"cells": 1540, "umi": 820, "auc": "0.7"}`)
	require.False(t, got.Passed)
	require.InDelta(t, 0.25, got.Score, 0)
	require.JSONEq(t, `{"cells": 0.0, "umi": 1.0, "auc": 0.0, "gone": 0.0}`, pyvaluetest.MarshalToString(t, got.FieldScores))
	require.Equal(t, strings.TrimSpace(`
Numeric tolerance: FAIL

x cells: 1540, expected 1500 within 25
+ umi: 820, expected 820.5 within 5 % of it
x auc: 0.7, expected at least 0.8

Failures:
- cells: found 1540, expected 1500 within 25: off by 40, which is 15 too much
- auc: found 0.7, expected at least 0.8: off by 0.1
- gone: missing from the answer, expected 1`), got.Reasoning)
}

// An answer that passes within a tolerance also passes within a wider tolerance of the
// same type.
func TestWiderToleranceNeverFails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"absolute", "relative", "min", "max", "both"}).Draw(t, "type")
		actual, expected := drawFloatOrInteger(t, "actual"), drawFloatOrInteger(t, "expected")
		narrow := rapid.Float64Range(0, 1e6).Draw(t, "narrow")
		wide := narrow + rapid.Float64Range(0, 1e6).Draw(t, "more")
		if kind == "min" {
			narrow, wide = wide, narrow
		}
		before, after := gradeWithTolerance(t, kind, actual, expected, narrow), gradeWithTolerance(t, kind, actual, expected, wide)
		if before.Passed {
			require.True(t, after.Passed, "%s\n%s", before.Reasoning, after.Reasoning)
		}
	})
}

// An answer that passed is within the tolerance, calculated independently of the
// grader.
func TestPassImpliesWithinTolerance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"absolute", "relative", "min", "max", "both"}).Draw(t, "type")
		a := rapid.Float64Range(-100, 100).Draw(t, "actual")
		e := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(-100, 100)).Draw(t, "expected")
		v := rapid.Float64Range(0, 50).Draw(t, "value")
		got := gradeWithTolerance(t, kind, pyvalue.Float(a), pyvalue.Float(e), v)
		within := map[string]bool{
			"absolute": math.Abs(a-e) <= v,
			"relative": e != 0 && math.Abs(a-e)/math.Abs(e) <= v,
			"min":      a >= v,
			"max":      a <= v,
			"both":     e-v <= a && a <= e+v,
		}
		require.Equal(t, within[kind], got.Passed, got.Reasoning)
		require.Nil(t, got.Error)
	})
}

func drawFloatOrInteger(t *rapid.T, label string) pyvalue.Value {
	if rapid.Bool().Draw(t, label+" is whole") {
		return pyvalue.NewInt(rapid.Int64Range(-1e6, 1e6).Draw(t, label))
	}
	return pyvalue.Float(rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)})).Draw(t, label))
}

func gradeWithTolerance(t *rapid.T, kind string, actual, expected pyvalue.Value, value float64) grading.Result {
	tolerance := pyvalue.NewObject("type", pyvalue.String(kind))
	tolerance.Set("value", pyvalue.Float(value))
	if kind == "both" {
		tolerance = pyvalue.NewObject("lower", pyvalue.Float(value))
		tolerance.Set("upper", pyvalue.Float(value))
	}
	config := pyvalue.NewObject("ground_truth", pyvalue.NewObject("n", expected))
	config.Set("tolerances", pyvalue.NewObject("n", tolerance))
	spec := grading.Spec{Type: "numeric_tolerance", Config: config}
	return grading.Grade(t.Context(), spec, grading.Input{Answer: pyvalue.NewObject("n", actual)})
}
