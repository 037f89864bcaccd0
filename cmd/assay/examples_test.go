package main

import (
	"bufio"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// exampleAgent is one of the agents that docs/agents.md shows.
type exampleAgent struct {
	command string // with %s for the folder of the examples; empty: the program is built
	needs   string // a program that it is run by
	turns   string // what the model says that it asks; empty: it asks none
}

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

// stageExampleAgent makes a folder with a case and what the agent needs, and returns
// the folder, the agent's command, and the environment.
func stageExampleAgent(t *testing.T, a exampleAgent) (dir, command string, env []string) {
	t.Helper()
	if _, err := exec.LookPath(a.needs); err != nil && os.Getenv("CI") != "true" {
		t.Skipf("GOING WITHOUT %s: %v", a.needs, err)
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

// Each agent that the documentation shows completes a case in a batch.
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

// And before a console, which gets the verdict.
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

// The console of docs/consoles.md holds the notebook of a case that assay serve
// has, does what an agent asks for, and ends with the verdict.
func TestDocs_ExampleConsole(t *testing.T) {
	t.Parallel()
	python := findPythonWithWebsockets(t)
	for name, tc := range map[string]struct {
		agent   string
		token   []string // flags of both; none is EVAL_SANDBOX=1
		verdict string
		status  int
	}{
		"passed":       {"oracle", nil, "verdict: completed passed 1", 0},
		"not passed":   {"noop", nil, "verdict: stopped_without_answer not passed 0", 1},
		"with a token": {"oracle", []string{"--token", "secret"}, "verdict: completed passed 1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, filepath.Join(t.TempDir(), "case.json"), `{
				"id": "sum", "task": "How much is 6 times 7?", "grader": {"type": "exact", "config": {"ground_truth": 42}},
				"oracle": {"cells": ["x = 6 * 7\nprint(x)"], "answer": 42}}`)
			args := []string{"-u", filepath.Join("..", "..", "docs", "examples", "console.py")}
			args = append(args, serve(t, tc.token, "--agent", tc.agent, "--case", file))
			console := exec.CommandContext(t.Context(), python, append(args, tc.token...)...)
			printed, _ := console.CombinedOutput() // its status says the same as its error
			require.Contains(t, string(printed), tc.verdict)
			require.Equal(t, tc.status, console.ProcessState.ExitCode(), "%s", printed)
			if tc.agent == "oracle" {
				require.Contains(t, string(printed), "agent: create_cell")
				require.Contains(t, string(printed), "42\n", "what the cell printed")
			}
		})
	}
}

// findPythonWithWebsockets is a Python that has the library of the example.
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

// serve starts assay serve on a free port, without a token as on one's own
// machine, and returns its address. At the end of the test it is told to end, and
// must end well.
func serve(t *testing.T, token []string, args ...string) string {
	t.Helper()
	args = append(append([]string{"serve", "--addr", "localhost:0", "--runs", t.TempDir()}, token...), args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "assay", args...)
	if token == nil {
		cmd.Env = append(os.Environ(), "EVAL_SANDBOX=1")
	}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	told, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		defer close(told)
		for in := bufio.NewReader(stderr); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if _, address, ok := strings.Cut(line, "serving at "); ok {
				told <- strings.TrimSpace(address)
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		<-drained
		require.NoError(t, cmd.Wait())
	})
	address, ok := <-told
	require.True(t, ok, "it does not serve")
	return address
}
