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

// foreignAgent is one of the agents that docs/agents.md shows.
type foreignAgent struct {
	command string // with %s for the folder of the examples; empty: the program is built
	needs   string // a program that it is run by
	turns   string // what the model says that it asks; empty: it asks none
}

func foreignAgents() map[string]foreignAgent {
	return map[string]foreignAgent{
		"ten_lines.py": {command: "python3 %s/ten_lines.py", needs: "python3"},
		"with_a_model.py": {command: "python3 %s/with_a_model.py", needs: "python3", turns: `
{"content": [{"type": "tool_use", "name": "run_python", "input": {"code": "import json, os\nprint(json.dumps(os.listdir('date')))"}}], "usage": {"input_tokens": 10, "output_tokens": 5}}
{"expect": {"tool_result_contains": "FileNotFoundError"}, "content": [{"type": "text", "text": "A slip."}, {"type": "tool_use", "name": "run_python", "input": {"code": "print(json.dumps(os.listdir('data')))"}}], "usage": {"input_tokens": 20, "output_tokens": 6}}
{"expect": {"tool_result_contains": "rows.csv"}, "content": [{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>[\"rows.csv\"]</EVAL_ANSWER> [EVAL_COMPLETE]"}}], "usage": {"input_tokens": 30, "output_tokens": 7}}`},
		"agent.mjs": {command: "node %s/agent.mjs", needs: "node"},
		"agent.go":  {needs: "go"},
	}
}

// stageForeign makes a folder with a case and what the agent needs, and returns
// the folder, the agent's command, and the environment.
func stageForeign(t *testing.T, a foreignAgent) (dir, command string, env []string) {
	t.Helper()
	if _, err := exec.LookPath(a.needs); err != nil && os.Getenv("CI") != "true" {
		t.Skipf("GOING WITHOUT %s: %v", a.needs, err)
	}
	dir = t.TempDir()
	write(t, filepath.Join(dir, "case.json"), `{"id": "files", "task": "Which files are in data? Answer a list of names.", "data_node": "rows.csv",
		"grader": {"type": "exact", "config": {"ground_truth": ["rows.csv"]}}}`)
	write(t, filepath.Join(dir, "rows.csv"), "a,b\n")
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
func TestForeignAgents_Run(t *testing.T) {
	t.Parallel()
	for name, a := range foreignAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, command, env := stageForeign(t, a)
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
func TestForeignAgents_Serve(t *testing.T) {
	t.Parallel()
	for name, a := range foreignAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, command, env := stageForeign(t, a)
			s := open(t, plan{args: []string{"--agent", command, "--case", filepath.Join(dir, "case.json")}, env: env})
			c := s.view(t, "default")
			require.True(t, c.verdict(t, 1).Passed)
			s.stop(t)
		})
	}
}
