package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// --trace-limit ends an attempt whose cell floods its trace, with the outcome limit. Without the flag the
// limit is 1 GiB, which the line records.
func TestTraceLimitFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(name, cell string, args ...string) runs.Attempt {
		file := writeFile(t, filepath.Join(dir, name+".json"), `{"id": "a", "task": "t", "oracle": {"cells": [`+quoteJSON(t, cell)+`], "answer": 1}, "graders": [{"type": "exact", "config": {"ground_truth": 1}}]}`)
		out := filepath.Join(dir, name)
		runAssay(t, append([]string{"run", file, "--agent", "oracle", "--quiet", "--out", out}, args...)...)
		attempts := readAttempts(t, out)
		require.Len(t, attempts, 1)
		return attempts[0]
	}
	const flood = "for n in range(200): display({'text/plain': str(n) + 'x' * 10_000}, raw=True)" // 2 MB
	limited := run("limited", flood, "--trace-limit", "1MiB")
	require.Equal(t, runs.OutcomeLimit, limited.Outcome, limited.Detail)
	require.Contains(t, limited.Detail, "trace: configured 1MiB, measured 1")
	require.EqualValues(t, 1<<20, limited.Limits.MaxTraceBytes)
	free := run("free", flood)
	require.Equal(t, runs.OutcomeCompleted, free.Outcome, free.Detail)
	require.EqualValues(t, 1073741824, free.Limits.MaxTraceBytes)
	for _, line := range readLines(t, filepath.Join(dir, "free", "attempts.jsonl")) {
		if line["type"] == runs.TypeAttempt {
			require.Contains(t, line["limits"], "trace_bytes")
		}
	}
}
