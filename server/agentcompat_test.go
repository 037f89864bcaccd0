package server_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server"
)

// In whichever of the original protocol's ways an agent submits, with and without gzip,
// its attempt completes with the answer after its cell has run, and each message counts
// as one model call.
func TestOriginalProtocolAgentCompletesAnAttempt(t *testing.T) {
	t.Parallel()
	for modes, modelCalls := range map[string]int{
		"entry":               1,
		"entry,gzip":          1,
		"streams":             1,
		"streams,gzip":        1,
		"unclosed":            1,
		"truncated":           1, // the truncated stream is not a message
		"both":                1,
		"result":              0, // agent_result is not a message of the conversation
		"early_history,entry": 1,
		"parallel,entry":      1,
		"parallel,truncated":  1,
	} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			h := newServerHarness(t, server.Config{})
			tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{agentCommand: originalProtocolCommand(t, "agent.py", modes)})
			ended := tr.requireCompletes(t)
			require.Equal(t, modelCalls, ended.Usage.ModelCalls)
			var notebook struct {
				Cells []contextCell `json:"cells"`
			}
			require.NoError(t, json.Unmarshal(tr.collectedState(t).Context, &notebook))
			require.Len(t, notebook.Cells, 1)
			require.Equal(t, "ran", notebook.Cells[0].Status)
			require.Contains(t, string(notebook.Cells[0].Outputs[0]), "42")
		})
	}
}

// A run_cell without tx_id gets no answer, but the attempt still completes only after
// the run has ended.
func TestOriginalProtocolAgentWithoutTxID(t *testing.T) {
	t.Parallel()
	for _, modes := range []string{"no_tx_id,entry", "no_tx_id,streams", "no_tx_id,result"} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			h := newServerHarness(t, server.Config{})
			tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{agentCommand: originalProtocolCommand(t, "agent.py", modes)})
			tr.requireCompletes(t)
			for _, r := range tr.records(t) {
				require.False(t, r.Type == protocol.TypeActionResponse && r.TxID == "", "%s", r.Message)
			}
		})
	}
}

// The agent also completes an attempt in which a console holds the notebook.
func TestOriginalProtocolAgentWithAHolder(t *testing.T) {
	t.Parallel()
	for _, modes := range []string{"streams,gzip", "no_tx_id,streams"} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			h := newServerHarness(t, server.Config{})
			tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{agentCommand: originalProtocolCommand(t, "agent.py", modes), withConsole: true})
			newFakeHolder(t, tr.URL)
			tr.requireCompletes(t)
		})
	}
}

// requireCompletes waits for the end of an attempt at sixTimesSevenCase, and requires
// that it passed after one cell had run.
func (r *attemptRun) requireCompletes(t *testing.T) runs.Attempt {
	t.Helper()
	ended := r.awaitResult(t)
	require.Equal(t, runs.OutcomeCompleted, ended.Outcome, ended.Detail)
	require.NotNil(t, ended.Passed)
	require.True(t, *ended.Passed)
	require.Zero(t, ended.TamperSignals)
	require.Equal(t, 1, ended.Usage.CellsRun)
	require.Less(t, r.seqOf(t, trace.KernelToServer, protocol.TypeCellResult, ""), r.seqOf(t, trace.HopSession, "state", "collecting"))
	require.Empty(t, r.collectedState(t).Errors)
	return ended
}
