package lint_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/testcases"
	"assay/testcases/lint"
)

// requireLintAgreesWithRun requires that lint agrees with a run about a file: without lint
// errors it can be run, and with issues whose codes are from E100 on, which are about
// running, it cannot.
func requireLintAgreesWithRun(t require.TestingT, path, text string) {
	report := lint.CheckText(path, []byte(text))
	errs, aboutRunning, odd := 0, 0, false
	for _, result := range report.Results {
		odd = odd || len(result.Refusals) > 0
		for _, issue := range result.Issues {
			odd = odd || issue.Code == "W000" || issue.Code == "W100"
			if issue.Level == lint.LevelError {
				errs++
			}
			if issue.Code >= "E100" && issue.Code <= "E999" {
				aboutRunning++
			}
		}
	}
	require.Equal(t, report.Summary.Errors, errs)
	cases, err := testcases.Parse(path, []byte(text), nil)
	if err == nil {
		err = testcases.CheckRunnable(cases)
	}
	if errs == 0 && !odd {
		require.NoError(t, err, text)
	}
	if aboutRunning > 0 {
		require.Error(t, err, text)
	}
}

// caseMemberValues returns valid and invalid values for each member of a case.
func caseMemberValues() map[string][]string {
	odd := []string{`null`, `5`, `1.5`, `true`, `""`, `"x"`, `[]`, `["x"]`, `[5]`, `{}`, `{"x": 1}`}
	with := func(good ...string) []string { return append(append(append([]string{}, good...), good...), odd...) }
	graders := []string{
		`{"type": "exact", "config": {"ground_truth": 1}}`, `{"type": "exact", "config": {}}`, `{"type": "kernel_check", "config": {"code": "True"}}`,
		`{"type": "multiple_choice", "config": {"correct_answer": "A"}}`, `{"type": "contains", "config": {"values": 5}}`, `{"type": "regex", "config": {"pattern": "("}}`,
		`{"type": "numeric_range", "config": {"ground_truth": {"n": 1}, "ranges": {"n": {"min": 0, "max": 2}}}}`, `{"type": "boolean_check", "config": {}}`,
		`{"type": "command", "config": {"argv": []}}`, `{"type": "llm_judge", "config": {}}`, `{"type": "notebook_check", "config": {"min_cells": "x"}}`,
	}
	return map[string][]string{
		"id": with(`"a"`, `"a"`, `"a"`), "task": with(`"t"`, `"return exactly <EVAL_ANSWER>{\"n\": 1}</EVAL_ANSWER>"`),
		"data_node": with(`"latch://1.node"`, `["a/x", "b/x"]`, `["a/x", "a/x"]`, `".."`), "metadata": with(`{"task": "qc"}`),
		"timeout": with(`"600"`), "notes": with(), "grader": with(graders...), "graders": with("["+graders[0]+"]", "["+strings.Join(graders[1:4], ",")+"]"),
		"oracle": with(`["x"]`, `[{}]`, `{"cells": ["x"], "answer": 1}`, `{"turns": [], "answer": 1}`), "requires": with(`["python:x"]`),
		"files": with(`{"x.csv": ""}`, `{"data/x": "", "data": ""}`, `{"../x": ""}`), "setup": with(), "tags": with(),
		"limits": with(`{"wall_s": 5}`, `{"turns": 0}`), "kernel": with(),
	}
}

func TestAgreesWithRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var text []string
		for name, values := range caseMemberValues() {
			n := rapid.IntRange(-len(values)/2, len(values)-1).Draw(t, name)
			if n >= 0 || name == "id" || name == "task" {
				text = append(text, fmt.Sprintf("%q: %s", name, values[max(n, 0)]))
			}
		}
		requireLintAgreesWithRun(t, "c.json", "{"+strings.Join(text, ", ")+"}")
	})
}

func FuzzLint(f *testing.F) {
	for _, c := range allIssueExamples() {
		if len(c.text) < 1000 { // a large seed slows down all others
			f.Add("c.json", c.text)
		}
	}
	f.Add("c.json", caseWithAllFields)
	f.Add("c.jsonl", "{\"id\": \"a\"}\n\nx")
	f.Add("c.yaml", "id: a\ntask: b\ngraders: [&x {type: exact}, {<<: *x}]\n---\n- 0x1f\n- .nan\n")
	f.Add("c.txt", "[{}]")
	f.Fuzz(func(t *testing.T, path, text string) {
		if filepath.Base(path) == path {
			requireLintAgreesWithRun(t, path, text)
		}
	})
}

func BenchmarkLint(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		writeFile(b, filepath.Join(dir, fmt.Sprintf("%03d.json", i)), strings.Replace("{"+validMembers+"}", `"a"`, fmt.Sprintf(`"a%d"`, i), 1))
	}
	for b.Loop() {
		report, err := lint.Check([]string{dir}, lint.CheckOptions{})
		require.NoError(b, err)
		require.Equal(b, lint.Summary{Checked: 1000, Passed: 1000}, report.Summary)
	}
}
