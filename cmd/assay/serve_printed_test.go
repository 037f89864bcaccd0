package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// The last words of an agent that has died are there for its developer, of an
// attempt and of a session without a case.
func TestServe_LastWordsAreThere(t *testing.T) {
	t.Parallel()
	const dies = `
print("about to")
raise SystemExit("the last word")
`
	s := open(t, plan{args: []string{"--case", actorCase(t, t.TempDir(), "a", dies)}})
	c := s.view(t, "default")
	c.verdict(t, 1)
	require.Equal(t, runs.OutcomeAgentExit, s.attempts(t, 1)[0].Outcome)
	require.Contains(t, s.printed(t, "default"), "the last word")
	require.Contains(t, s.printed(t, "default"), "about to")

	other := s.view(t, "other")
	other.tell(dies)
	other.agent.await(t, "the end of the agent", ofType("agent_error"))
	require.Contains(t, s.printed(t, "other"), "the last word")
}

// printed are the lines that are kept of what a session's agent has printed.
func (s *station) printed(t *testing.T, id string) (lines []string) {
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
