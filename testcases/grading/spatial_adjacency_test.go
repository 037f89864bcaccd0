package grading_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func adjacencyAnswer(median, p90, near, mixed, claim string) string {
	return fmt.Sprintf(`{"median_ic_to_pc_um": %s, "p90_ic_to_pc_um": %s, "pct_ic_within_15um": %s, "pct_ic_mixed_within_55um": %s, "adjacency_pass": %s}`, median, p90, near, mixed, claim)
}

func TestSpatialAdjacency(t *testing.T) {
	t.Parallel()
	const edge = `{"median_pass": true, "p90_pass": true, "within_15um_pass": true, "mixed_55um_pass": true}`
	rows := map[string]graderTestRow{
		"on the thresholds":               {`{}`, adjacencyAnswer("25", "80.0", "60", "60.0", "true"), "pass", edge},
		"median just missed":              {`{}`, adjacencyAnswer(nextFloatAbove(25), "80", "60", "60", "true"), "fail", `{"median_pass": false, "p90_pass": true}`},
		"p90 just missed":                 {`{}`, adjacencyAnswer("25", nextFloatAbove(80), "60", "60", "true"), "fail", `{"p90_pass": false}`},
		"the near just missed":            {`{}`, adjacencyAnswer("25", "80", nextFloatBelow(60), "60", "true"), "fail", `{"within_15um_pass": false}`},
		"the mixed just missed":           {`{}`, adjacencyAnswer("25", "80", "60", nextFloatBelow(60), "true"), "fail", `{"mixed_55um_pass": false}`},
		"booleans are numbers":            {`{}`, adjacencyAnswer("true", "false", "60", "60", "true"), "pass", `{"median_ic_to_pc_um": true, "p90_ic_to_pc_um": false}`},
		"infinities":                      {`{}`, adjacencyAnswer("-Infinity", "-Infinity", "Infinity", "Infinity", "true"), "pass", edge},
		"median NaN":                      {`{}`, adjacencyAnswer("NaN", "80", "60", "60", "true"), "fail", `{"median_pass": false}`},
		"the mixed NaN":                   {`{}`, adjacencyAnswer("25", "80", "60", "NaN", "true"), "fail", `{"mixed_55um_pass": false}`},
		"text":                            {`{}`, adjacencyAnswer(`"25"`, "80", "60", "60", "true"), "value_error", ""},
		"null":                            {`{}`, adjacencyAnswer("25", "null", "60", "60", "true"), "type_error", ""},
		"a list":                          {`{}`, adjacencyAnswer("25", "80", "[60]", "60", "true"), "type_error", ""},
		"a list and such a threshold":     {adjacencyThresholdConfig("min_pct_ic_within_15um", "[60]"), adjacencyAnswer("25", "80", "[60]", "60", "true"), "type_error", ""},
		"huge and missed":                 {`{}`, adjacencyAnswer(hugeInteger(), "80", "60", "60", "true"), "overflow", ""},
		"huge and kept":                   {`{}`, adjacencyAnswer("25", "80", hugeInteger(), "60", "true"), "overflow", ""},
		"a huge threshold":                {adjacencyThresholdConfig("max_median_ic_to_pc_um", hugeInteger()), adjacencyAnswer("25", "80", "60", "60", "true"), "overflow", ""},
		"thresholds of the config":        {adjacencyThresholdConfig("max_median_ic_to_pc_um", "20"), adjacencyAnswer("20.5", "80", "60", "60", "true"), "fail", `{"max_median_threshold": 20, "max_p90_threshold": 80.0, "min_pct_15um_threshold": 60.0, "min_pct_55um_threshold": 60.0}`},
		"threshold null":                  {adjacencyThresholdConfig("max_p90_ic_to_pc_um", "null"), adjacencyAnswer("25", "80", "60", "60", "true"), "type_error", ""},
		"threshold text":                  {adjacencyThresholdConfig("max_p90_ic_to_pc_um", `"80"`), adjacencyAnswer("25", "80", "60", "60", "true"), "value_error", ""},
		"threshold NaN":                   {adjacencyThresholdConfig("max_p90_ic_to_pc_um", "NaN"), adjacencyAnswer("25", "80", "60", "60", "true"), "fail", `{"p90_pass": false}`},
		"thresholds null":                 {`{"scoring": {"pass_thresholds": null}}`, `{}`, "type_error", ""},
		"scoring null":                    {`{"scoring": null}`, `{}`, "type_error", ""},
		"a field is missing":              {`{}`, `{"median_ic_to_pc_um": 25, "p90_ic_to_pc_um": 80, "pct_ic_within_15um": 60, "pct_ic_mixed_within_55um": 60}`, "fail", ""},
		"answer is a list":                {`{}`, `["adjacency_pass"]`, "fail", ""},
		"answer is a list with the names": {`{}`, `["median_ic_to_pc_um", "p90_ic_to_pc_um", "pct_ic_within_15um", "pct_ic_mixed_within_55um", "adjacency_pass"]`, "type_error", ""},
		"answer is a number":              {`{}`, `5`, "type_error", ""},
	}
	for _, claim := range []string{`"false"`, `"no"`, `[0]`, `{"a": 0}`, `0.1`, `-1`, `NaN`, hugeInteger(), `true`} {
		rows["claimed by "+claim] = graderTestRow{`{}`, adjacencyAnswer("25", "80", "60", "60", claim), "pass", `{"adjacency_pass": ` + claim + `}`}
	}
	for _, claim := range []string{`""`, `[]`, `{}`, `0`, `0.0`, `-0.0`, `false`, `null`} {
		rows["not claimed by "+claim] = graderTestRow{`{}`, adjacencyAnswer("25", "80", "60", "60", claim), "fail", `{"adjacency_pass": ` + claim + `}`}
	}
	runGraderTestRows(t, "spatial_adjacency", rows)
	runGraderTestRows(t, "spatial_adjacency_simple", rows)
}

func adjacencyThresholdConfig(name, v string) string {
	return fmt.Sprintf(`{"scoring": {"pass_thresholds": {"%s": %s}}}`, name, v)
}

func TestSpatialAdjacencyReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "spatial_adjacency", `{}`, adjacencyAnswer("30", "40", "55.5", "90", "0"))
	require.Equal(t, []string{
		"median_ic_to_pc_um", "p90_ic_to_pc_um", "pct_ic_within_15um", "pct_ic_mixed_within_55um", "adjacency_pass", "max_median_threshold", "max_p90_threshold",
		"min_pct_15um_threshold", "min_pct_55um_threshold", "median_pass", "p90_pass", "within_15um_pass", "mixed_55um_pass",
	}, keysOfObject(got.Metrics))
	require.Equal(t, `Spatial adjacency: FAIL

x median_ic_to_pc_um: 30, expected at most 25.0
+ p90_ic_to_pc_um: 40, expected at most 80.0
x pct_ic_within_15um: 55.5, expected at least 60.0
+ pct_ic_mixed_within_55um: 90, expected at least 60.0
x adjacency_pass: 0

Failures:
- median_ic_to_pc_um: found 30, expected at most 25.0: off by 5
- pct_ic_within_15um: found 55.5, expected at least 60.0: off by 4.5
- adjacency_pass: the answer itself says 0`, got.Reasoning)
}
