package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"assay/agent/check"
)

// checkedAgent is an agent that passes a check.
type checkedAgent struct {
	args     []string // of assay agent check
	env      []string
	warnings []string // names of the situations with a warning
	skips    bool     // it sends no action, so that some situations do not arise
}

// mcpClientSource is the source of an MCP client that runs a cell and submits, by the tools of assay mcp.
const mcpClientSource = `
import itertools, json, subprocess, sys

sys.stdin.read()  # the task
server = subprocess.Popen(["assay", "mcp", "--attach"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
ids = itertools.count(1)


def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def call(method, **params):
    request = next(ids)
    send(id=request, method=method, params=params)
    for line in server.stdout:
        if json.loads(line).get("id") == request:
            return


call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
send(method="notifications/initialized")
call("tools/call", name="create_cell", arguments={"position": 0, "cell_type": "code", "source": "print(6 * 7)", "auto_run": True})
call("tools/call", name="submit_response", arguments={"summary": '<EVAL_ANSWER>{"result": 42}</EVAL_ANSWER> [EVAL_COMPLETE]', "next_status": "done"})
`

// ourAgents returns the agents that come with Assay and its documentation.
func ourAgents(t *testing.T) map[string]checkedAgent {
	t.Helper()
	acpSteps := []jsonObject{
		{"announce": []any{"create_cell", jsonObject{"position": 0, "source": "print(6 * 7)", "auto_run": true}}},
		{"submit": `<EVAL_ANSWER>{"result": 42}</EVAL_ANSWER> [EVAL_COMPLETE]`},
		{"say": "Done."},
	}
	agents := map[string]checkedAgent{
		"acp":    {args: []string{acpScriptCommand(t, t.TempDir(), acpSteps, acpSteps)}},
		"noop":   {args: []string{"noop"}, skips: true, warnings: []string{"query"}},
		"oracle": {args: []string{"oracle"}, warnings: []string{"query"}}, // the task has no solution that it knows
		"mcp":    {args: []string{"mcp: python3 " + writeFile(t, filepath.Join(t.TempDir(), "client.py"), mcpClientSource)}},
	}
	const summary = `It is 42. <EVAL_ANSWER>{"result": 42}</EVAL_ANSWER> [EVAL_COMPLETE]`
	turns := map[string][]any{
		"tools": {
			[]any{toolUse("create_cell", map[string]any{"position": 0, "source": "print(6 * 7)", "auto_run": true})},
			[]any{toolUse("submit_response", map[string]any{"summary": summary, "next_status": "done"})},
		},
		"blocks": {"A cell.\n\n```python\n6 * 7\n```\n", summary},
		"ticks": {
			tickReply(t, map[string]any{"eval": "6 * 7", "thought": "a step", "monologue": "a step", "continue": true}),
			tickReply(t, map[string]any{"eval": nil, "thought": "done", "monologue": "done", "reply": summary}),
		},
	}
	for strategy, replies := range turns {
		var script bytes.Buffer
		for range 2 { // queries
			for _, reply := range replies {
				require.NoError(t, json.NewEncoder(&script).Encode(map[string]any{"content": reply}))
			}
		}
		file := writeFile(t, filepath.Join(t.TempDir(), "turns.jsonl"), script.String())
		a := checkedAgent{args: []string{"builtin", "--strategy", strategy, "--model", "script:" + file}}
		if testing.Short() && strategy != "tools" { // the three have the same connection
			a.args = append(a.args, "--only", "handshake", "--only", "query", "--only", "two-queries", "--only", "cancel", "--only", "clear-history")
		}
		agents[strategy] = a
	}
	for name, example := range exampleAgents() {
		if _, err := exec.LookPath(example.needs); example.turns != "" || err != nil && os.Getenv("CI") != "true" {
			continue // with_a_model.py calls its model over HTTP, and is as ten_lines.py otherwise
		}
		_, command, env := stageExampleAgent(t, example)
		// Each solves the task of its page. All but one have no timeouts and cannot be cancelled.
		a := checkedAgent{args: []string{command}, env: env, warnings: []string{"query"}}
		if name != "ten_lines.py" {
			a.warnings = append(a.warnings, "no-answer", "cancel")
		}
		agents[name] = a
	}
	return agents
}

// Our own agents pass a check, confined as in a run, and nothing of them is left.
func TestAgentCheck_OurAgentsPass(t *testing.T) {
	t.Parallel()
	agents, dir := ourAgents(t), t.TempDir()
	var mu sync.Mutex
	printed := map[string]string{}
	var group errgroup.Group
	group.SetLimit(4) // most of the time each waits for a timeout of the agent
	for name, a := range agents {
		group.Go(func() error {
			cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "assay", append([]string{"agent", "check", "--json"}, a.args...)...)
			cmd.Env = append(append(os.Environ(), "TMPDIR="+dir), a.env...)
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			printed[name] = string(out)
			if err != nil {
				return fmt.Errorf("%s: %w: %s", name, err, out)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	for name, a := range agents {
		var warnings, skips []string
		lines := bufio.NewScanner(strings.NewReader(printed[name]))
		for lines.Scan() {
			var f check.Finding
			require.NoError(t, json.Unmarshal(lines.Bytes(), &f), lines.Text())
			switch f.Status {
			case check.StatusWarn:
				warnings = append(warnings, f.Name)
			case check.StatusSkip:
				skips = append(skips, f.Name)
			}
		}
		require.Equal(t, a.warnings, warnings, "%s: %s", name, printed[name])
		require.Equal(t, a.skips, len(skips) > 0, "%s: %s", name, printed[name])
	}
	awaitCondition(t, "processes are still running", func() bool { return len(findProcessesWithText(dir)) == 0 })
}
