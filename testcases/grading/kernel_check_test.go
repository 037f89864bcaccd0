package grading_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// pythonKernel is a kernel for tests: a real Python that runs testdata/kernel.py.
type pythonKernel struct {
	stdin   io.Writer
	replies *bufio.Reader
}

func startKernel(t *testing.T, python string) *pythonKernel {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, "testdata/kernel.py")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return &pythonKernel{stdin: stdin, replies: bufio.NewReader(stdout)}
}

func (k *pythonKernel) Execute(_ context.Context, code string) (grading.Execution, error) {
	line, err := json.Marshal(code)
	if err != nil {
		return grading.Execution{}, err
	}
	if _, err := k.stdin.Write(append(line, '\n')); err != nil {
		return grading.Execution{}, err
	}
	reply, err := k.replies.ReadBytes('\n')
	if err != nil {
		return grading.Execution{}, err
	}
	var done grading.Execution
	return done, json.Unmarshal(reply, &done)
}

func (k *pythonKernel) requireRunsOK(t *testing.T, code string) {
	t.Helper()
	done, err := k.Execute(t.Context(), code)
	require.NoError(t, err)
	require.Equal(t, "ok", done.Status, done.Exception)
}

func gradeKernel(t *testing.T, kernel grading.Kernel, config string) grading.Result {
	t.Helper()
	spec := grading.Spec{Type: "kernel_check", Config: pyvaluetest.MustDecode(t, config)}
	require.NoError(t, grading.CheckSpec(spec))
	return grading.Grade(t.Context(), spec, grading.Input{Kernel: kernel})
}

const readKernelGlobals = `
import collections, datetime, decimal, enum
n, f, s, b, none = 3, 2.5, "it's \u00e9\U0001F600", True, None
xs, pair, d = [1, 2.0, "a", [None]], (1, 2), {"a": 1, "b": {"c": [1]}}
counts = collections.Counter("aab")
by_year = {2024: 1, 2025: 2}
odd_keys = {(1, 2): 3}
a_set, when, money = {1}, datetime.date(2024, 1, 1), decimal.Decimal("1.5")
nan, inf, big = float("nan"), float("inf"), 2 ** 70
loop = []; loop.append(loop)
class Colour(enum.IntEnum):
    RED = 1
class Text(str): pass
class Broken:
    def __len__(self): raise ValueError("no length today")
    def __repr__(self): raise RuntimeError("no repr either")
t, broken, long = Text("sub"), Broken(), list(range(400_000))
surrogate = "\ud800"
class LyingInt(int):
    def __int__(self): return 42
    def __repr__(self): return "42"
class LyingFloat(float):
    def __float__(self): return 42.0
    def __repr__(self): return "42.0"
class LyingText(str):
    def __str__(self): return "42"
lies = [LyingInt(3), LyingFloat(3.5), LyingText("three")]
def generator(): yield 1
`

func TestProbes(t *testing.T) {
	t.Parallel()
	kernel := startKernel(t, "python3")
	kernel.requireRunsOK(t, readKernelGlobals)
	for _, c := range []struct{ probe, outcome, line string }{
		{`{"expr": "n", "equals": 3}`, "pass", "+ n: as expected"},
		{`{"expr": "n", "equals": 3.0}`, "pass", ""},
		{`{"expr": "n", "equals": 4}`, "fail", "x n: expected 4, found 3"},
		{`{"expr": "b", "equals": true}`, "pass", ""},
		{`{"expr": "b", "equals": 1}`, "fail", "x b: expected 1, found True"},
		{`{"expr": "[1, 0]", "equals": [true, false]}`, "fail", "x [1, 0]: expected [True, False], found [1, 0]"},
		{`{"expr": "s", "equals": "it's é😀"}`, "pass", ""},
		{`{"expr": "none", "equals": null}`, "pass", ""},
		{`{"expr": "xs", "equals": [1, 2, "a", [null]]}`, "pass", ""},
		{`{"expr": "pair", "equals": [1, 2]}`, "pass", ""},
		{`{"expr": "d", "equals": {"b": {"c": [1]}, "a": 1}}`, "pass", ""},
		{`{"expr": "counts", "equals": {"a": 2, "b": 1}}`, "pass", ""},
		{`{"expr": "by_year", "equals": {"2024": 1, "2025": 2}}`, "pass", ""},
		{`{"expr": "Colour.RED", "equals": 1}`, "pass", ""},
		{`{"expr": "t", "equals": "sub"}`, "pass", ""},
		{`{"expr": "lies", "equals": [3, 3.5, "three"]}`, "pass", ""},
		{`{"expr": "lies[0]", "equals": 42}`, "fail", "x lies[0]: expected 42, found 3"},
		{`{"expr": "big", "equals": 1180591620717411303424}`, "pass", ""},
		{`{"expr": "big", "equals": 1180591620717411303425}`, "fail", ""},
		{`{"expr": "inf", "equals": Infinity}`, "pass", ""},
		{`{"expr": "nan", "equals": NaN}`, "fail", ""},
		{`{"expr": "surrogate", "equals": "\ud800"}`, "pass", ""},
		{`{"expr": "  n + 1\n", "equals": 4}`, "pass", ""},
		{`{"expr": "[n for _ in xs if n]", "equals": [3, 3, 3, 3]}`, "pass", ""},

		{`{"expr": "f", "approx": {"value": 2.4, "abs": 0.2}}`, "pass", ""},
		{`{"expr": "f", "approx": {"value": 2.4, "rel": 0.01}}`, "fail", "x f: expected 2.4 within 0 or a relative 0.01, found 2.5"},
		{`{"expr": "f", "approx": {"value": 2.4, "rel": 0.05}}`, "pass", ""},
		{`{"expr": "-f", "approx": {"value": -2.4, "rel": 0.05}}`, "pass", ""},
		{`{"expr": "f", "approx": {"value": 2.5}}`, "pass", ""},
		{`{"expr": "f", "approx": {"value": 2.4, "abs": 0.2, "rel": 0}}`, "pass", ""},
		{`{"expr": "b", "approx": {"value": 1, "abs": 5}}`, "fail", ""},
		{`{"expr": "s", "approx": {"value": 1, "abs": 5}}`, "fail", ""},
		{`{"expr": "nan", "approx": {"value": 1, "abs": Infinity}}`, "fail", ""},
		{`{"expr": "10**400", "approx": {"value": 1.0, "abs": 5}}`, "fail", ""},

		{`{"expr": "xs", "type": "list", "len": 4}`, "pass", ""},
		{`{"expr": "xs", "type": "tuple", "len": 5}`, "fail", "x xs: expected type tuple and len 5, found type list and len 4"},
		{`{"expr": "a_set", "type": "set", "len": 1}`, "pass", ""},
		{`{"expr": "when", "type": "date"}`, "pass", ""},
		{`{"expr": "n", "len": 1}`, "fail", "x n: expected len 1, found that it raises TypeError: object of type 'int' has no len()"},
		{`{"expr": "broken", "len": 1}`, "fail", "x broken: expected len 1, found that it raises ValueError: no length today"},

		{`{"expr": "xs", "contains": 2}`, "pass", ""},
		{`{"expr": "xs", "contains": "A"}`, "fail", ""},
		{`{"expr": "[True]", "contains": 1}`, "fail", ""},
		{`{"expr": "d", "contains": "b"}`, "pass", ""},
		{`{"expr": "d", "contains": 1}`, "fail", ""},
		{`{"expr": "s", "contains": "it's"}`, "pass", ""},
		{`{"expr": "s", "contains": 1}`, "fail", ""},
		{`{"expr": "n", "contains": 3}`, "fail", "x n: expected something that contains 3, found 3"},

		{`{"expr": "missing", "equals": 1}`, "fail", "x missing: expected 1, found that it raises NameError: name 'missing' is not defined"},
		{`{"expr": "1 +", "equals": 1}`, "fail", ""},
		{`{"expr": "n = 5", "equals": 5}`, "fail", ""},
		{`{"expr": "exit()", "equals": 5}`, "fail", ""},
		{`{"expr": "1/0", "equals": 1}`, "fail", "x 1/0: expected 1, found that it raises ZeroDivisionError: division by zero"},

		{`{"expr": "a_set", "equals": [1]}`, "not_json", "x a_set: expected [1], found no JSON: builtins.set is not JSON; turn it into lists or an object"},
		{`{"expr": "when", "equals": "2024-01-01"}`, "not_json", "x when: expected '2024-01-01', found no JSON: datetime.date is not JSON"},
		{`{"expr": "money", "approx": {"value": 1.5}}`, "not_json", ""},
		{`{"expr": "odd_keys", "equals": {}}`, "not_json", ""},
		{`{"expr": "broken", "equals": {}}`, "not_json", ""},
		{`{"expr": "generator()", "equals": [1]}`, "not_json", ""},
		{`{"expr": "loop", "equals": []}`, "not_json", "x loop: expected [], found no JSON: nested deeper than 100 levels"},
		{`{"expr": "long", "equals": []}`, "not_json", ""},
		{`{"expr": "b'x'", "equals": "x"}`, "not_json", ""},
	} {
		got := gradeKernel(t, kernel, `{"probes": [`+c.probe+`]}`)
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s: %s", c.probe, got.Reasoning)
		require.Contains(t, got.Reasoning, c.line, c.probe)
	}
}

func TestProbesAreAllEvaluated(t *testing.T) {
	t.Parallel()
	kernel := startKernel(t, "python3")
	kernel.requireRunsOK(t, readKernelGlobals)
	got := gradeKernel(t, kernel, `{"probes": [{"expr": "n", "equals": 9}, {"expr": "a_set", "equals": 1}, {"expr": "f", "equals": 2.5}, {"expr": "xs", "len": 4}]}`)
	require.False(t, got.Passed)
	require.InDelta(t, 0.5, got.Score, 0)
	require.Equal(t, &pyvalue.Error{Kind: "not_json", Text: "a_set: builtins.set is not JSON; turn it into lists or an object"}, got.Error)
	require.JSONEq(t, `{"probes": 4, "probes_passed": 2}`, pyvaluetest.MarshalToString(t, got.Metrics))
	require.Equal(t, strings.TrimSpace(`
Kernel check: FAIL

x n: expected 9, found 3
x a_set: expected 1, found no JSON: builtins.set is not JSON; turn it into lists or an object
+ f: as expected
+ xs: as expected

Failures:
- n: expected 9, found 3
- a_set: expected 1, found no JSON: builtins.set is not JSON; turn it into lists or an object`), got.Reasoning)
}

// Names that the agent rebinds do not change what probes find, and probes leave no
// names behind.
func TestProbesWithShadowedBuiltins(t *testing.T) {
	t.Parallel()
	kernel := startKernel(t, "python3")
	kernel.requireRunsOK(t, `
import sys, io
x = [1, 2]
print = len = type = str = dict = list = isinstance = eval = compile = json = sys = globals = repr = bool = int = b = None
class Exception(BaseException): pass
def __import__(*args): raise OSError("no imports")
import sys as system
system.stdout = io.StringIO()
before = sorted(vars())
`)
	got := gradeKernel(t, kernel, `{"probes": [{"expr": "x", "equals": [1, 2], "type": "list", "len": 2}, {"expr": "print", "equals": null}]}`)
	require.True(t, got.Passed, got.Reasoning)
	got = gradeKernel(t, kernel, `{"probes": [{"expr": "sorted(set(vars()) - set(before)) == ['before']", "equals": true}]}`)
	require.True(t, got.Passed, got.Reasoning)
}

// An expression in a probe cannot end the string in which it is passed to the kernel.
func TestProbeExpressionsAreNotInjected(t *testing.T) {
	t.Parallel()
	kernel := startKernel(t, "python3")
	kernel.requireRunsOK(t, "x = 1")
	for _, expr := range []string{`"); x = 2; ("`, `\"); x = 2; (\"`, "\n)\nx = 2\n(", `'''`, `"""`, `\`, `\u0022); x = 2; (`, "x\u2028; x = 2", "x\x00", "\U0001F600"} {
		probes := pyvalue.NewObject("expr", pyvalue.String(expr))
		probes.Set("equals", pyvalue.NewInt(1))
		spec := grading.Spec{Type: "kernel_check", Config: pyvalue.NewObject("probes", pyvalue.List{probes})}
		got := grading.Grade(t.Context(), spec, grading.Input{Kernel: kernel})
		require.Equal(t, "fail", resultOutcomeWithErrorKind(got), got.Reasoning)
	}
	require.True(t, gradeKernel(t, kernel, `{"probes": [{"expr": "x", "equals": 1}]}`).Passed)
}

func TestCodeCheck(t *testing.T) {
	t.Parallel()
	kernel := startKernel(t, "python3")
	kernel.requireRunsOK(t, "n = 3")
	for _, c := range []struct{ code, outcome, reasoning string }{
		{"n == 3", "pass", "Kernel check: PASS"},
		{"assert n == 3", "pass", "Kernel check: PASS"},
		{"n - 3", "pass", "Kernel check: PASS"}, // only false values fail
		{"None", "pass", "Kernel check: PASS"},
		{"print('n is', n)\nn == 3", "pass", "n is 3"},
		{"n == 4", "fail", "Kernel check: FAIL\n\nFailures:\n- the last value of the check is False"},
		{"print('n is', n)\nn == 4", "fail", "n is 3\n\nthe last value of the check is False"},
		{"'same' if n == 3 else 'other'", "pass", "Kernel check: PASS"},
		{"[n] == [4], 'neither'", "fail", "Kernel check: FAIL\n\nFailures:\n- the last value of the check is neither true nor false: (False, 'neither'); a comparison of arrays needs .all()"},
		{"class A:\n    __repr__ = lambda _: '<NA>'\nA()", "fail", "Kernel check: FAIL\n\nFailures:\n- the last value of the check is neither true nor false: <NA>"},
		{"class A:\n    __repr__ = lambda _: 'array([False])'\nA()", "fail", "Kernel check: FAIL\n\nFailures:\n- the last value of the check is neither true nor false: array([False])"},
		{"print('looking')\nassert n == 4, f'n is {n}'", "fail", "looking\n\nthe check raised\nTraceback"},
		{"n ==", "fail", "Kernel check: FAIL\n\nFailures:\n- the check raised\nTraceback"},
	} {
		config := pyvalue.NewObject("code", pyvalue.String(c.code))
		got := grading.Grade(t.Context(), grading.Spec{Type: "kernel_check", Config: config}, grading.Input{Kernel: kernel})
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), c.code)
		require.True(t, strings.HasPrefix(got.Reasoning, c.reasoning), got.Reasoning)
	}
}

type failingKernel struct {
	done grading.Execution
	err  error
}

func (k failingKernel) Execute(context.Context, string) (grading.Execution, error) {
	return k.done, k.err
}

func TestFailingKernel(t *testing.T) {
	t.Parallel()
	probes := `{"probes": [{"expr": "n", "equals": 1}]}`
	for _, c := range []struct {
		kernel grading.Kernel
		config string
		text   string
	}{
		{nil, probes, "there is no kernel any more to look at"},
		{nil, `{"code": "1"}`, "there is no kernel any more to look at"},
		{failingKernel{err: errors.New("the kernel exited with status 9")}, probes, "the kernel exited with status 9"},
		{failingKernel{err: context.DeadlineExceeded}, `{"code": "1"}`, "context deadline exceeded"},
		{failingKernel{done: grading.Execution{Status: "interrupted"}}, probes, "the probe n did not run: interrupted\n"},
		{failingKernel{done: grading.Execution{Status: "ok", Result: "<x>"}}, probes, "the probe n brought nothing but '<x>'"},
		{failingKernel{done: grading.Execution{Status: "ok", Result: "[]"}}, probes, "the probe n brought nothing but '[]'"},
	} {
		got := gradeKernel(t, c.kernel, c.config)
		kind := "kernel"
		if strings.HasPrefix(c.text, "the probe") { // a value of the agent may be why
			kind = "probe"
		}
		require.Equal(t, &pyvalue.Error{Kind: kind, Text: c.text}, got.Error)
		require.Equal(t, kind == "kernel", got.FailureKind() == grading.ErrorKindKernel)
		require.False(t, got.Passed)
	}
}

// Probes find values of numpy and pandas. The test needs an interpreter with both,
// python3 or the system's, and is skipped if there is none.
func TestProbesOfNumpy(t *testing.T) {
	t.Parallel()
	python := ""
	for _, candidate := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), candidate, "-c", "import numpy, pandas").Run() == nil {
			python = candidate
			break
		}
	}
	if python == "" {
		t.Skip("neither python3 nor /usr/bin/python3 has numpy and pandas")
	}
	kernel := startKernel(t, python)
	kernel.requireRunsOK(t, `
import numpy as np, pandas as pd
a, i, f, m = np.array([1.5, 2.5]), np.int64(7), np.float32(0.5), np.arange(4).reshape(2, 2)
flag, word, z, objects = np.bool_(True), np.str_("w"), np.complex128(1j), np.array([None, "x", np.int8(1)], dtype=object)
df = pd.DataFrame({"a": [1, 2]}); s = df["a"]; stamp = pd.Timestamp("2024-01-01"); day = np.datetime64("2024-01-01")
mixed = {"mean": a.mean(), np.int64(3): [i, f]}
`)
	for _, c := range []struct{ probe, outcome string }{
		{`{"expr": "a", "equals": [1.5, 2.5], "type": "ndarray", "len": 2}`, "pass"},
		{`{"expr": "i", "equals": 7, "type": "int64"}`, "pass"},
		{`{"expr": "f", "approx": {"value": 0.5}}`, "pass"},
		{`{"expr": "m", "equals": [[0, 1], [2, 3]]}`, "pass"},
		{`{"expr": "m", "contains": [2, 3]}`, "pass"},
		{`{"expr": "flag", "equals": true}`, "pass"},
		{`{"expr": "flag", "equals": 1}`, "fail"},
		{`{"expr": "word", "equals": "w"}`, "pass"},
		{`{"expr": "objects", "equals": [null, "x", 1]}`, "pass"},
		{`{"expr": "mixed", "equals": {"mean": 2.0, "3": [7, 0.5]}}`, "pass"},
		{`{"expr": "df", "type": "DataFrame", "len": 2}`, "pass"},
		{`{"expr": "df.a.sum()", "equals": 3}`, "pass"},
		{`{"expr": "df.to_dict('list')", "equals": {"a": [1, 2]}}`, "pass"},
		{`{"expr": "df", "equals": {}}`, "not_json"},
		{`{"expr": "s", "equals": [1, 2]}`, "not_json"},
		{`{"expr": "stamp", "equals": ""}`, "not_json"},
		{`{"expr": "day", "equals": ""}`, "not_json"},
		{`{"expr": "z", "equals": 1}`, "not_json"},
	} {
		got := gradeKernel(t, kernel, `{"probes": [`+c.probe+`]}`)
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s: %s", c.probe, got.Reasoning)
	}
	code := grading.Spec{Type: "kernel_check", Config: pyvaluetest.MustDecode(t, `{"code": "(a > 2).all()"}`)}
	require.Equal(t, "fail", resultOutcomeWithErrorKind(grading.Grade(t.Context(), code, grading.Input{Kernel: kernel})), "numpy's false is false")
}
