package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
)

// anyAgent is an agent that is not ours, and how its model runs code and submits.
type anyAgent struct {
	recipe
	runTool string // name of the tool that runs code, without the recipe's prefix
}

// anyAgents returns agents of all kinds: programs that are MCP clients, with the requests of Claude Code, of Codex
// and of OpenAI's Python library; an agent that speaks ACP; and one with our SDK for Python.
func anyAgents(t *testing.T) map[string]anyAgent {
	t.Helper()
	agents := map[string]anyAgent{}
	standIns, _ := standInRecipes(t)
	for name, r := range standIns {
		agents[name] = anyAgent{r, "create_cell"}
	}
	acp := standIns["python_agent"]
	acp.command = `assay run cases.json --model "$MODEL" --agent 'acp: acp_agent'`
	agents["acp"] = anyAgent{acp, "create_cell"}
	sdk := acp
	library, err := filepath.Abs(filepath.Join("..", "..", "agent", "python"))
	require.NoError(t, err)
	examples, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples"))
	require.NoError(t, err)
	sdk.command = `assay run cases.json --model "$MODEL" --agent 'sh -c "env | rev >&2; exec env MODEL=assay python3 ` + examples + `/with_a_model.py \$0"' --agent-read ` + examples + " --agent-read " + library
	sdk.env = []string{"PYTHONPATH=" + library}
	agents["sdk"] = anyAgent{sdk, "run_python"}
	return agents
}

// solvingTurns returns the replies of a model that runs these cells and submits the answer.
func (a anyAgent) solvingTurns(t *testing.T, cells []string, answer json.RawMessage) string {
	t.Helper()
	var turns strings.Builder
	reply := func(tool string, input jsonObject) {
		line, err := json.Marshal(jsonObject{"content": []any{toolUse(a.tools+tool, input)}, "usage": jsonObject{"input_tokens": 100, "output_tokens": 20}})
		require.NoError(t, err)
		turns.Write(append(line, '\n'))
	}
	for i, source := range cells {
		input := jsonObject{"code": source}
		if a.runTool == "create_cell" {
			input = jsonObject{"position": i, "source": source, "auto_run": true}
		}
		reply(a.runTool, input)
	}
	reply("submit_response", jsonObject{"summary": fmt.Sprintf("<EVAL_ANSWER>%s</EVAL_ANSWER> [EVAL_COMPLETE]", answer), "next_status": "done"})
	return turns.String() + `{"content": "Done."}` + "\n"
}

// cellSolution returns the cells that solve a case; nil if its solution is of another form, or for another kernel.
func cellSolution(t *testing.T, c testcases.Case) []string {
	t.Helper()
	var oracle struct{ Cells []string }
	require.NoError(t, json.Unmarshal(c.Oracle, &oracle))
	if c.Kernel != "" && c.Kernel != "python" {
		return nil
	}
	return oracle.Cells
}

// Agents of all kinds solve the examples with the tag tools, have no key, and do the same again with the replies of the
// recording, without a key or a vendor. A limit of cost ends each within one call.
func TestAnyAgent(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs(filepath.Join("..", "..", "testcases", "examples"))
	require.NoError(t, err)
	all, err := testcases.Load([]string{folder}, testcases.Options{})
	require.NoError(t, err)
	tagged, err := testcases.Select(all, testcases.Selection{Tags: []string{"tools"}})
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "run")
	text, err := exec.CommandContext(t.Context(), "assay", "run", folder, "--tag", "tools", "--agent", "oracle", "--out", out).CombinedOutput()
	require.NoError(t, err, "%s", text)
	answers := map[string]json.RawMessage{}
	addAnswersOfRun(t, out, answers)
	tagged = slices.DeleteFunc(tagged, func(c testcases.Case) bool { return answers[c.ID] == nil || cellSolution(t, c) == nil })
	require.NotEmpty(t, tagged)

	agents := anyAgents(t)
	for n, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		for i, c := range tagged {
			if testing.Short() && i != n%len(tagged) {
				continue // make nightly runs all
			}
			t.Run(name+"/"+c.ID, func(t *testing.T) {
				t.Parallel()
				a.requireSolvesAndReplays(t, c, a.solvingTurns(t, cellSolution(t, c), answers[c.ID]))
			})
		}
		t.Run(name+"/cost", func(t *testing.T) {
			t.Parallel()
			r := a.recipe
			r.model, r.args = "anthropic/claude-sonnet-5", append(slices.Clone(r.args), "--cost", "0.05")
			r.turns = spendingTurns(r.tools)
			if name == "sdk" {
				r.turns = strings.ReplaceAll(r.turns, "execute_code", a.runTool)
			}
			end := r.run(t)
			end.requireStoppedByCost(t)
		})
	}
}

// requireSolvesAndReplays requires that the agent solves a case with a model that replies so, and again with the
// recording.
func (a anyAgent) requireSolvesAndReplays(t *testing.T, c testcases.Case, turns string) {
	t.Helper()
	recording := filepath.Join(t.TempDir(), "calls.jsonl")
	r := a.recipe
	r.cases, r.turns, r.model, r.args = c.Source.File, turns, "anthropic/claude-sonnet-5", append(slices.Clone(a.args), "--record", recording)
	live := r.run(t)
	live.requireSolved(t)
	require.Contains(t, reverse(live.stderr), "OPENAI_API_KEY=assay-")
	require.NotContains(t, live.stderr+reverse(live.stderr), "real-")

	r.model, r.args = "replay:"+recording, a.args
	r.env = append(slices.Clone(a.env), "ANTHROPIC_BASE_URL=http://127.0.0.1:9", "OPENAI_BASE_URL=http://127.0.0.1:9") // nothing listens there
	again := r.run(t)
	again.requireSolved(t)
	require.Len(t, again.calls, len(live.calls))
}
