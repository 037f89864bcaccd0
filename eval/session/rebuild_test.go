package session_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// Where one kernel has followed another, a rebuilt notebook is what it was: what
// ran when the first ended has failed and is not taken up by the second, and a
// cell that was disposed of there can run again here.
func TestRebuiltAcrossKernels(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	recording, err := trace.NewRecording(trace.NewJournal("s"), path)
	require.NoError(t, err)
	add := func(hop trace.Hop, env protocol.Envelope, body string) {
		recording.Journal.Append(trace.Entry{Hop: hop, Envelope: env, Body: []byte(body)})
	}
	created := notebook.Event{Type: notebook.EventType, Kind: notebook.CellCreated, Position: new(int), Cell: &notebook.Cell{ID: "cut", Type: notebook.Code, Rev: 1}}
	add(trace.Notebook, protocol.Envelope{Type: notebook.EventType}, string(created.JSON()))
	add(trace.ServerToKernel, protocol.Envelope{Type: protocol.TypeDisposeCell, CellID: "again"}, `{"type":"dispose_cell","cell_id":"again"}`)
	add(trace.KernelToServer, protocol.Envelope{Type: protocol.TypeStartCell, CellID: "cut"}, `{"type":"start_cell","cell_id":"cut","run_sequencer":1}`)
	add(trace.Session, protocol.Envelope{Type: router.TypePeerEnded, Action: "kernel"}, `{"type":"peer_ended","peer":"kernel"}`)
	add(trace.KernelToServer, protocol.Envelope{Type: protocol.TypeStartCell, CellID: "again"}, `{"type":"start_cell","cell_id":"again","run_sequencer":1}`)
	add(trace.KernelToServer, protocol.Envelope{Type: protocol.TypeStartCell}, `{"type":"start_cell","cell_id":null,"run_sequencer":1}`)
	require.NoError(t, recording.Close())
	state, err := session.NotebookFromTrace(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"cut": notebook.StatusError, "again": notebook.StatusRan}, state.Executions.Status)
}
