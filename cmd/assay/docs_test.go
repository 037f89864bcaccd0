package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fencedBlocks are the fenced blocks of a page of the docs, by language.
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

// assay runs the program, which TestMain has put on PATH, and returns the last
// line that it printed.
func assay(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "assay", args...)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); !failed { //nolint:errorlint // what Output returns
		require.NoError(t, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

func write(t *testing.T, path string, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The case that docs/cases.md shows passes with its own solution and fails with
// nothing, as it says.
func TestCasesOfTheDocs(t *testing.T) {
	t.Parallel()
	playDocs(t, "cases.md", 1)
}

// playDocs runs the n cases of a page, beside the other files that it shows.
func playDocs(t *testing.T, page string, n int) {
	t.Helper()
	dir := t.TempDir()
	shown := fencedBlocks(t, page)
	require.Len(t, shown["yaml"], n)
	for _, text := range shown["csv"] {
		write(t, filepath.Join(dir, "sales.csv"), text)
	}
	for _, text := range shown["python"] {
		write(t, filepath.Join(dir, "check.py"), text)
	}
	for _, text := range shown["jsonlines"] {
		write(t, filepath.Join(dir, "judge.jsonl"), text)
	}
	file := write(t, filepath.Join(dir, "cases.yaml"), strings.Join(shown["yaml"], "---\n"))
	for agent, verdict := range map[string]string{"oracle": "PASS %d/%d ", "noop": "FAIL 0/%[2]d "} {
		want := fmt.Sprintf(verdict, n, n)
		require.Contains(t, assay(t, "run", file, "--agent", agent, "--quiet", "--out", filepath.Join(dir, agent)), want)
	}
	require.Contains(t, assay(t, "lint", file), "0 errors, 0 warnings")
}

// The script that docs/agent.md shows solves the case beside it.
func TestScriptOfTheDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shown := fencedBlocks(t, "agent.md")
	file := write(t, filepath.Join(dir, "sum.json"), shown["json"][0])
	script := write(t, filepath.Join(dir, "turns.jsonl"), shown["jsonl"][0])
	require.Contains(t, assay(t, "run", file, "--model", "script:"+script, "--quiet", "--out", filepath.Join(dir, "run")), "PASS 1/1 ")
}
