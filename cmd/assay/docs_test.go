package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/lint"
)

// fencedBlocks returns the fenced code blocks of docs/PAGE, by language.
func fencedBlocks(t *testing.T, page string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	found := map[string][]string{}
	for _, block := range regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found[block[1]] = append(found[block[1]], strings.TrimSpace(block[2])+"\n")
	}
	return found
}

// runAssay runs assay and returns the last line of its output. The exit status may be any.
func runAssay(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "assay", args...)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); !failed { //nolint:errorlint // what Output returns
		require.NoError(t, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// writeFile writes a file that only its owner can read, and returns its path.
func writeFile(t *testing.T, path string, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The case in docs/cases.md passes with its own solution and fails without an answer.
func TestDocs_Cases(t *testing.T) {
	t.Parallel()
	runDocCases(t, "cases.md", 1)
}

// runDocCases runs the n cases of a page of the docs with the other files that the page shows. They
// must pass with their own solutions, fail without an answer, and have no lint findings.
func runDocCases(t *testing.T, page string, n int) {
	t.Helper()
	dir := t.TempDir()
	shown := fencedBlocks(t, page)
	require.Len(t, shown["yaml"], n)
	for _, text := range shown["csv"] {
		writeFile(t, filepath.Join(dir, "sales.csv"), text)
	}
	for _, text := range shown["python"] {
		writeFile(t, filepath.Join(dir, "check.py"), text)
	}
	for _, text := range shown["jsonlines"] {
		writeFile(t, filepath.Join(dir, "judge.jsonl"), text)
	}
	file := writeFile(t, filepath.Join(dir, "cases.yaml"), strings.Join(shown["yaml"], "---\n"))
	for agent, verdict := range map[string]string{"oracle": "PASS %d/%d ", "noop": "FAIL 0/%[2]d "} {
		want := fmt.Sprintf(verdict, n, n)
		require.Contains(t, runAssay(t, "run", file, "--agent", agent, "--quiet", "--out", filepath.Join(dir, agent)), want)
	}
	require.Contains(t, runAssay(t, "lint", file), "0 errors, 0 warnings")
}

// The model script in docs/agent.md solves the case there.
func TestDocs_ModelScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shown := fencedBlocks(t, "agent.md")
	file := writeFile(t, filepath.Join(dir, "sum.json"), shown["json"][0])
	script := writeFile(t, filepath.Join(dir, "turns.jsonl"), shown["jsonl"][0])
	require.Contains(t, runAssay(t, "run", file, "--model", "script:"+script, "--quiet", "--out", filepath.Join(dir, "run")), "PASS 1/1 ")
}

// gradeOutputLine is a line of the output of assay grade: the fields that tests read.
type gradeOutputLine struct {
	ID        string         `json:"id"`
	Passed    bool           `json:"passed"`
	Reasoning string         `json:"reasoning"`
	Error     *pyvalue.Error `json:"error"`
}

// The examples in docs/graders.md pass, fail or are errors as their ids say. Every grader type that
// reads only the answer has an example that passes and one that fails.
func TestDocs_GraderExamples(t *testing.T) {
	t.Parallel()
	shown := fencedBlocks(t, "graders.md")
	lines := strings.Join(shown["jsonl"], "")
	file := writeFile(t, filepath.Join(t.TempDir(), "lines.jsonl"), lines)
	out, err := exec.CommandContext(t.Context(), "assay", "grade", file).Output()
	require.NoError(t, err)
	results := strings.Split(strings.TrimSpace(string(out)), "\n")
	examples := strings.Split(strings.TrimSpace(lines), "\n")
	require.Len(t, results, len(examples))
	seen := map[string]map[string]bool{}
	var reasonings []string
	for i, text := range results {
		var result gradeOutputLine
		require.NoError(t, json.Unmarshal([]byte(text), &result))
		want, _, _ := strings.Cut(result.ID, ":")
		require.Equal(t, want == "passes", result.Passed, text)
		require.Equal(t, want == "error", result.Error != nil, text)
		var example struct{ Grader struct{ Type string } }
		require.NoError(t, json.Unmarshal([]byte(examples[i]), &example))
		if seen[example.Grader.Type] == nil {
			seen[example.Grader.Type] = map[string]bool{}
		}
		seen[example.Grader.Type][want] = true
		reasonings = append(reasonings, result.Reasoning)
	}
	for _, text := range shown["text"] {
		require.Contains(t, reasonings, strings.TrimSpace(text))
	}
	others := map[string]bool{ // an alias, or has a case as example
		"jaccard_label_set": true, "spatial_adjacency_simple": true,
		"kernel_check": true, "notebook_check": true, "command": true, "llm_judge": true,
	}
	for _, name := range grading.GraderTypeNames() {
		if !others[name] {
			require.True(t, seen[name]["passes"] && seen[name]["fails"], name)
		}
	}
}

// The cases in docs/graders.md pass with their own solutions and fail without an answer.
func TestDocs_GraderCases(t *testing.T) {
	t.Parallel()
	runDocCases(t, "graders.md", 4)
}

// The table in docs/lint.md has every lint code with its meaning and a link, in order.
func TestDocs_LintCodes(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, rule := range lint.AllRules() {
		page, heading, _ := strings.Cut(rule.Docs, "#")
		rows = append(rows, fmt.Sprintf("| %s | %s | [%s](%s#%[3]s) |\n", rule.Code, rule.Meaning, heading, filepath.Base(page)))
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "lint.md"))
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "| --- | --- | --- |\n")
	require.Equal(t, strings.Join(rows, ""), table)
}
