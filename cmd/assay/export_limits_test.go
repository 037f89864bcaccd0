package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// A check of a right value that exceeds a limit of the copies fails with not_data and the name of the
// variable. One below the limit passes.
func TestKernelCheckLimitsOfCopies(t *testing.T) {
	t.Parallel()
	nested := func(levels string) string {
		return "total = 4711\nfor _ in range(" + levels + "): total = [total]"
	}
	const depth = "depth, rest = 0, total\nwhile type(rest) is list:\n    rest, depth = rest[0], depth + 1\nassert rest == 4711\n"
	for name, test := range map[string]struct {
		cell, check string
		problem     string // "": the check passes
	}{
		"60 MiB":     {"total = b'7' * (60 << 20)", "assert len(total) == 60 << 20 and total[-1:] == b'7'", ""},
		"65 MiB":     {"total = b'7' * (65 << 20)", "assert len(total) == 65 << 20 and total[-1:] == b'7'", "the global total cannot be copied for the check: it has more than 64 MiB"},
		"100 levels": {nested("100"), depth + "assert depth == 100", ""},
		"101 levels": {nested("101"), depth + "assert depth == 101", "the global total cannot be copied for the check: it is nested deeper than 100 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := gradeCell(t, test.cell, test.check)
			requireCheck(t, result, test.problem)
		})
	}
}

// The right value as an array passes. If code of the agent replaces its copy by a file that claims
// another size, has objects in it, or is no array, the check fails with not_data and the name of the variable.
func TestKernelCheckRefusesForgedArrays(t *testing.T) {
	t.Parallel()
	python := pythonWith(t, "numpy")
	const right = "import numpy\ntotal = numpy.full(1000, 4711.0)\n"
	const check = "assert total.shape == (1000,) and (total == 4711).all()"
	// The file values.json is written last, with json.dump, when the arrays are there.
	forge := func(content string) string {
		return right + `import json, os, pickle
dump = json.dump
def forge(x, file, **options):
    dump(x, file, **options)
    array = os.path.join(os.path.dirname(file.name), '1.npy')
    if os.path.exists(array):
        data = ` + content + `
        open(array, 'wb').write(data)
json.dump = forge`
	}
	header := func(dtype, shape string) string {
		return `b'\x93NUMPY\x01\x00v\x00' + b"{'descr': '` + dtype + `', 'fortran_order': False, 'shape': (` + shape + `,), }".ljust(117) + b'\n'`
	}
	const problem = "the global total cannot be copied for the check: its copy cannot be read: "
	for name, test := range map[string]struct{ cell, problem string }{
		"not forged":      {right, ""},
		"an equal copy":   {forge("open(array, 'rb').read()"), ""},
		"too many values": {forge(header("<f8", "99999999999999")), problem},
		"pickled objects": {forge(header("|O", "1") + " + pickle.dumps([4711.0] * 1000)"), problem},
		"no array":        {forge("b'4711'"), problem},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireCheck(t, gradeCell(t, test.cell, check, "--python", python), test.problem)
		})
	}
}

// An empty array, Series or table inside another value is equal to anything, in a value that is not empty. An empty list is
// equal to empty lists only.
func TestKernelCheckRefusesEmptyArraysInValues(t *testing.T) {
	t.Parallel()
	python := pythonWith(t, "pandas")
	const imports = "import numpy as np, pandas as pd\n"
	const problem = "inside another value, which is equal to anything"
	for name, test := range map[string]struct{ cell, check, problem string }{
		"Series in a table": {
			imports + "total = pd.DataFrame({'a': [pd.Series([], dtype=object)] * 3})",
			imports + "assert total.shape == (3, 1)\npd.testing.assert_frame_equal(total, pd.DataFrame({'a': ['x', 'y', 'z']}))", problem,
		},
		"arrays in a list":     {imports + "total = [np.array([])] * 2", imports + "assert len(total) == 2\nnp.testing.assert_equal(total, [5.0, 5.0])", problem},
		"table in a tuple":     {imports + "total = (pd.DataFrame(),)", "assert len(total) == 1", problem},
		"index in a dict":      {imports + "total = {'a': pd.Index([])}", "assert 'a' in total", problem},
		"arrays with values":   {imports + "total = [np.array([1.0]), np.array([2.0])]", "assert [a.sum() for a in total] == [1, 2]", ""},
		"lists in a table":     {imports + "total = pd.DataFrame({'a': [[], [1]]})", "assert total['a'].tolist() == [[], [1]]", ""},
		"an empty array alone": {imports + "total = np.array([])", "assert total.shape == (0,)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireCheck(t, gradeCell(t, test.cell, test.check, "--python", python), test.problem)
		})
	}
}

// pythonWith returns an interpreter that has a module, or several: "numpy, pandas". Without one it skips the test, but
// not in CI.
func pythonWith(t *testing.T, modules string) string {
	t.Helper()
	for _, interpreter := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), interpreter, "-c", "import "+modules).Run() == nil {
			return interpreter
		}
	}
	require.NotEqual(t, "true", os.Getenv("CI"), "CI installs %s", modules)
	t.Skipf("neither python3 nor /usr/bin/python3 has %s: install Debian's packages", modules)
	return ""
}

// gradeCell runs a case with one cell and a kernel_check, and returns the attempt.
func gradeCell(t *testing.T, cell, check string, args ...string) runs.Attempt {
	t.Helper()
	dir := t.TempDir()
	body, err := json.Marshal(jsonObject{
		"id": "value", "task": "t", "oracle": jsonObject{"cells": []string{cell}, "answer": 1},
		"graders": []any{jsonObject{"type": "kernel_check", "config": jsonObject{"code": check}}},
	})
	require.NoError(t, err)
	file, out := writeFile(t, filepath.Join(dir, "value.json"), string(body)), filepath.Join(dir, "run")
	runAssay(t, append([]string{"run", file, "--agent", "oracle", "--quiet", "--out", out}, args...)...)
	attempts := readAttempts(t, out)
	require.Len(t, attempts, 1)
	require.Equal(t, runs.OutcomeCompleted, attempts[0].Outcome, attempts[0].Detail)
	return attempts[0]
}

// requireCheck requires that the only grader of an attempt has passed or, if problem is not empty, has
// failed with the error not_data, whose text contains problem.
func requireCheck(t *testing.T, a runs.Attempt, problem string) {
	t.Helper()
	require.NotNil(t, a.Passed)
	require.Equal(t, problem == "", *a.Passed, "%s", a.Graders)
	require.Nil(t, a.Grading)
	require.Len(t, a.Graders, 1)
	var result struct{ Error *struct{ Kind, Text string } }
	require.NoError(t, json.Unmarshal(a.Graders[0], &result))
	if problem == "" {
		return
	}
	require.NotNil(t, result.Error)
	require.Equal(t, "not_data", result.Error.Kind)
	require.Contains(t, result.Error.Text, problem)
}
