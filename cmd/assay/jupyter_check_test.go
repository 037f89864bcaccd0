package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/kernel/jupyter"
)

// A kernel_check of a Jupyter kernel runs in that kernel: probes and code find its globals, pass if they
// are right, and fail with a verdict if they are wrong, or if the agent's code ends the kernel.
func TestKernelCheckOfJupyterKernel(t *testing.T) {
	t.Parallel()
	_, err := jupyter.FindSpec(t.Context(), "python3", os.Environ())
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %v", err)
	}
	require.NoError(t, err)
	const probes = `{"type": "kernel_check", "config": {"probes": [{"expr": "total", "equals": 4711}]}}`
	const code = `{"type": "kernel_check", "config": {"code": "assert total == 4711"}}`
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "cases.json"), `[
		{"id": "right by probes", "task": "t", "oracle": {"cells": ["total = 4711"], "answer": 1}, "graders": [`+probes+`]},
		{"id": "right by code", "task": "t", "oracle": {"cells": ["total = 4711"], "answer": 1}, "graders": [`+code+`]},
		{"id": "wrong by probes", "task": "t", "oracle": {"cells": ["total = 4712"], "answer": 1}, "graders": [`+probes+`]},
		{"id": "wrong by code", "task": "t", "oracle": {"cells": ["total = 4712"], "answer": 1}, "graders": [`+code+`]},
		{"id": "missing", "task": "t", "oracle": {"cells": ["1"], "answer": 1}, "graders": [`+code+`]},
		{"id": "exit", "task": "t", "oracle": {"cells": [`+exitWhenChecked("os._exit(0)")+`], "answer": 1}, "graders": [`+code+`]},
		{"id": "kill", "task": "t", "oracle": {"cells": [`+exitWhenChecked("os.kill(os.getppid(), 9)")+`], "answer": 1}, "graders": [`+code+`]}]`)
	out := filepath.Join(dir, "run")
	runAssay(t, "run", file, "--kernel", "jupyter:python3", "--agent", "oracle", "--quiet", "--out", out)
	passed := map[string]bool{}
	for _, a := range readAttempts(t, out) {
		require.Equal(t, runs.OutcomeCompleted, a.Outcome, a.Detail)
		require.NotNil(t, a.Passed, "%s: %v", a.CaseID, a.Grading)
		passed[a.CaseID] = *a.Passed
	}
	require.Equal(t, map[string]bool{
		"right by probes": true, "right by code": true,
		"wrong by probes": false, "wrong by code": false, "missing": false, "exit": false, "kill": false,
	}, passed)
}

// exitWhenChecked returns the source, as JSON, of a cell after which an IPython kernel runs the statement
// instead of a check.
func exitWhenChecked(statement string) string {
	return strconv.Quote(`import os
def look(lines):
    if "4" + "711" in "".join(lines):
        ` + statement + `
    return lines
get_ipython().input_transformers_cleanup.append(look)`)
}
