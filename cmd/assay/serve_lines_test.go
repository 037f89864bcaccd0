package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who looks at the log of assay serve sees each message once, with where it goes,
// and the built-in agent's own notes beside it.
func TestEH9_TheLinesOfTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "case.json"), `{"id": "sum", "task": "How much is 6 times 7?", "grader": {"type": "exact", "config": {"ground_truth": 42}}}`)
	script := write(t, filepath.Join(dir, "turns.jsonl"), `{"content": [{"type": "tool_use", "name": "create_cell", "input": {"position": 0, "source": "6*7", "auto_run": true}}]}
{"content": [{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>42</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}}]}
`)
	s := open(t, plan{args: []string{"--agent", "builtin", "--model", "script:" + script, "--case", file}})
	k := newKeeper(t, s)
	k.agent.await(t, "the verdict", ofType("eval_result"))
	s.said.await(t, "the verdict", regexp.MustCompile(`^PASS  sum  \d`).MatchString)
	for _, line := range []string{
		`\[eval\] agent→console: agent_action create_cell tx_[0-9a-f]{12}`,
		`\[eval\] console→agent: agent_action_response tx_[0-9a-f]{12}`,
		`\[eval\] console→kernel: run_cell`,
		`\[eval\] kernel→console: cell_result`,
	} {
		lines := s.said.all(regexp.MustCompile(line).MatchString)
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
