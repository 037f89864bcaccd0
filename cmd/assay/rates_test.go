package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The last line of a run in which one attempt passed and the grading of another failed has both rates: the
// strict one, and the one without the attempt that has no verdict.
func TestRunPrintsBothRates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "judge.jsonl"), `{"error": {"status": 404, "body": "no such model"}}`)
	file := writeFile(t, filepath.Join(dir, "cases.json"), `[
		{"id": "passes", "task": "t", "oracle": {"cells": ["1"], "answer": 1}, "graders": [{"type": "exact", "config": {"ground_truth": 1}}]},
		{"id": "judged", "task": "t", "oracle": {"cells": ["1"], "answer": 1}, "graders": [{"type": "llm_judge", "config": {"prompt": "?", "model": "script:judge.jsonl"}}]}]`)
	line := runAssay(t, "run", file, "--agent", "oracle", "--quiet", "--out", filepath.Join(dir, "run"))
	require.Contains(t, line, "FAIL 1/2  (failed 0, ungraded 0, infrastructure 0, grading errors 1; 100 % without these)")
}
