package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// npmInstall executes npm with arguments that install packages below folder, unless that was done with the same
// key. If it fails, the test is skipped, or fails in CI.
func npmInstall(t *testing.T, folder, key string, args ...string) {
	t.Helper()
	installed := filepath.Join(folder, "node_modules", ".installed")
	if got, err := os.ReadFile(installed); err == nil && string(got) == key {
		return
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	npm := exec.CommandContext(t.Context(), "npm", append(args, "--no-audit", "--no-fund")...)
	npm.Dir = folder
	out, err := npm.CombinedOutput()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("NOT TESTED: npm %s: %v: %s", strings.Join(args, " "), err, out)
	}
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(installed, []byte(key), 0o600))
}

// programRecipe is the recipe of a program on npm.
type programRecipe struct {
	recipe
	name        string // of the program
	npmPackage  string // with its version
	runsScripts bool   // a script of the package puts the program in its place
	hasStandIn  bool
}

// programRecipes returns the recipes of programs on npm.
func programRecipes() []programRecipe {
	return []programRecipe{
		{recipe{heading: "Claude Code", tools: "mcp__assay__"}, "claude", "@anthropic-ai/claude-code@2.1.332", true, true},
		{recipe{heading: "Codex", tools: "mcp__assay__"}, "codex", "@openai/codex@0.171.0", false, true},
		{recipe{heading: "OpenCode", tools: "assay_"}, "opencode", "opencode-ai@1.18.33", true, false},
		{recipe{heading: "Gemini CLI", tools: "mcp_assay_"}, "gemini", "@google/gemini-cli@0.61.0", false, false},
	}
}

// The real programs solve a case with the commands in docs/agents.md, in the versions that the page names. Those
// with a stand-in send what it sends, solve the case also with the model of another vendor, and are ended by a
// limit of cost.
func TestRecipes_Programs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	_, members := standInRecipes(t)
	for _, p := range programRecipes() {
		t.Run(p.heading, func(t *testing.T) {
			t.Parallel()
			folder, err := filepath.Abs(filepath.Join("..", "..", ".cache", "programs", p.name))
			require.NoError(t, err)
			npmInstall(t, folder, p.npmPackage, "install", "--no-save", "--no-package-lock", "--prefix=.", fmt.Sprintf("--ignore-scripts=%t", !p.runsScripts), p.npmPackage)
			p.path = filepath.Join(folder, "node_modules", ".bin")
			if p.name == "gemini" {
				p.env = geminiEnvironment(t, p.tools)
				end := p.run(t)
				require.Contains(t, end.printed, "PASS 1/1 ", end.stderr)
				return
			}
			end := p.run(t)
			end.requireSolved(t)
			if !p.hasStandIn {
				return
			}
			require.Equal(t, members[p.name], slices.Sorted(maps.Keys(end.calls[0].Request)))
			for _, model := range []string{"anthropic/claude-sonnet-5", "openai/gpt-test"} {
				p.model = model
				end := p.run(t)
				end.requireSolved(t)
			}
			if p.name == "codex" { // the only one that may use its shell
				requireNoKeyInShell(t, p.recipe)
			}
			p.model, p.turns, p.args = "anthropic/claude-sonnet-5", spendingTurns(p.tools), append(slices.Clone(p.args), "--cost", "0.05")
			end = p.run(t)
			end.requireStoppedByCost(t)
		})
	}
}

// requireNoKeyInShell requires that a command of Codex finds no key but the attempt's token, and no network.
func requireNoKeyInShell(t *testing.T, r recipe) {
	t.Helper()
	r.model = "openai/gpt-test"
	r.turns = `{"content": [{"type": "tool_use", "name": "exec_command", "input": {"cmd": "env | rev; (echo >/dev/tcp/192.0.2.1/80) 2>&1"}}]}
{"content": [{"type": "tool_use", "name": "mcp__assay__submit_response", "input": {"summary": "<EVAL_ANSWER>42</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}}]}`
	end := r.run(t)
	end.requireSolved(t)
	shown := string(end.calls[1].Request["input"])
	require.Contains(t, shown, reverse("OPENAI_API_KEY=assay-"))
	require.Contains(t, shown, "Network is unreachable")
	require.NotContains(t, shown, reverse("real-"))
}

// geminiEnvironment starts a stand-in of Google's API that solves recipeCase, and returns the environment of a
// user with a key for it.
func geminiEnvironment(t *testing.T, tools string) []string {
	t.Helper()
	type part map[string]any
	call := func(name string, arguments part) part {
		return part{"functionCall": part{"name": tools + name, "args": arguments}}
	}
	turns := []part{
		call("execute_code", part{"code": "sum(map(int, open('data/numbers.csv').read().split()[1:]))"}),
		call("submit_response", part{"summary": "<EVAL_ANSWER>42</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}),
		{"text": "Done."},
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Contents []struct{ Parts []map[string]json.RawMessage }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1beta/models/gemini-3-pro:streamGenerateContent" {
			http.Error(w, "not served", http.StatusNotFound)
			return
		}
		results := 0
		for _, content := range request.Contents {
			for _, p := range content.Parts {
				if p["functionResponse"] != nil {
					results++
				}
			}
		}
		reply, err := json.Marshal(part{"candidates": []part{{
			"index": 0, "finishReason": "STOP", "content": part{"role": "model", "parts": []part{turns[min(results, len(turns)-1)]}},
		}}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\r\n\r\n", reply) // the client may have gone
	}))
	t.Cleanup(api.Close)
	return []string{"GEMINI_API_KEY=any", "GOOGLE_GEMINI_BASE_URL=" + api.URL}
}

// The agents on libraries for Node solve a case with the commands in docs/agents.md.
func TestRecipes_Node(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "docs", "examples", "node")
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	require.NoError(t, err)
	npmInstall(t, folder, string(lock), "ci", "--ignore-scripts")
	for _, heading := range []string{"OpenAI Agents SDK", "LangGraph"} {
		t.Run(heading, func(t *testing.T) {
			t.Parallel()
			end := recipe{heading: heading}.run(t)
			end.requireSolved(t)
			require.Contains(t, end.stderr, "Submitted.") // and no error after it
		})
	}
}

// docs/agents.md names the versions that are tested.
func TestRecipes_Versions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	require.NoError(t, err)
	for _, p := range programRecipes() {
		require.Contains(t, string(page), "\n`npm install -g "+p.npmPackage+"`\n")
		require.Contains(t, string(page), "| "+p.npmPackage[strings.LastIndex(p.npmPackage, "@")+1:]+" |")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "node", "package.json"))
	require.NoError(t, err)
	var libraries struct{ Dependencies map[string]string }
	require.NoError(t, json.Unmarshal(text, &libraries))
	for _, name := range []string{"@openai/agents", "@langchain/langgraph"} {
		require.Contains(t, string(page), "| "+libraries.Dependencies[name]+" |")
	}
}

// The Python in docs/agents.md can be parsed.
func TestRecipes_Python(t *testing.T) {
	t.Parallel()
	blocks := fencedBlocks(t, "agents.md")["python"]
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		parse := exec.CommandContext(t.Context(), "python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())")
		parse.Stdin = strings.NewReader(block)
		out, err := parse.CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, block)
	}
}
