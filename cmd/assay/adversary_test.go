package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/testcases"
	"assay/testcases/grading/pyvalue"
)

// No hostile script of testdata/adversary passes its case, each has a verdict, and those that the server
// can notice count as tamper. The trace shows the evidence that a script names in its metadata, so the
// trick was really tried. docs/security.md says of each what it tries.
func TestAdversary(t *testing.T) {
	t.Parallel()
	agent := writeFile(t, filepath.Join(t.TempDir(), "agent.py"), scriptedAgentSource)
	for name, args := range map[string][]string{
		"cases.json":  {"--agent", "oracle"},
		"agents.json": {"--agent", "python3 " + agent},      // tricks that the built-in agent does not play
		"pool.json":   {"--agent", "oracle", "--pool", "2"}, // the kernel of the check is forked, too
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", "adversary", name)
			requireSourcesCompile(t, file)
			requireNonePasses(t, file, args...)
		})
	}
}

// requireNonePasses runs the cases of a file and requires of each attempt what TestAdversary says.
func requireNonePasses(t *testing.T, file string, args ...string) {
	t.Helper()
	cases, err := testcases.Load([]string{file}, testcases.Options{})
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	require.NoError(t, err)
	byID := map[string]testcases.Case{}
	for _, c := range cases {
		byID[c.ID] = c
		require.Contains(t, string(page), "| `"+c.ID+"` | "+c.Notes+" |")
	}
	out := filepath.Join(t.TempDir(), "run")
	runAssay(t, append([]string{"run", file, "--quiet", "--out", out}, args...)...)
	attempts := readAttempts(t, out)
	require.Len(t, attempts, len(cases))
	for _, a := range attempts {
		c := byID[a.CaseID]
		isCounted := c.Metadata.Get("counted") == pyvalue.Bool(true)
		t.Logf("%-22s %s: outcome %s, tamper %d", a.CaseID, c.Notes, a.Outcome, a.TamperSignals)
		require.NotNil(t, a.Passed, "%s has a verdict: %v", a.CaseID, a)
		require.False(t, *a.Passed, a.CaseID)
		require.True(t, a.TamperSignals > 0 || !isCounted, a.CaseID)
		if evidence, ok := c.Metadata.Get("evidence").(pyvalue.String); ok {
			text, err := os.ReadFile(filepath.Join(out, a.Trace))
			require.NoError(t, err)
			require.True(t, bytes.Contains(text, []byte(evidence)), "%s: the trick was not tried: the trace does not have %s: %s", a.CaseID, evidence, a.Detail)
		}
	}
}

// readAttempts returns the attempts in the folder of a run, in the order of their lines.
func readAttempts(t *testing.T, dir string) (attempts []runs.Attempt) {
	t.Helper()
	for _, line := range readLines(t, filepath.Join(dir, "attempts.jsonl")) {
		if line["type"] == runs.TypeAttempt {
			var a runs.Attempt
			decodeLine(t, line, &a)
			attempts = append(attempts, a)
		}
	}
	return attempts
}

// compileSources is a Python program that prints the sources of the cases in a file that are not
// Python, with the error: cells, code that is executed, setups, and what the scripted agent executes.
const compileSources = `
import ast, json, sys
for case in json.load(open(sys.argv[1])):
    oracle = case.get("oracle", {})
    sources = [*oracle.get("cells", []), case.get("setup") or ""]
    for turn in oracle.get("turns", []):
        inputs = [call["input"] for call in turn["content"]]
        sources += [i[key] for i in inputs for key in ("source", "code") if key in i]
    sources += [part.partition("#!end")[0] for part in case["task"].split("#!agent\n")[1:]]
    for source in sources:
        try:
            compile(source, case["id"], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            print(case["id"], repr(error))
    if not any(sources):
        print(case["id"], "has no source")
`

// requireSourcesCompile requires that all Python in the cases of a file compiles: a script with a
// mistake fails its case without having tried its trick.
func requireSourcesCompile(t *testing.T, file string) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "python3", "-c", compileSources, file).CombinedOutput()
	require.NoError(t, err, string(text))
	require.Empty(t, string(text))
}

// The first submission of the script second-submission is the answer, although the second one is right.
func TestAdversary_FirstSubmissionIsKept(t *testing.T) {
	t.Parallel()
	agent := writeFile(t, filepath.Join(t.TempDir(), "agent.py"), scriptedAgentSource)
	out := filepath.Join(t.TempDir(), "run")
	runAssay(t, "run", filepath.Join("testdata", "adversary", "agents.json"), "--id", "second-submission", "--agent", "python3 "+agent, "--quiet", "--out", out)
	attempts := readAttempts(t, out)
	require.Len(t, attempts, 1)
	require.Equal(t, runs.OutcomeCompleted, attempts[0].Outcome, attempts[0].Detail)
	require.JSONEq(t, "1", string(attempts[0].Answer))
}

// With a pool of one kernel a cell does not get at the socket of the kernel that is forked next, for the
// next attempt. No kernel is started cold.
func TestAdversary_PoolOfOne(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	cases := writeFile(t, filepath.Join(t.TempDir(), "cases.json"), poolCaseWithExactGrader(t))
	text, err := exec.CommandContext(t.Context(), "assay", "run", cases, "--agent", "oracle", "--pool", "1", "-j", "1", "--epochs", "2", "--out", out).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "pool: 2 kernels forked, 0 started cold")
	attempts := readAttempts(t, out)
	require.Len(t, attempts, 2)
	for _, a := range attempts {
		require.NotNil(t, a.Passed, a.Detail)
		require.False(t, *a.Passed)
		recorded, err := os.ReadFile(filepath.Join(out, a.Trace))
		require.NoError(t, err)
		require.Contains(t, string(recorded), "times, stolen []")
	}
}

// poolCaseWithExactGrader returns the case of pool.json with a grader that needs no kernel.
func poolCaseWithExactGrader(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "adversary", "pool.json"))
	require.NoError(t, err)
	var cases []jsonObject
	require.NoError(t, json.Unmarshal(text, &cases))
	require.Len(t, cases, 1)
	cases[0]["graders"] = []any{jsonObject{"type": "exact", "config": jsonObject{"ground_truth": 4711}}}
	text, err = json.Marshal(cases)
	require.NoError(t, err)
	return string(text)
}
