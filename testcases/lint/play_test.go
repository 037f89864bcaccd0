package lint_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
	"assay/testcases/grading"
	"assay/testcases/lint"
)

// codesOfEachResult returns the codes of the issues of each result.
func codesOfEachResult(report lint.Report) map[string][]string {
	codes := map[string][]string{}
	for _, result := range report.Results {
		for _, issue := range result.Issues {
			codes[result.File] = append(codes[result.File], issue.Code)
		}
	}
	return codes
}

func TestPlayableCases(t *testing.T) {
	t.Parallel()
	graders, oracle := make([]grading.Spec, 1), json.RawMessage(`{}`)
	report := lint.Report{Results: []lint.FileResult{
		{File: "invalid"},
		{File: "no solution", Case: &testcases.Case{ID: "a", Graders: graders}},
		{File: "no grader", Case: &testcases.Case{ID: "b", Oracle: oracle}},
		{File: "complete", Case: &testcases.Case{ID: "c", Oracle: oracle, Graders: graders}},
	}}
	cases := report.PlayableCases()
	require.Len(t, cases, 1)
	require.Equal(t, "c", cases[0].ID)
	require.Equal(t, map[string][]string{"no solution": {"W110"}, "no grader": {"W110"}}, codesOfEachResult(report))
	require.Equal(t, "not played: the case has no grader", report.Results[2].Issues[0].Message)
	require.Equal(t, 2, report.Summary.Warnings)
}

func TestAddPlayResults(t *testing.T) {
	t.Parallel()
	report := lint.Report{Results: []lint.FileResult{{File: "good"}, {File: "skipped"}, {File: "wrong solution"}, {File: "too easy"}, {File: "not played"}}}
	passes := lint.PlayResult{IsPassed: true}
	played := report.AddPlayResults(
		map[string]lint.PlayResult{"good": passes, "skipped": {SkipReason: "no numpy"}, "wrong solution": {Failure: "x is 2"}, "too easy": passes},
		map[string]lint.PlayResult{"good": {Failure: "no answer"}, "skipped": {SkipReason: "no numpy"}, "wrong solution": {}, "too easy": passes},
	)
	require.Equal(t, 3, played)
	require.Equal(t, map[string][]string{"skipped": {"W111"}, "wrong solution": {"E110"}, "too easy": {"E111"}}, codesOfEachResult(report))
	require.Equal(t, "its own solution does not pass: x is 2", report.Results[2].Issues[0].Message)
	require.Equal(t, 2, report.Summary.Errors)
}
