package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/script"
	"assay/internal/trace"
)

// recipe is a section of docs/agents.md with a command of assay run, and how the test runs it.
type recipe struct {
	heading string
	tools   string // begins the names by which the model knows the tools of the notebook
	path    string // folder that is put in front of PATH; "": none
	model   string // --model; "": a script
	command string // replaces that of the section; "": none does
	turns   string // of the scripted model; "": it solves the case
	cases   string // file or folder with one case; "": recipeCase
	args    []string
	env     []string
}

// recipeRun is the end of a run of a recipe.
type recipeRun struct {
	printed string
	attempt struct {
		Outcome       string `json:"outcome"`
		OutcomeDetail string `json:"outcome_detail"`
		TamperSignals int    `json:"tamper"`
		Usage         struct {
			CostUSD float64 `json:"cost_usd"`
			Calls   int     `json:"model_calls"`
		} `json:"usage"`
	}
	stderr string // of the agent
	calls  []recipeCall
}

// recipeCall is a call of a model in the trace.
type recipeCall struct {
	Type    string                     `json:"type"`
	Path    string                     `json:"path"`
	Model   string                     `json:"model"`
	Request map[string]json.RawMessage `json:"request"`
}

// recipeCase is the case that the agents of recipes solve.
const recipeCase = `{"id": "sum", "task": "Sum the numbers in data/numbers.csv.", "data_node": "numbers.csv", "grader": {"type": "exact", "config": {"ground_truth": 42}}}`

// solvingTurns returns the replies of a model that solves recipeCase. The names of its tools begin with prefix.
func solvingTurns(prefix string) string {
	return fmt.Sprintf(`{"content": [{"type": "text", "text": "I add them up."}, {"type": "tool_use", "name": "%[1]sexecute_code", "input": {"code": "sum(map(int, open('data/numbers.csv').read().split()[1:]))"}}]}
{"expect": {"tool_result_contains": "42"}, "content": [{"type": "tool_use", "name": "%[1]ssubmit_response", "input": {"summary": "<EVAL_ANSWER>42</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}}]}
{"content": "Done."}`, prefix)
}

// spendingTurns returns the replies of a model that runs code ten times. Each costs 1.5 cents with
// anthropic/claude-sonnet-5.
func spendingTurns(prefix string) string {
	return strings.Repeat(fmt.Sprintf(`{"content": [{"type": "tool_use", "name": "%sexecute_code", "input": {"code": "1"}}], "usage": {"input_tokens": 5000, "output_tokens": 500}}
`, prefix), 10)
}

// recipeCommand returns the shell commands in the section of docs/agents.md with this heading.
func recipeCommand(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n### "+heading+"\n")
	require.True(t, found, heading)
	section, _, _ = strings.Cut(section, "\n### ")
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(section)
	require.NotNil(t, block, heading)
	return block[1]
}

// run executes the commands of the recipe as they stand there, in the folder of the repository, with
// other files for cases.json and the run.
func (r recipe) run(t *testing.T) recipeRun {
	t.Helper()
	dir := t.TempDir()
	cases := r.cases
	if cases == "" {
		cases = writeFile(t, filepath.Join(dir, "cases.json"), recipeCase)
		writeFile(t, filepath.Join(dir, "numbers.csv"), "n\n40\n2\n")
	}
	if r.turns == "" {
		r.turns = solvingTurns(r.tools)
	}
	env := []string{"MODEL=" + r.model, "PATH=" + strings.Trim(r.path+":"+os.Getenv("PATH"), ":"), "PYTHONDONTWRITEBYTECODE=1"}
	switch {
	case r.model == "":
		env[0] = "MODEL=script:" + writeFile(t, filepath.Join(dir, "turns.jsonl"), r.turns)
	case !strings.HasPrefix(r.model, "replay:"):
		env = append(env, vendorEnvironment(t, r.turns)...)
	}
	command := r.command
	if command == "" {
		command = recipeCommand(t, r.heading)
	}
	const replaced = "assay run cases.json "
	require.Contains(t, command, replaced)
	out := filepath.Join(dir, "run")
	command = strings.Replace(command, replaced, strings.Join(append([]string{"assay", "run", cases, "--out", out}, r.args...), " ")+" ", 1)
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = slices.Concat(os.Environ(), env, r.env)
	began := time.Now()
	printed, err := cmd.CombinedOutput()
	if _, isStatus := err.(*exec.ExitError); !isStatus { //nolint:errorlint // what CombinedOutput returns
		require.NoError(t, err)
	}
	t.Logf("%s: %.1f s", r.heading, time.Since(began).Seconds())
	awaitCondition(t, "processes are still running", func() bool { return len(findProcessesWithText(dir)) == 0 })
	return readRecipeRun(t, out, string(printed))
}

// vendorEnvironment starts a server that plays a script as the APIs of both vendors, and returns the
// environment of a user with keys for it.
func vendorEnvironment(t *testing.T, turns string) []string {
	t.Helper()
	played, err := script.Parse("turns", []byte(turns))
	require.NoError(t, err)
	api := httptest.NewServer(mockapi.New(played, nil))
	t.Cleanup(api.Close)
	return []string{
		"ANTHROPIC_API_KEY=real-anthropic-key", "ANTHROPIC_BASE_URL=" + api.URL,
		"OPENAI_API_KEY=real-openai-key", "OPENAI_BASE_URL=" + api.URL + "/v1",
	}
}

// readRecipeRun reads a run with one attempt.
func readRecipeRun(t *testing.T, out, printed string) recipeRun {
	t.Helper()
	end := recipeRun{printed: printed}
	attempts, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
	require.NoError(t, err, printed)
	for line := range bytes.Lines(attempts) {
		if bytes.Contains(line, []byte(`"type":"attempt"`)) {
			require.NoError(t, json.Unmarshal(line, &end.attempt))
		}
	}
	folder := globPaths(t, filepath.Join(out, "attempts", "*"))[0]
	stderr, err := os.ReadFile(filepath.Join(folder, "stderr.txt"))
	require.NoError(t, err, printed)
	end.stderr = string(stderr)
	file, err := os.Open(filepath.Join(folder, "trace.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	_, err = trace.ReadRecords(file, func(r trace.Record) error {
		if r.Type != "model_call" {
			return nil
		}
		end.calls = append(end.calls, recipeCall{})
		return json.Unmarshal(r.Message, &end.calls[len(end.calls)-1])
	})
	require.NoError(t, err)
	return end
}

// requireSolved requires that the agent has solved the case without tampering, and called only the model assay.
func (end *recipeRun) requireSolved(t *testing.T) {
	t.Helper()
	require.Contains(t, end.printed, "PASS 1/1 ", end.stderr)
	require.Equal(t, "completed", end.attempt.Outcome)
	require.Zero(t, end.attempt.TamperSignals, "tamper")
	require.GreaterOrEqual(t, len(end.calls), 2)
	for _, call := range end.calls {
		require.Equal(t, "assay", call.Model)
	}
}

// requireStoppedByCost requires that the limit of $0.05 has ended the agent, after one call more at most.
func (end *recipeRun) requireStoppedByCost(t *testing.T) {
	t.Helper()
	require.Equal(t, "limit", end.attempt.Outcome, end.stderr)
	require.Equal(t, "cost_usd: configured 0.05, measured 0.06", end.attempt.OutcomeDetail)
	require.InDelta(t, 0.06, end.attempt.Usage.CostUSD, 1e-9) // three calls cost 0.045
	require.Equal(t, 4, end.attempt.Usage.Calls)
}

// standInRecipes returns the recipes whose programs have stand-ins, by the program, and the members of
// the requests of both. The third stand-in is for agents on OpenAI's Python library.
func standInRecipes(t *testing.T) (recipes map[string]recipe, members map[string][]string) {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("testdata", "standins"))
	require.NoError(t, err)
	// What the agent's shell finds on PATH must be readable for it.
	python, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print(sys.prefix)").Output()
	require.NoError(t, err)
	common := recipe{path: folder, args: []string{"--agent-read", strings.TrimSpace(string(python))}}
	claude, codex, library := common, common, common
	claude.heading, claude.tools = "Claude Code", "mcp__assay__"
	codex.heading, codex.tools = "Codex", "mcp__assay__"
	library.command = `assay run cases.json --model "$MODEL" --agent 'mcp: python_agent'`
	return map[string]recipe{"claude": claude, "codex": codex, "python_agent": library}, map[string][]string{
		"claude":       {"context_management", "max_tokens", "messages", "metadata", "model", "output_config", "stream", "system", "thinking", "tools"},
		"codex":        {"client_metadata", "include", "input", "model", "parallel_tool_calls", "prompt_cache_key", "reasoning", "store", "stream", "tool_choice", "tools"},
		"python_agent": {"messages", "model", "stream", "tool_choice", "tools"},
	}
}

// The stand-ins solve a case with the commands in docs/agents.md: with a script, and with models behind
// the APIs of both vendors. They have no key, and a limit of cost ends them.
func TestRecipes_StandIns(t *testing.T) {
	t.Parallel()
	recipes, members := standInRecipes(t)
	for name, r := range recipes {
		for _, model := range []string{"", "anthropic/claude-sonnet-5", "openai/gpt-test"} {
			t.Run(name+"/"+model, func(t *testing.T) {
				t.Parallel()
				r := r
				r.model = model
				end := r.run(t)
				end.requireSolved(t)
				require.Equal(t, members[name], slices.Sorted(maps.Keys(end.calls[0].Request)))
				environment := reverse(end.stderr)
				require.Contains(t, environment, "OPENAI_BASE_URL=http://127.0.0.1:")
				require.NotContains(t, environment, "real-")
				require.NotContains(t, end.stderr, "real-")
			})
		}
		t.Run(name+"/cost", func(t *testing.T) {
			t.Parallel()
			r := r
			r.model, r.turns = "anthropic/claude-sonnet-5", spendingTurns(r.tools)
			r.args = append(slices.Clone(r.args), "--cost", "0.05")
			end := r.run(t)
			end.requireStoppedByCost(t)
		})
	}
}

// reverse returns a text with its characters in reverse order.
func reverse(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}
