package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// totalsCode solves the example regional-totals.
const totalsCode = `import csv, json
from collections import defaultdict

totals = defaultdict(int)
with open("data/orders.csv", newline="") as file:
    for row in csv.DictReader(file):
        if row["channel"] == "shop":
            totals[row["region"]] += int(row["cents"])
print(json.dumps({"totals": totals}))
`

// acpScriptCommand returns the command of agent/acp/testdata/agent.py with a script, which is written to dir.
func acpScriptCommand(t *testing.T, dir string, prompts ...[]jsonObject) string {
	t.Helper()
	agent, err := filepath.Abs(filepath.Join("..", "..", "agent", "acp", "testdata", "agent.py"))
	require.NoError(t, err)
	script, err := json.Marshal(jsonObject{"prompts": prompts})
	require.NoError(t, err)
	return "acp: python3 " + agent + " " + writeFile(t, filepath.Join(dir, "script.json"), string(script))
}

// An agent that plays a script solves an example.
func TestACP_ScriptedAgent(t *testing.T) {
	t.Parallel()
	runACPAgent(t, acpScriptCommand(t, t.TempDir(), []jsonObject{
		{"think": "The code is in a file."},
		{"say": "I run it."},
		{"announce": []any{"create_cell", jsonObject{"position": 0, "source": totalsCode, "auto_run": true}}},
		{"submit": "<EVAL_ANSWER>OUTPUT</EVAL_ANSWER> [EVAL_COMPLETE]"},
		{"say": "Done."},
	}))
}

// An agent made with the official SDK, which checks our messages, solves an example. In a live session it
// answers a query after one that was cancelled.
func TestACP_SDKAgent(t *testing.T) {
	t.Parallel()
	agent := "acp: " + nodeCommand(t, "acp", "agent.mjs", "@agentclientprotocol/sdk") + " "
	dir := t.TempDir()
	runACPAgent(t, agent+writeFile(t, filepath.Join(dir, "totals.py"), totalsCode))
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		s := startServe(t, serveConfig{args: []string{"--agent", agent + writeFile(t, filepath.Join(dir, "code.py"), "print(6 * 7)")}})
		c := s.connectView(t, "default")
		c.agent.send(jsonObject{"type": "agent_query", "query": "wait", "request_id": "q1"})
		c.agent.awaitItem(t, "its text", hasTypeAndText("agent_stream_delta", "I wait."))
		c.agent.send(jsonObject{"type": "agent_cancel", "request_id": "q1"})
		c.agent.awaitItem(t, "the end", hasTypeAndText("agent_event", "the query was cancelled"))
		c.agent.awaitItem(t, "what it said", hasTypeAndText("agent_history_updated", "I wait."))
		c.agent.send(jsonObject{"type": "agent_query", "query": "What is it?", "request_id": "q2"})
		c.agent.awaitItem(t, "the answer", hasTypeAndText("agent_history_updated", "<EVAL_ANSWER>42</EVAL_ANSWER>"))
		c.agent.awaitItem(t, "its end", hasTypeAndText("agent_status", "done"))
		s.stop(t)
	})
}

// runACPAgent runs the example regional-totals with an agent: confined, which is the default of a run, and
// not. It must pass, and the conversation has what the agent says, and each of its calls once.
func runACPAgent(t *testing.T, agent string) {
	t.Helper()
	for name, args := range map[string][]string{"confined": nil, "free": {"--sandbox-agent=false"}} {
		t.Run("run/"+name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := filepath.Join(dir, "run")
			line := runAssay(t, append([]string{
				"run", "../../testcases/examples/regional-totals", "--agent", agent, "--quiet", "--out", out, "--sandbox-root", filepath.Join(dir, "boxes"),
			}, args...)...)
			attempt := filepath.Join(out, "attempts", "0001-regional-totals-e1-t1")
			printed, err := os.ReadFile(filepath.Join(attempt, "stderr.txt"))
			require.NoError(t, err, line)
			require.Contains(t, line, "PASS 1/1 ", string(printed))
			text, err := os.ReadFile(filepath.Join(attempt, "conversation.jsonl"))
			require.NoError(t, err)
			for _, part := range []string{`"thinking":"The code is in a file.`, `"text":"I run it."`, `"name":"create_cell"`, `"name":"submit_response"`} {
				require.Equal(t, 1, strings.Count(string(text), part), part)
			}
			a := readAttempts(t, out)[0]
			require.Equal(t, runs.OutcomeCompleted, a.Outcome)
			require.Zero(t, a.TamperSignals)
			awaitCondition(t, "processes are still running", func() bool { return len(findProcessesWithText(dir)) == 0 })
		})
	}
}

// Attempts whose agent ends without a submission have the right outcome.
func TestACP_Outcomes(t *testing.T) {
	t.Parallel()
	file := writeFile(t, filepath.Join(t.TempDir(), "sum.json"), sumCase)
	for name, tc := range map[string]struct {
		steps   []jsonObject
		agent   string // instead of steps
		args    []string
		outcome runs.Outcome
		detail  string
	}{
		"ends its turn":    {[]jsonObject{{"say": "I do not know."}}, "", nil, runs.OutcomeStopped, "done"},
		"refuses":          {[]jsonObject{{"end": jsonObject{"stopReason": "refusal"}}}, "", nil, runs.OutcomeStopped, `it has reported: python3`},
		"reaches a limit":  {[]jsonObject{{"end": jsonObject{"stopReason": "max_tokens"}}}, "", nil, runs.OutcomeLimit, "limit reached: max_tokens (a limit of python3"},
		"fails the prompt": {[]jsonObject{{"fail": jsonObject{"code": -32603, "message": "no credit"}}}, "", nil, runs.OutcomeAgentError, "answered session/prompt with error -32603: no credit"},
		"hangs":            {[]jsonObject{{"hang": nil}}, "", []string{"--idle", "1s"}, runs.OutcomeLimit, "idle"},
		"exits":            {[]jsonObject{{"log": "no key"}, {"exit": 4}}, "", nil, runs.OutcomeAgentExit, "exited with status 4; it printed last:"},
		"is no ACP agent":  {nil, "acp: echo Hello", nil, runs.OutcomeAgentExit, "echo exited with status 0; it printed last:\nHello"},
		"reports too much": {
			[]jsonObject{{"update": jsonObject{"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": jsonObject{"amount": 7, "currency": "USD"}}}, {"hang": nil}},
			"",
			[]string{"--cost", "5"},
			runs.OutcomeLimit, "cost_usd: configured 5, measured 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, agent := filepath.Join(t.TempDir(), "run"), tc.agent
			if agent == "" {
				agent = acpScriptCommand(t, t.TempDir(), tc.steps)
			}
			runAssay(t, append([]string{"run", file, "--agent", agent, "--quiet", "--out", out}, tc.args...)...)
			a := readAttempts(t, out)[0]
			require.Equal(t, tc.outcome, a.Outcome, a.Detail)
			require.Contains(t, a.Detail, tc.detail)
		})
	}
}

// When the server is killed, the program that its agent started ends too.
func TestACP_KilledServerLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun := filepath.Join(dir, "begun")
	s := startServe(t, serveConfig{args: []string{"--agent", acpScriptCommand(t, dir, []jsonObject{{"touch": begun}, {"hang": nil}})}})
	c := s.connectView(t, "default")
	c.agent.send(jsonObject{"type": "agent_query", "query": "count", "request_id": "q1"})
	awaitCondition(t, "the program has not begun", func() bool { return len(globPaths(t, begun)) == 1 })
	require.NoError(t, s.cmd.Process.Kill())
	<-s.exited
	awaitCondition(t, "processes are still running", func() bool { return len(findProcessesWithText(dir)) == 0 && len(findProcessesWithText(s.dir)) == 0 })
}
