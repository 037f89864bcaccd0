package lint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/testcases"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeTestFolder writes these files into a new folder of the test and returns the
// folder's path.
func writeTestFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeFile(tb testing.TB, path, text string) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
}

// loadOneCase loads a file that must contain exactly one case.
func loadOneCase(t *testing.T, name, text string) testcases.Case {
	t.Helper()
	cases, err := testcases.Load([]string{filepath.Join(writeTestFolder(t, map[string]string{name: text}), name)}, testcases.Options{})
	require.NoError(t, err)
	require.Len(t, cases, 1)
	return cases[0]
}

// caseWithAllFields is the JSON of a case that has every field.
const caseWithAllFields = `{
	"id": "full", "task": "Count the rows.\n", "notes": "easy", "canary": "ignored",
	"data_node": ["rows.csv", "latch://38.account/a/b.h5ad"],
	"grader": {"type": "numeric_tolerance", "config": {"ground_truth": {"n": 3}}, "scoring": {}},
	"graders": [{"type": "kernel_check", "config": {"code": "True"}}, {"config": 5}, {"type": 7}],
	"metadata": {"task": "qc", "timeout_s": 3600},
	"timeout": "600", "agent_timeout": 900.0, "download_timeout": true,
	"oracle": {"cells": ["print(3)"], "answer": {"n": 3}},
	"requires": ["python:numpy", "command:git", "kernel:python"],
	"files": {"z.txt": "last", "sub/a.txt": "first"},
	"setup": "x = 1", "kernel": "python", "tags": ["easy", "csv"],
	"limits": {"wall_s": 30, "idle_s": 1.5, "cell_s": 10, "turns": 5, "actions": 50, "tokens": 100000, "cost_usd": 0.25}
}`
