package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/testcases"
)

// solvedCase is an example case and the answer of its solution.
type solvedCase struct {
	testcases.Case
	answer json.RawMessage
	turns  []json.RawMessage // of a solution with tool calls
	cells  []string          // of any other solution
}

// Each strategy solves every example case that has its name as a tag, with a real kernel and a
// scripted model. The model gives the cells of the case's own solution in the form that the
// strategy expects.
func TestStrategies_SolveTheirExamples(t *testing.T) {
	t.Parallel()
	python := "python3"
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		python = "/usr/bin/python3" // the interpreter for which Debian installs the packages that some cases require
	}
	cases := solveExamples(t, python)
	for _, strategy := range strategyNames() {
		tagged := slices.DeleteFunc(slices.Clone(cases), func(c solvedCase) bool { return !slices.Contains(c.Tags, strategy) })
		require.NotEmpty(t, tagged, strategy)
		step := 1
		if testing.Short() {
			step = max(1, len(tagged)/4)
		}
		for i := 0; i < len(tagged); i += step {
			c := tagged[i]
			t.Run(strategy+"/"+c.ID, func(t *testing.T) {
				t.Parallel()
				script := filepath.Join(t.TempDir(), "turns.jsonl")
				writeFile(t, script, writeModelScript(t, strategy, c))
				out, err := exec.CommandContext(t.Context(), "assay", "run", c.Source.File, "--id", c.ID, "--kernel", caseKernel(c), "--python", python,
					"--strategy", strategy, "--model", "script:"+script, "--out", filepath.Join(t.TempDir(), "run")).CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.Contains(t, string(out), "PASS 1/1 ")
			})
		}
	}
}

// solveExamples runs the example cases with their own solutions and returns those that were not
// skipped. Kernels other than python may be missing, but not in CI.
func solveExamples(t *testing.T, python string) []solvedCase {
	t.Helper()
	all, err := testcases.Load([]string{filepath.Join("..", "..", "testcases", "examples")}, testcases.Options{})
	require.NoError(t, err)
	answers := map[string]json.RawMessage{}
	for kernel, more := range map[string][]string{"python": {"--pool", "2"}, "elisp": {"--tag", "elisp"}, "jupyter:ir": {"--tag", "r"}} {
		dir := filepath.Join(t.TempDir(), "run")
		args := []string{"run", filepath.Join("..", "..", "testcases", "examples"), "--agent", "oracle", "--kernel", kernel, "--python", python, "--out", dir}
		out, err := exec.CommandContext(t.Context(), "assay", append(args, more...)...).CombinedOutput()
		if err != nil && os.Getenv("CI") != "true" && kernel != "python" {
			t.Logf("NOT TESTED: cases of kernel %s: %s", kernel, out)
			continue
		}
		require.NoError(t, err, "%s", out)
		addAnswersOfRun(t, dir, answers)
	}
	var cases []solvedCase
	for _, c := range all {
		answer, ok := answers[c.ID]
		if !ok {
			continue // it was skipped
		}
		s := solvedCase{Case: c, answer: answer}
		var oracle struct {
			Cells []string
			Turns []json.RawMessage
		}
		require.NoError(t, json.Unmarshal(c.Oracle, &oracle))
		s.cells, s.turns = oracle.Cells, oracle.Turns
		cases = append(cases, s)
	}
	return cases
}

// addAnswersOfRun reads the attempts of the run in dir and adds their answers, by case id.
func addAnswersOfRun(t *testing.T, dir string, into map[string]json.RawMessage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "attempts.jsonl"))
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var attempt struct {
			Type   string
			CaseID string `json:"case_id"`
			Answer json.RawMessage
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &attempt))
		if attempt.Type == runs.TypeAttempt {
			into[attempt.CaseID] = attempt.Answer
		}
	}
	require.NoError(t, lines.Err())
}

// caseKernel returns the value of --kernel for a case.
func caseKernel(c solvedCase) string {
	if c.Kernel == "" {
		return "python"
	}
	return c.Kernel
}

// writeModelScript returns the script of a model that solves the case with the strategy.
func writeModelScript(t *testing.T, strategy string, c solvedCase) string {
	t.Helper()
	var script strings.Builder
	addReply := func(content any) {
		line, err := json.Marshal(map[string]any{"content": content, "usage": map[string]int{"input_tokens": 100, "output_tokens": 20}})
		require.NoError(t, err)
		script.Write(append(line, '\n'))
	}
	submission := fmt.Sprintf("The cells of the solution were run.\n<EVAL_ANSWER>%s</EVAL_ANSWER>\n[EVAL_COMPLETE]", c.answer)
	switch {
	case strategy == "tools" && c.turns != nil:
		for _, turn := range c.turns {
			script.Write(append(turn, '\n'))
		}
	case strategy == "tools":
		for i, source := range c.cells {
			addReply([]any{toolUse("create_cell", map[string]any{"position": i, "source": source, "auto_run": true})})
		}
		addReply([]any{toolUse("submit_response", map[string]any{"summary": submission, "next_status": "done"})})
	case strategy == "blocks":
		for _, source := range c.cells {
			addReply("A step.\n\n```" + blockLanguage(c) + "\n" + source + "\n```\n")
		}
		addReply(submission)
	case strategy == "ticks":
		for _, source := range c.cells {
			addReply(tickReply(t, map[string]any{"eval": source, "thought": "a step", "monologue": "one step further", "continue": true}))
		}
		addReply(tickReply(t, map[string]any{"eval": nil, "thought": "done", "monologue": "handed in", "reply": submission}))
	}
	return script.String()
}

// toolUse returns a tool call, as a block of a reply of the model.
func toolUse(name string, input map[string]any) map[string]any {
	return map[string]any{"type": "tool_use", "name": name, "input": input}
}

// tickReply returns a reply of the model for one tick, as JSON.
func tickReply(t *testing.T, reply map[string]any) string {
	t.Helper()
	text, err := json.Marshal(reply)
	require.NoError(t, err)
	return string(text)
}

// blockLanguage returns the language tag of code blocks for the case's kernel.
func blockLanguage(c solvedCase) string {
	switch c.Kernel {
	case "", "python":
		return "python"
	case "jupyter:ir":
		return "R"
	default:
		return c.Kernel
	}
}
