package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server"
)

// However an agent submits, in plain frames or in gzip, its attempt completes
// with the answer, after its cell has run, and each of its messages is counted
// once.
func TestForeignAgentDoesForAnAttempt(t *testing.T) {
	t.Parallel()
	for ways, turns := range map[string]int{
		"entry":        1,
		"entry,gzip":   1,
		"streams":      1,
		"streams,gzip": 1,
		"unclosed":     1,
		"cut":          1, // what broke off is no message
		"both":         1,
		"result":       0, // no message of the conversation
		"early,entry":  1,
		"three,entry":  1,
		"three,cut":    1,
	} {
		t.Run(ways, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, server.Config{})
			tr := h.headless(t, h.python(t), peer(t, "agent.py", ways), runs.Limits{})
			ended := tr.completes(t)
			require.Equal(t, turns, ended.Usage.ModelCalls)
			var notebook struct {
				Cells []shown `json:"cells"`
			}
			require.NoError(t, json.Unmarshal(tr.state(t).Context, &notebook))
			require.Len(t, notebook.Cells, 1)
			require.Equal(t, "ran", notebook.Cells[0].Status)
			require.Contains(t, string(notebook.Cells[0].Outputs[0]), "42")
		})
	}
}

// A run that is asked for without a tx_id has no answer to wait for, and its
// end is waited for all the same.
func TestForeignAgentThatWantsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, ways := range []string{"untold,entry", "untold,streams", "untold,result"} {
		t.Run(ways, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, server.Config{})
			tr := h.headless(t, h.python(t), peer(t, "agent.py", ways), runs.Limits{})
			tr.completes(t)
			for _, r := range tr.trace(t) {
				require.False(t, r.Type == protocol.TypeActionResponse && r.TxID == "", "%s", r.Message)
			}
		})
	}
}

// The same through a console that holds the notebook.
func TestForeignAgentWithAHolder(t *testing.T) {
	t.Parallel()
	for _, ways := range []string{"streams,gzip", "untold,streams"} {
		t.Run(ways, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, server.Config{})
			tr := h.held(t, h.python(t), peer(t, "agent.py", ways))
			newHolder(t, tr.url)
			tr.completes(t)
		})
	}
}

// completes waits for the end of an attempt at [six] by an agent that runs one
// cell.
func (tr *trial) completes(t *testing.T) runs.Attempt {
	t.Helper()
	ended := tr.end(t)
	require.Equal(t, runs.OutcomeCompleted, ended.Outcome, ended.Detail)
	require.NotNil(t, ended.Passed)
	require.True(t, *ended.Passed)
	require.Zero(t, ended.TamperSignals)
	require.Equal(t, 1, ended.Usage.CellsRun)
	require.Less(t, tr.at(t, trace.KernelToServer, protocol.TypeCellResult, ""), tr.at(t, trace.HopSession, "state", "collecting"))
	require.Empty(t, tr.state(t).Errors)
	return ended
}

// state is what was collected at the end of the attempt.
func (tr *trial) state(t *testing.T) (state session.CollectedState) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tr.dir, "state.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &state))
	return state
}

// at is the number of the first entry in the attempt's trace of a hop and type
// that has text in it.
func (tr *trial) at(t *testing.T, hop trace.Hop, kind, text string) int64 {
	t.Helper()
	for _, r := range tr.trace(t) {
		if r.Hop == hop && r.Type == kind && strings.Contains(string(r.Message), text) {
			return r.Seq
		}
	}
	require.Fail(t, "not in the trace", "%s %s %s", hop, kind, text)
	return 0
}
