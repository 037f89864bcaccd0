package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks are the fenced blocks of a page of the docs, by language.
func blocks(t *testing.T, page string) map[string][]string {
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
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
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

// The cases that docs/cases.md shows pass with their own solutions and fail
// with nothing, as it says.
func TestCasesOfTheDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shown := blocks(t, "cases.md")
	require.Len(t, shown["yaml"], 4, "one for each grader")
	write(t, filepath.Join(dir, "sales.csv"), shown["csv"][0])
	file := write(t, filepath.Join(dir, "cases.yaml"), strings.Join(shown["yaml"], "---\n"))
	for agent, want := range map[string]string{"oracle": "PASS 4/4 ", "noop": "FAIL 0/4 "} {
		require.Contains(t, assay(t, "run", file, "--agent", agent, "--quiet", "--out", filepath.Join(dir, agent)), want)
	}
}

// The script that docs/agent.md shows solves the case beside it.
func TestScriptOfTheDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shown := blocks(t, "agent.md")
	file := write(t, filepath.Join(dir, "sum.json"), shown["json"][0])
	script := write(t, filepath.Join(dir, "turns.jsonl"), shown["jsonl"][0])
	require.Contains(t, assay(t, "run", file, "--model", "script:"+script, "--quiet", "--out", filepath.Join(dir, "run")), "PASS 1/1 ")
}
