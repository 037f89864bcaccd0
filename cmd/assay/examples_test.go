package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// exampleAgent is one of the agents in docs/examples.
type exampleAgent struct {
	command string // %s is the folder of the examples; empty: the program is built
	needs   string // the program that runs or builds it
	turns   string // replies of its model; empty: it has none
}

// exampleAgents returns the agents by file name.
func exampleAgents() map[string]exampleAgent {
	return map[string]exampleAgent{
		"ten_lines.py": {command: "python3 %s/ten_lines.py", needs: "python3"},
		"with_a_model.py": {command: "python3 %s/with_a_model.py", needs: "python3", turns: `
{"content": [{"type": "tool_use", "name": "run_python", "input": {"code": "import json, os\nprint(json.dumps(os.listdir('date')))"}}], "usage": {"input_tokens": 10, "output_tokens": 5}}
{"expect": {"tool_result_contains": "FileNotFoundError"}, "content": [{"type": "text", "text": "A slip."}, {"type": "tool_use", "name": "run_python", "input": {"code": "print(json.dumps(os.listdir('data')))"}}], "usage": {"input_tokens": 20, "output_tokens": 6}}
{"expect": {"tool_result_contains": "rows.csv"}, "content": [{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>[\"rows.csv\"]</EVAL_ANSWER> [EVAL_COMPLETE]"}}], "usage": {"input_tokens": 30, "output_tokens": 7}}`},
		"agent.mjs": {command: "node %s/agent.mjs", needs: "node"},
		"agent.go":  {needs: "go"},
	}
}

// stageExampleAgent creates a folder with a case and what the agent needs. It returns the folder, the
// command of the agent, and the environment for assay. If the agent's program is missing, the test
// is skipped, or fails in CI.
func stageExampleAgent(t *testing.T, a exampleAgent) (dir, command string, env []string) {
	t.Helper()
	if _, err := exec.LookPath(a.needs); err != nil && os.Getenv("CI") != "true" {
		t.Skipf("NOT TESTED: %s: %v", a.needs, err)
	}
	dir = t.TempDir()
	writeFile(t, filepath.Join(dir, "case.json"), `{"id": "files", "task": "Which files are in data? Answer a list of names.", "data_node": "rows.csv",
		"grader": {"type": "exact", "config": {"ground_truth": ["rows.csv"]}}}`)
	writeFile(t, filepath.Join(dir, "rows.csv"), "a,b\n")
	examples, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples"))
	require.NoError(t, err)
	python, err := filepath.Abs(filepath.Join("..", "..", "agent", "python"))
	require.NoError(t, err)
	env = []string{"PYTHONPATH=" + python, "PYTHONDONTWRITEBYTECODE=1", "ANTHROPIC_API_KEY=any"}
	if a.turns != "" {
		script, err := script.Parse("turns", []byte(a.turns))
		require.NoError(t, err)
		api := httptest.NewServer(mockapi.New(script, nil))
		t.Cleanup(api.Close)
		env = append(env, "ANTHROPIC_BASE_URL="+api.URL)
	}
	if a.needs == "go" {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "agent"), filepath.Join(examples, "agent.go")).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return dir, filepath.Join(dir, "agent"), env
	}
	return dir, strings.ReplaceAll(a.command, "%s", examples), env
}

// assay run passes a case with each example agent.
func TestDocs_ExampleAgentsRun(t *testing.T) {
	t.Parallel()
	for name, a := range exampleAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, command, env := stageExampleAgent(t, a)
			cmd := exec.CommandContext(t.Context(), "assay", "run", "case.json", "--agent", command, "--out", "run")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "\nPASS 1/1 ")
			lines, err := os.ReadFile(filepath.Join(dir, "run", "attempts.jsonl"))
			require.NoError(t, err)
			if a.turns != "" {
				require.Contains(t, string(lines), `"input_tokens":60,"output_tokens":18`)
			}
		})
	}
}

// assay serve passes a case with each example agent, and the console receives the verdict.
func TestDocs_ExampleAgentsServe(t *testing.T) {
	t.Parallel()
	for name, a := range exampleAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, command, env := stageExampleAgent(t, a)
			s := startServe(t, serveConfig{args: []string{"--agent", command, "--case", filepath.Join(dir, "case.json")}, env: env})
			c := s.connectView(t, "default")
			require.True(t, c.awaitVerdict(t, 1).Passed)
			s.stop(t)
		})
	}
}

// The example console of docs/consoles.md holds the notebook of a case of assay serve, performs the
// actions of the agent, and exits with the verdict.
func TestDocs_ExampleConsole(t *testing.T) {
	t.Parallel()
	python := findPythonWithWebsockets(t)
	for name, tc := range map[string]struct {
		agent   string
		token   string // of the server; "": EVAL_SANDBOX=1
		verdict string
		status  int
	}{
		"passed":       {"oracle", "", "verdict: completed passed 1", 0},
		"not passed":   {"noop", "", "verdict: stopped_without_answer not passed 0", 1},
		"with a token": {"oracle", "secret", "verdict: completed passed 1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, filepath.Join(t.TempDir(), "case.json"), `{
				"id": "sum", "task": "How much is 6 times 7?", "grader": {"type": "exact", "config": {"ground_truth": 42}},
				"oracle": {"cells": ["x = 6 * 7\nprint(x)"], "answer": 42}}`)
			args := []string{"-u", filepath.Join("..", "..", "docs", "examples", "console.py")}
			s := startServe(t, serveConfig{token: tc.token, args: []string{"--addr", "localhost:0", "--agent", tc.agent, "--case", file}})
			console := exec.CommandContext(t.Context(), python, append(args, s.url)...)
			if tc.token != "" {
				console.Env = append(os.Environ(), "ASSAY_TOKEN="+tc.token)
			}
			printed, _ := console.CombinedOutput() // the exit status is checked below
			require.Contains(t, string(printed), tc.verdict)
			require.Equal(t, tc.status, console.ProcessState.ExitCode(), "%s", printed)
			if tc.agent == "oracle" {
				require.Contains(t, string(printed), "agent: create_cell")
				require.Contains(t, string(printed), "42\n", "the output of the cell")
			}
			s.stop(t)
		})
	}
}

// findPythonWithWebsockets returns an interpreter with the package websockets, or skips the test.
func findPythonWithWebsockets(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import websockets").Run() == nil {
			return python
		}
	}
	t.Skip("neither python3 nor /usr/bin/python3 has websockets: install Debian's python3-websockets")
	return ""
}
