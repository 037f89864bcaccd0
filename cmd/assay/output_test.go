package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// The log of assay serve has one line for each message, with sender and receiver. The notes of the
// built-in agent are in stderr.txt of the attempt.
func TestEH9_LogLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "sum", "task": "How much is 6 times 7?", "grader": {"type": "exact", "config": {"ground_truth": 42}}}`)
	script := writeFile(t, filepath.Join(dir, "turns.jsonl"), `{"content": [{"type": "tool_use", "name": "create_cell", "input": {"position": 0, "source": "6*7", "auto_run": true}}]}
{"content": [{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>42</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}}]}
`)
	s := startServe(t, serveConfig{args: []string{"--agent", "builtin", "--model", "script:" + script, "--case", file}})
	k := connectHolder(t, s)
	k.agent.awaitItem(t, "the verdict", hasType("eval_result"))
	s.stderr.awaitItem(t, "the verdict", regexp.MustCompile(`^PASS  sum  \d`).MatchString)
	for _, line := range []string{
		`\[eval\] agent→console: agent_action create_cell tx_[0-9a-f]{12}`,
		`\[eval\] console→agent: agent_action_response tx_[0-9a-f]{12}`,
		`\[eval\] console→kernel: run_cell`,
		`\[eval\] kernel→console: cell_result`,
	} {
		lines := s.stderr.itemsMatching(regexp.MustCompile(line).MatchString)
		require.Len(t, lines, 1, line)
	}
	s.stop(t)
	printed, err := filepath.Glob(filepath.Join(s.dir, "runs", "*", "attempts", "*", "stderr.txt"))
	require.NoError(t, err)
	require.Len(t, printed, 1)
	text, err := os.ReadFile(printed[0])
	require.NoError(t, err)
	require.Regexp(t, `(?m)^agent: \[agent\] -> create_cell tx_[0-9a-f]{12}$`, string(text))
}

// GET /printed returns the last output of an agent that has exited, after an attempt and in a
// session without a case.
func TestServe_KeepsOutputOfDeadAgent(t *testing.T) {
	t.Parallel()
	const exitingCode = `
print("about to")
raise SystemExit("the last word")
`
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, t.TempDir(), "a", exitingCode)}})
	c := s.connectView(t, "default")
	c.awaitVerdict(t, 1)
	require.Equal(t, runs.OutcomeAgentExit, s.awaitAttempts(t, 1)[0].Outcome)
	require.Contains(t, s.agentOutput(t, "default"), "the last word")
	require.Contains(t, s.agentOutput(t, "default"), "about to")

	other := s.connectView(t, "other")
	other.queryAgent(exitingCode)
	other.agent.awaitItem(t, "the end of the agent", hasType("agent_error"))
	require.Contains(t, s.agentOutput(t, "other"), "the last word")
}

// agentOutput returns the lines that the server keeps of the output of a session's agent.
func (s *serveProcess) agentOutput(t *testing.T, id string) (lines []string) {
	t.Helper()
	_, body := s.get(t, "/api/sessions/"+id+"/printed")
	var page struct {
		Lines []struct{ Name, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	for _, line := range page.Lines {
		if line.Name == "agent" {
			lines = append(lines, line.Text)
		}
	}
	return lines
}
