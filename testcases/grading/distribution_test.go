package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func distributionConfig(truth, tolerance string) string {
	return fmt.Sprintf(`{"ground_truth": {"cell_type_distribution": %s}, "tolerances": {"cell_type_percentages": {"value": %s}}}`, truth, tolerance)
}

func distributionAnswer(distribution string) string {
	return fmt.Sprintf(`{"cell_type_distribution": %s}`, distribution)
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	total := `{"ground_truth": {"cell_type_distribution": {"T": 50}, "total_cells": 100}, "tolerances": {"total_cells": {"value": 5}}}`
	runGraderTestRows(t, "distribution_comparison", map[string]graderTestRow{
		"within":                           {distributionConfig(`{"T": 60, "B": 40}`, "5"), distributionAnswer(`{"B": 38.5, "T": 61.5}`), "pass", `{"T_actual": 61.5, "T_expected": 60, "T_diff": 1.5, "T_pass": true, "B_diff": 1.5}`},
		"on the edge":                      {distributionConfig(`{"T": 60}`, "5"), distributionAnswer(`{"T": 65}`), "pass", `{"T_diff": 5}`},
		"just outside":                     {distributionConfig(`{"T": 60.0}`, "5"), distributionAnswer(`{"T": ` + nextFloatAbove(65) + `}`), "fail", `{"T_pass": false}`},
		"the tolerance just smaller":       {distributionConfig(`{"T": 60}`, nextFloatBelow(5)), distributionAnswer(`{"T": 65}`), "fail", `{"T_pass": false}`},
		"the default is 3":                 {`{"ground_truth": {"cell_type_distribution": {"T": 60}}}`, distributionAnswer(`{"T": 57}`), "pass", `{"T_diff": 3}`},
		"the default is no more":           {`{"ground_truth": {"cell_type_distribution": {"T": 60}}}`, distributionAnswer(`{"T": ` + nextFloatBelow(57) + `}`), "fail", `{"T_pass": false}`},
		"the type is not read":             {`{"ground_truth": {"cell_type_distribution": {"T": 60}}, "tolerances": {"cell_type_percentages": {"type": "relative", "value": 1}}}`, distributionAnswer(`{"T": 61}`), "pass", `{"T_diff": 1}`},
		"fractions miss":                   {distributionConfig(`{"T": 60}`, "5"), distributionAnswer(`{"T": 0.6}`), "fail", `{"T_diff": 59.4}`},
		"missing":                          {distributionConfig(`{"T": 60, "B": 40}`, "5"), distributionAnswer(`{"T": 60}`), "fail", `{"B_actual": null, "B_expected": 40, "B_diff": null, "B_pass": false, "T_pass": true}`},
		"extra":                            {distributionConfig(`{"T": 60}`, "5"), distributionAnswer(`{"z": null, "T": 60, "é": [], "B": "x"}`), "pass", `{"extra_cell_types": ["B", "z", "é"]}`},
		"an empty ground truth":            {distributionConfig(`{}`, "5"), distributionAnswer(`{"T": 1}`), "pass", `{"extra_cell_types": ["T"]}`},
		"no ground truth":                  {`{}`, distributionAnswer(`{}`), "pass", `{}`},
		"booleans are numbers":             {distributionConfig(`{"T": true}`, "false"), distributionAnswer(`{"T": 1.0}`), "pass", `{"T_expected": true, "T_diff": 0.0}`},
		"NaN":                              {distributionConfig(`{"T": 60}`, "Infinity"), distributionAnswer(`{"T": NaN}`), "fail", `{"T_actual": NaN, "T_diff": NaN}`},
		"an infinite tolerance":            {distributionConfig(`{"T": 60}`, "Infinity"), distributionAnswer(`{"T": Infinity}`), "pass", `{"T_diff": Infinity}`},
		"2^53+1":                           {distributionConfig(`{"T": 9007199254740993}`, "0"), distributionAnswer(`{"T": 9007199254740992}`), "fail", `{"T_diff": 1}`},
		"2^53+1 as a float":                {distributionConfig(`{"T": 9007199254740993}`, "0"), distributionAnswer(`{"T": 9007199254740992.0}`), "pass", `{"T_diff": 0.0}`},
		"huge, within":                     {distributionConfig(`{"T": `+hugeInteger()+`}`, "1"), distributionAnswer(`{"T": ` + hugeInteger() + `}`), "overflow", ""},
		"huge and missing":                 {distributionConfig(`{"T": `+hugeInteger()+`}`, "1"), distributionAnswer(`{}`), "overflow", ""},
		"huge and extra":                   {distributionConfig(`{"T": 1}`, "1"), distributionAnswer(`{"T": 1, "B": ` + hugeInteger() + `}`), "pass", `{"extra_cell_types": ["B"]}`},
		"huge difference":                  {distributionConfig(`{"T": 1`+zeroDigits(308)+`}`, "1"), distributionAnswer(`{"T": -1` + zeroDigits(308) + `}`), "overflow", ""},
		"huge tolerance":                   {distributionConfig(`{"T": 60}`, hugeInteger()), distributionAnswer(`{"T": 1}`), "pass", `{"T_diff": 59}`},
		"text":                             {distributionConfig(`{"T": 60}`, "5"), distributionAnswer(`{"T": "60"}`), "type_error", ""},
		"null":                             {distributionConfig(`{"T": 60}`, "5"), distributionAnswer(`{"T": null}`), "type_error", ""},
		"a list":                           {distributionConfig(`{"T": 60}`, "5"), distributionAnswer(`{"T": [60]}`), "type_error", ""},
		"text in the ground truth":         {distributionConfig(`{"T": "60"}`, "5"), distributionAnswer(`{"T": 60}`), "value_error", ""},
		"text expected, but missing":       {distributionConfig(`{"T": "60"}`, "5"), distributionAnswer(`{}`), "value_error", ""},
		"null expected, but missing":       {distributionConfig(`{"T": null}`, "5"), distributionAnswer(`{}`), "type_error", ""},
		"tolerance text":                   {distributionConfig(`{"T": 60}`, `"5"`), distributionAnswer(`{"T": 60}`), "type_error", ""},
		"tolerance text, nothing compared": {distributionConfig(`{"T": 60}`, `"5"`), distributionAnswer(`{}`), "fail", `{"T_actual": null}`},
		"tolerance null":                   {distributionConfig(`{"T": 60}`, `null`), distributionAnswer(`{"T": 60}`), "type_error", ""},
		"distribution null":                {distributionConfig(`{}`, "5"), distributionAnswer(`null`), "type_error", ""},
		"distribution a list":              {distributionConfig(`{}`, "5"), distributionAnswer(`["T"]`), "type_error", ""},
		"distribution text":                {distributionConfig(`{"T": 60}`, "5"), distributionAnswer(`"T"`), "type_error", ""},
		"expected distribution null":       {distributionConfig(`null`, "5"), distributionAnswer(`{}`), "type_error", ""},
		"expected distribution null, none": {distributionConfig(`null`, "5"), `{}`, "fail", ""},
		"no distribution":                  {distributionConfig(`{"T": 60}`, "5"), `{"T": 60}`, "fail", ""},
		"ground truth null":                {`{"ground_truth": null}`, `{}`, "type_error", ""},
		"ground truth a list":              {`{"ground_truth": []}`, `{}`, "type_error", ""},
		"tolerances null":                  {`{"tolerances": null}`, `{}`, "type_error", ""},
		"tolerances of percentages null":   {`{"tolerances": {"cell_type_percentages": null}}`, `{}`, "type_error", ""},
		"tolerances of percentages 5":      {`{"tolerances": {"cell_type_percentages": 5}}`, `{}`, "type_error", ""},
		"total":                            {total, `{"cell_type_distribution": {"T": 50}, "total_cells": 95}`, "pass", `{"total_cells_actual": 95, "total_cells_expected": 100, "total_cells_diff": 5, "total_cells_pass": true}`},
		"total off":                        {total, `{"cell_type_distribution": {"T": 50}, "total_cells": 94.5}`, "fail", `{"total_cells_diff": 5.5, "total_cells_pass": false, "T_pass": true}`},
		"total missing":                    {total, `{"cell_type_distribution": {"T": 50}}`, "pass", `{"T_pass": true}`},
		"total null":                       {total, `{"cell_type_distribution": {"T": 50}, "total_cells": null}`, "pass", `{"T_pass": true}`},
		"total text":                       {total, `{"cell_type_distribution": {"T": 50}, "total_cells": "100"}`, "type_error", ""},
		"total huge is not written so":     {total, `{"cell_type_distribution": {"T": 50}, "total_cells": ` + hugeInteger() + `}`, "fail", `{"total_cells_pass": false}`},
		"total without tolerance is 0":     {`{"ground_truth": {"total_cells": 100}}`, `{"cell_type_distribution": {}, "total_cells": 101}`, "fail", `{"total_cells_diff": 1}`},
		"total tolerance null":             {`{"ground_truth": {"total_cells": 100}, "tolerances": {"total_cells": null}}`, `{"cell_type_distribution": {}, "total_cells": 100}`, "type_error", ""},
		"total tolerance null, not needed": {`{"ground_truth": {"total_cells": 100}, "tolerances": {"total_cells": null}}`, distributionAnswer(`{}`), "pass", `{}`},
		"a type named like the total":      {`{"ground_truth": {"cell_type_distribution": {"total_cells": 7}, "total_cells": 1}}`, `{"cell_type_distribution": {"total_cells": 8}, "total_cells": 1}`, "pass", `{"total_cells_actual": 8, "total_cells_diff": 1}`},
		"answer is a list":                 {`{}`, `["T"]`, "fail", ""},
		"answer is a list with the name":   {`{}`, `["cell_type_distribution"]`, "type_error", ""},
		"answer is text with the name":     {`{}`, `"my cell_type_distribution"`, "type_error", ""},
		"answer is a number":               {`{}`, `1`, "type_error", ""},
	})
}

func TestDistributionReasoning(t *testing.T) {
	t.Parallel()
	config := `{"ground_truth": {"cell_type_distribution": {"T": 60, "B": 30, "NK": 10}, "total_cells": 10}}`
	got := gradeConfigAndAnswerJSON(t, "distribution_comparison", config, `{"total_cells": 12, "cell_type_distribution": {"NK": 16.5, "T": 59, "X": 2}}`)
	require.Equal(t, []string{
		"total_cells_actual", "total_cells_expected", "total_cells_diff", "total_cells_pass", "T_actual", "T_expected", "T_diff", "T_pass",
		"B_actual", "B_expected", "B_diff", "B_pass", "NK_actual", "NK_expected", "NK_diff", "NK_pass", "extra_cell_types",
	}, keysOfObject(got.Metrics))
	require.Equal(t, `Distribution: FAIL

x total_cells: 12, expected 10 within 0
+ T: 59, expected 60 within 3.0
x NK: 16.5, expected 10 within 3.0
+ 1 more, which do not count: ['X']

Failures:
- total_cells: found 12, expected 10 within 0: off by 2
- B: missing from the answer, expected 30
- NK: found 16.5, expected 10 within 3.0: off by 6.5`, got.Reasoning)
}
