package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/lint"
)

// exampleResult is what the tests of the docs read of a line of assay grade.
type exampleResult struct {
	ID        string         `json:"id"`
	Passed    bool           `json:"passed"`
	Reasoning string         `json:"reasoning"`
	Error     *pyvalue.Error `json:"error"`
}

// The examples of docs/graders.md come out as their ids say, and each type that
// reads only the answer has one that passes and one that fails.
func TestGradersOfTheDocs(t *testing.T) {
	t.Parallel()
	shown := fencedBlocks(t, "graders.md")
	lines := strings.Join(shown["jsonl"], "")
	file := write(t, filepath.Join(t.TempDir(), "lines.jsonl"), lines)
	out, err := exec.CommandContext(t.Context(), "assay", "grade", file).Output()
	require.NoError(t, err)
	results := strings.Split(strings.TrimSpace(string(out)), "\n")
	examples := strings.Split(strings.TrimSpace(lines), "\n")
	require.Len(t, results, len(examples))
	seen := map[string]map[string]bool{}
	var reasonings []string
	for i, text := range results {
		var result exampleResult
		require.NoError(t, json.Unmarshal([]byte(text), &result))
		says, _, _ := strings.Cut(result.ID, ":")
		require.Equal(t, says == "passes", result.Passed, text)
		require.Equal(t, says == "error", result.Error != nil, text)
		var example struct{ Grader struct{ Type string } }
		require.NoError(t, json.Unmarshal([]byte(examples[i]), &example))
		if seen[example.Grader.Type] == nil {
			seen[example.Grader.Type] = map[string]bool{}
		}
		seen[example.Grader.Type][says] = true
		reasonings = append(reasonings, result.Reasoning)
	}
	for _, text := range shown["text"] {
		require.Contains(t, reasonings, strings.TrimSpace(text))
	}
	others := map[string]bool{ // an alias, or shown as a case
		"jaccard_label_set": true, "spatial_adjacency_simple": true,
		"kernel_check": true, "notebook_check": true, "command": true, "llm_judge": true,
	}
	for _, name := range grading.Types() {
		if !others[name] {
			require.True(t, seen[name]["passes"] && seen[name]["fails"], name)
		}
	}
}

// The cases that docs/graders.md shows pass with their own solutions and fail
// with nothing.
func TestGraderCasesOfTheDocs(t *testing.T) {
	t.Parallel()
	playDocs(t, "graders.md", 4)
}

// docs/lint.md has every code with its meaning and what to read, in order.
func TestCodesOfTheDocs(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, rule := range lint.Rules() {
		page, heading, _ := strings.Cut(rule.Docs, "#")
		rows = append(rows, fmt.Sprintf("| %s | %s | [%s](%s#%[3]s) |\n", rule.Code, rule.Meaning, heading, filepath.Base(page)))
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "lint.md"))
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "| --- | --- | --- |\n")
	require.Equal(t, strings.Join(rows, ""), table)
}
