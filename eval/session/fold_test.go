package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// notebookFoldHarness is a NotebookFold together with helpers that apply trace entries given as JSON
// texts.
type notebookFoldHarness struct {
	*session.NotebookFold
	lastSeq int64
}

func newNotebookFoldHarness() *notebookFoldHarness {
	return &notebookFoldHarness{NotebookFold: session.NewNotebookFold()}
}

// apply applies the next trace entry to the fold, and requires that CanChangeNotebook is true
// for it.
func (f *notebookFoldHarness) apply(t *testing.T, hop trace.Hop, conn int, body string) {
	t.Helper()
	f.lastSeq++
	r := trace.Record{Seq: f.lastSeq, Hop: hop, ConsoleID: conn, Message: json.RawMessage(body)}
	require.NoError(t, json.Unmarshal([]byte(body), &r))
	r.Seq = f.lastSeq
	require.True(t, session.CanChangeNotebook(r), body)
	f.Apply(r)
}

// cellLines returns each cell of the folded notebook as "id type source revision".
func (f *notebookFoldHarness) cellLines() (cells []string) {
	for _, c := range f.State().Cells {
		cells = append(cells, fmt.Sprintf("%s %s %q %d", c.ID, c.Type, c.Source, c.Revision))
	}
	return cells
}

// The cells of a console's document follow from its answers and the code that it runs; each
// answer to get_context has all of them.
func TestFoldOfConsoleNotebook(t *testing.T) {
	t.Parallel()
	f := newNotebookFoldHarness()
	act := func(n int, action, params, status, rest string) {
		f.apply(t, trace.AgentToServer, 0, fmt.Sprintf(`{"type":"agent_action","action":%q,"params":%s,"tx_id":"tx_%d"}`, action, params, n))
		f.apply(t, trace.ConsoleToServer, 1, fmt.Sprintf(`{"type":"agent_action_response","tx_id":"tx_%d","status":%q%s}`, n, status, rest))
	}
	f.apply(t, trace.AgentToServer, 0, `{"type":"agent_action","action":"create_cell","params":{"position":0,"cell_type":"code","source":"1"},"tx_id":"early"}`)
	require.False(t, f.IsHeldByConsole())
	f.apply(t, trace.HopSession, 1, `{"type":"holder","by":"console","conn":1}`)
	require.True(t, f.IsHeldByConsole())
	f.apply(t, trace.ConsoleToServer, 1, `{"type":"agent_action_response","tx_id":"early","status":"success","cell_id":"a"}`)
	require.Equal(t, []string{`a code "1" 1`}, f.cellLines(), "an action from before the console connected")

	act(1, "create_markdown_cell", `{"position":0,"source":"# T"}`, "success", `,"cell_id":"m"`)
	act(2, "create_cell", `{"position":9,"cell_type":"code","source":"2"}`, "error", `,"error":"position"`)
	act(3, "edit_cell", `{"cell_id":"a","source":"10"}`, "success", `,"cell_id":"a"`)
	require.Equal(t, []string{`m markdown "# T" 1`, `a code "10" 2`}, f.cellLines())
	before := f.Clone()

	f.apply(t, trace.ConsoleToServer, 1, `{"type":"run_cell","cell_id":"own","code":"mine"}`)
	f.apply(t, trace.ServerToKernel, 0, `{"type":"run_cell","cell_id":"own","code":"mine"}`)
	act(4, "move_cell", `{"cell_id":"a","position":2}`, "success", `,"cell_id":"a"`)
	require.Equal(t, []string{`m markdown "# T" 1`, `own code "mine" 1`, `a code "10" 2`}, f.cellLines())
	require.Equal(t, map[string]string{"own": notebook.StatusRunning}, f.State().Executions.CellStatus)
	act(5, "delete_cell", `{"cell_id":"a"}`, "success", `,"cell_count":2`)
	f.apply(t, trace.ConsoleToServer, 1, `{"type":"dispose_cell","cell_id":"own"}`)
	require.Equal(t, []string{`m markdown "# T" 1`}, f.cellLines())
	act(6, "get_context", `{}`, "success", `,"context":{"cells":[{"cell_id":"x","cell_type":"code","source":"whole"}]}`)
	act(7, "get_context", `{}`, "success", `,"context":{"cells":[{"cell_type":"code"}]}`) // a cell without id: ignored
	require.Equal(t, []string{`x code "whole" 0`}, f.cellLines())

	later := &notebookFoldHarness{NotebookFold: before, lastSeq: 100}
	require.Equal(t, []string{`m markdown "# T" 1`, `a code "10" 2`}, later.cellLines(), "a clone does not change with the original")
	require.Empty(t, later.State().Executions.CellStatus)
	require.True(t, later.IsHeldByConsole())
}

// Trace entries that do not fit or are malformed do not change the folded notebook.
func TestFoldIgnoresMalformedEntries(t *testing.T) {
	t.Parallel()
	f := newNotebookFoldHarness()
	f.apply(t, trace.HopSession, 1, `{"type":"holder","by":"console"}`)
	f.apply(t, trace.AgentToServer, 0, `{"type":"agent_action","action":"edit_cell","params":7,"tx_id":"a"}`)
	f.apply(t, trace.ServerToConsole, 1, `{"type":"agent_action","action":"create_cell","params":{},"tx_id":"b"}`)
	for _, body := range []string{
		`{"type":"agent_action_response","tx_id":"a","status":"success"}`, `{"type":"agent_action_response","tx_id":"b","status":"success","cell_id":null}`,
		`{"type":"agent_action_response","tx_id":"never","status":"success","context":{}}`, `{"type":"run_cell","cell_id":"","code":"1"}`,
		`{"type":"run_cell","cell_id":"z","code":[]}`, `{"type":"dispose_cell"}`,
	} {
		f.apply(t, trace.ConsoleToServer, 1, body)
	}
	f.apply(t, trace.HopNotebook, 0, `{"type":"notebook_event","event":"cell_edited","cell_id":"none","source":"1"}`)
	f.apply(t, trace.KernelToServer, 0, `{"type":"cell_output","cell_id":"c","output":[]}`)
	require.Empty(t, f.cellLines())
	require.False(t, session.CanChangeNotebook(trace.Record{Hop: trace.ServerToAgent}))
}

// The cells of the server's document follow from its events alone; answers and runs of a
// console do not change them.
func TestFoldOfServerNotebook(t *testing.T) {
	t.Parallel()
	f := newNotebookFoldHarness()
	f.apply(t, trace.HopSession, 0, `{"type":"holder","by":"server"}`)
	f.apply(t, trace.HopNotebook, 0, `{"type":"notebook_event","event":"cell_created","cell":{"cell_id":"a","cell_type":"code","source":"1","display_name":"","rev":1},"position":0}`)
	f.apply(t, trace.ConsoleToServer, 1, `{"type":"run_cell","cell_id":"b","code":"1"}`)
	require.Equal(t, []string{`a code "1" 1`}, f.cellLines())
	twin := f.Clone()
	f.apply(t, trace.HopNotebook, 0, `{"type":"notebook_event","event":"cell_deleted","cell_id":"a"}`)
	require.Empty(t, f.cellLines())
	require.Len(t, twin.State().Cells, 1)
	require.False(t, f.IsHeldByConsole())
}

// In a trace with two kernels, a cell that was running when the first kernel ended has failed,
// whatever the second does, and a cell that was disposed of in the first can run in the second.
func TestNotebookFromTraceWithTwoKernels(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	recording, err := trace.NewRecording(trace.NewJournal("s"), path, nil)
	require.NoError(t, err)
	add := func(hop trace.Hop, env protocol.Envelope, body string) {
		recording.Journal.Append(trace.Entry{Hop: hop, Envelope: env, Body: []byte(body)})
	}
	created := notebook.Event{Type: notebook.EventType, Kind: notebook.CellCreated, Position: new(int), Cell: &notebook.Cell{ID: "cut", Type: notebook.CodeCell, Revision: 1}}
	add(trace.HopNotebook, protocol.Envelope{Type: notebook.EventType}, string(created.JSON()))
	add(trace.ServerToKernel, protocol.Envelope{Type: protocol.TypeDisposeCell, CellID: "again"}, `{"type":"dispose_cell","cell_id":"again"}`)
	add(trace.KernelToServer, protocol.Envelope{Type: protocol.TypeStartCell, CellID: "cut"}, `{"type":"start_cell","cell_id":"cut","run_sequencer":1}`)
	add(trace.HopSession, protocol.Envelope{Type: router.EntryTypePeerEnded, Action: "kernel"}, `{"type":"peer_ended","peer":"kernel"}`)
	add(trace.KernelToServer, protocol.Envelope{Type: protocol.TypeStartCell, CellID: "again"}, `{"type":"start_cell","cell_id":"again","run_sequencer":1}`)
	add(trace.KernelToServer, protocol.Envelope{Type: protocol.TypeStartCell}, `{"type":"start_cell","cell_id":null,"run_sequencer":1}`)
	require.NoError(t, recording.Close())
	state, err := session.NotebookFromTrace(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"cut": notebook.StatusError, "again": notebook.StatusRan}, state.Executions.CellStatus)
}

// A session that was restored from a trace records the restored notebook in its own trace, so
// that the next session can be restored from that trace alone.
func TestNotebookSurvivesRepeatedRestore(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	state := notebook.State{
		Cells: []notebook.Cell{{ID: "a", Type: notebook.CodeCell, Source: "1", Revision: 3}},
		Executions: notebook.ExecutionsSnapshot{
			CellStatus: map[string]string{"a": notebook.StatusRan},
			Outputs:    map[string][]json.RawMessage{"a": {json.RawMessage(`{"output_type":"stream","name":"stdout","text":"one\n"}`)}},
		},
	}
	for n := range 3 {
		path := filepath.Join(t.TempDir(), "trace.jsonl")
		recording, err := trace.NewRecording(trace.NewJournal("s"), path, nil)
		require.NoError(t, err)
		live, err := session.Start(t.Context(), sup, session.Config{
			ID: "s", Journal: recording.Journal, Kernel: silentKernelConfig(), Agent: silentAgentConfig(), Environ: os.Environ(),
			WorkdirRoot: t.TempDir(), RestoreFrom: &state,
		})
		require.NoError(t, err)
		_, err = live.Router().Ask(t.Context(), "edit_cell", map[string]any{"cell_id": "a", "source": string(rune('2' + n))})
		require.NoError(t, err)
		require.NoError(t, live.End(t.Context(), "over"))
		require.NoError(t, recording.Close())
		again, err := session.NotebookFromTrace(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, []notebook.Cell{{ID: "a", Type: notebook.CodeCell, Source: string(rune('2' + n)), Revision: 4 + n, ChangedBy: notebook.ByServer}}, again.Cells)
		require.Equal(t, state.Executions.Outputs, again.Executions.Outputs)
		require.Equal(t, state.Executions.CellStatus, again.Executions.CellStatus)
		state = *again
	}
}

// NotebookFromTrace returns nil for a trace without events of the server's document, because a
// console held it.
func TestNotebookFromTraceWithoutNotebook(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	recording, err := trace.NewRecording(trace.NewJournal("s"), path, nil)
	require.NoError(t, err)
	recording.Journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: router.EntryTypeHolderChanged}, Body: []byte(`{}`)})
	require.NoError(t, recording.Close())
	state, err := session.NotebookFromTrace(t.Context(), path)
	require.NoError(t, err)
	require.Nil(t, state)
	_, err = session.NotebookFromTrace(t.Context(), filepath.Join(t.TempDir(), "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
