package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// newTestEntry returns an entry with this hop and body; it has NoteMalformed if body is not a
// message.
func newTestEntry(hop trace.Hop, body string) trace.Entry {
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
	if err != nil {
		return trace.Entry{Hop: hop, Note: trace.NoteMalformed, Body: []byte(body)}
	}
	return trace.Entry{Hop: hop, Envelope: env, Body: []byte(body)}
}

// newChangedEntry returns an entry with this hop and body after change was applied to it.
func newChangedEntry(hop trace.Hop, body string, change func(*trace.Entry)) trace.Entry {
	entry := newTestEntry(hop, body)
	change(&entry)
	return entry
}

func withNote(note trace.Note) func(*trace.Entry) { return func(e *trace.Entry) { e.Note = note } }
func withCauseSeq(seq int64) func(*trace.Entry)   { return func(e *trace.Entry) { e.CauseSeq = seq } }
func withRefSeq(seq int64) func(*trace.Entry)     { return func(e *trace.Entry) { e.RefSeq = seq } }

// logLines returns what Log logs of entries at this level, one line per record: level,
// direction, type, and the other attributes with their names.
func logLines(t *testing.T, level slog.Level, entries ...trace.Entry) (lines []string) {
	t.Helper()
	journal := trace.NewJournal("s1")
	follower := journal.Follow()
	for _, entry := range entries {
		journal.Append(entry)
	}
	journal.Close()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))
	require.NoError(t, flow.LogSessionMessages(t.Context(), follower, log))
	for decoder := json.NewDecoder(&out); ; {
		var record map[string]string
		err := decoder.Decode(&record)
		if errors.Is(err, io.EOF) {
			return lines
		}
		require.NoError(t, err)
		require.Equal(t, "flow", record["msg"])
		require.Equal(t, "s1", record["session"])
		line := record["level"] + " " + record["direction"] + ": " + record["type"]
		for _, name := range []string{"action", "tx_id", "cell_id", "status", "note", "detail"} {
			if value, ok := record[name]; ok {
				line += fmt.Sprintf(" %s=%s", name, value)
			}
		}
		lines = append(lines, line)
	}
}

const (
	consoleHolds     = `{"type":"holder","by":"console","conn":1}`
	serverHolds      = `{"type":"holder","by":"server"}`
	createCell       = `{"type":"agent_action","action":"create_cell","params":{},"tx_id":"tx_1a2b3c4d5e6f"}`
	requestGlobals   = `{"type":"agent_action","action":"request_globals_summary","params":{},"tx_id":"tx_2"}`
	createCellAnswer = `{"type":"agent_action_response","tx_id":"tx_1a2b3c4d5e6f","status":"success"}`
	globalsError     = `{"type":"agent_action_response","tx_id":"tx_2","status":"error","error":"no"}`
)

// TestLogDirections checks the logged direction of each kind of message, with a console and
// with the server as the holder of the document.
func TestLogDirections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entries []trace.Entry
		want    []string
	}{
		"a console holds the document": {
			[]trace.Entry{
				newTestEntry(trace.HopSession, consoleHolds),
				newTestEntry(trace.AgentToServer, createCell),
				newChangedEntry(trace.ServerToConsole, createCell, withRefSeq(2)),
				newTestEntry(trace.ConsoleToServer, createCellAnswer),
				newChangedEntry(trace.ServerToAgent, createCellAnswer, withRefSeq(4)),
				newTestEntry(trace.ConsoleToServer, `{"type":"agent_query","query":"q","request_id":"r"}`),
				newTestEntry(trace.ConsoleToServer, `{"type":"run_cell","cell_id":"c1","code":"1"}`),
				newChangedEntry(trace.ServerToKernel, `{"type":"run_cell","cell_id":"c1","code":"1"}`, withRefSeq(7)),
			},
			[]string{
				"INFO session: holder action=console",
				"INFO agent→console: agent_action action=create_cell tx_id=tx_1a2b3c4d5e6f",
				"INFO console→agent: agent_action_response tx_id=tx_1a2b3c4d5e6f",
				"INFO console→agent: agent_query",
				"INFO console→kernel: run_cell cell_id=c1",
			},
		},
		"the server holds the document": {
			[]trace.Entry{
				newTestEntry(trace.HopSession, serverHolds),
				newTestEntry(trace.ServerToAgent, `{"type":"agent_query","query":"q","request_id":"r"}`),
				newTestEntry(trace.AgentToServer, createCell),
				newChangedEntry(trace.HopNotebook, `{"type":"notebook_event","event":"cell_created"}`, func(e *trace.Entry) { e.Action = "cell_created" }),
				newTestEntry(trace.ServerToAgent, createCellAnswer),
				newTestEntry(trace.ServerToKernel, `{"type":"run_cell","cell_id":"c1","code":"1"}`),
				newTestEntry(trace.ConsoleToServer, `{"type":"notebook_action","action":"edit_cell","params":{"cell_id":"c1"},"tx_id":"v1"}`),
			},
			[]string{
				"INFO session: holder action=server",
				"INFO notebook→agent: agent_query",
				"INFO agent→notebook: agent_action action=create_cell tx_id=tx_1a2b3c4d5e6f",
				"DEBUG notebook: notebook_event action=cell_created",
				"INFO notebook→agent: agent_action_response tx_id=tx_1a2b3c4d5e6f",
				"INFO notebook→kernel: run_cell cell_id=c1",
				"INFO console→notebook: notebook_action action=edit_cell tx_id=v1 cell_id=c1",
			},
		},
		"the kernel answers": {
			[]trace.Entry{
				newChangedEntry(trace.AgentToServer, requestGlobals, withNote(trace.NoteIntercepted)),
				newChangedEntry(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_1"}`, withCauseSeq(1)),
				newTestEntry(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_1","summary":{}}`),
				newChangedEntry(trace.ServerToAgent, `{"type":"agent_action_response","tx_id":"tx_2","status":"success"}`, withCauseSeq(3)),
				newTestEntry(trace.ConsoleToServer, `{"type":"globals_summary","agent_tx_id":"mine"}`),
				newChangedEntry(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_2"}`, withCauseSeq(5)),
				newTestEntry(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_2","summary":{}}`),
				newChangedEntry(trace.ServerToConsole, `{"type":"globals_summary","agent_tx_id":"mine","summary":{}}`, withCauseSeq(7)),
			},
			[]string{
				"INFO agent→kernel: agent_action action=request_globals_summary tx_id=tx_2 note=intercepted",
				"INFO kernel→agent: agent_action_response tx_id=tx_2",
				"INFO console→kernel: globals_summary tx_id=mine",
				"INFO kernel→console: globals_summary tx_id=mine",
			},
		},
		"the kernel does not answer": {
			[]trace.Entry{
				newTestEntry(trace.HopSession, serverHolds),
				newChangedEntry(trace.AgentToServer, requestGlobals, withNote(trace.NoteIntercepted)),
				newChangedEntry(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_1"}`, withCauseSeq(2)),
				newChangedEntry(trace.ServerToAgent, globalsError, withNote(trace.NoteTimedOut)),
				newChangedEntry(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_1","summary":{}}`, withNote(trace.NoteLate)),
				newTestEntry(trace.AgentToServer, strings.Replace(createCell, "tx_1a2b3c4d5e6f", "tx_2", 1)),
				newChangedEntry(trace.ServerToAgent, globalsError, withNote(trace.NoteTimedOut)),
			},
			[]string{
				"INFO session: holder action=server",
				"INFO agent→kernel: agent_action action=request_globals_summary tx_id=tx_2 note=intercepted",
				"WARN kernel→agent: agent_action_response tx_id=tx_2 status=error note=timed_out",
				"WARN kernel→agent: globals_summary tx_id=eval_1 note=late",
				"INFO agent→notebook: agent_action action=create_cell tx_id=tx_2",
				"WARN notebook→agent: agent_action_response tx_id=tx_2 status=error note=timed_out",
			},
		},
		"the server asks": {
			[]trace.Entry{
				newTestEntry(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_1"}`),
				newTestEntry(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_1","summary":{}}`),
				newTestEntry(trace.ServerToConsole, `{"type":"agent_action","action":"get_context","params":{},"tx_id":"eval_2"}`),
				newTestEntry(trace.ConsoleToServer, `{"type":"agent_action_response","tx_id":"eval_2","status":"success"}`),
				newTestEntry(trace.ServerToKernel, `{"type":"stop_cell","agent_tx_id":"eval_3"}`),
				newTestEntry(trace.ServerToConsole, `{"type":"error","data":{"message":"there is no kernel"}}`),
			},
			[]string{
				"INFO notebook→kernel: globals_summary tx_id=eval_1",
				"INFO kernel→notebook: globals_summary tx_id=eval_1",
				"INFO notebook→console: agent_action action=get_context tx_id=eval_2",
				"INFO console→notebook: agent_action_response tx_id=eval_2",
				"INFO notebook→kernel: stop_cell tx_id=eval_3",
				"INFO notebook→console: error",
			},
		},
		"a run": {
			[]trace.Entry{
				newTestEntry(trace.KernelToServer, `{"type":"start_cell","cell_id":"c1","run_sequencer":1}`),
				newChangedEntry(trace.ServerToConsole, `{"type":"start_cell","cell_id":"c1","run_sequencer":1}`, withRefSeq(1)),
				newChangedEntry(trace.ServerToAgent, `{"type":"kernel_message","message":{}}`, func(e *trace.Entry) { e.CellID, e.Note, e.CauseSeq = "c1", trace.NoteRelayed, 1 }),
				newTestEntry(trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1","stream":"stdout","data":"x"}`),
				newTestEntry(trace.KernelToServer, `{"type":"cell_result","cell_id":"c1","run_sequencer":1,"status":"error"}`),
				newChangedEntry(trace.ConsoleToServer, `{"type":"kernel_message","message":{}}`, withNote(trace.NoteDropped)),
			},
			[]string{
				"INFO kernel→console: start_cell cell_id=c1",
				"DEBUG kernel→agent: kernel_message cell_id=c1 note=relayed",
				"DEBUG kernel→console: kernel_stdio cell_id=c1",
				"INFO kernel→console: cell_result cell_id=c1 status=error",
				"DEBUG console→agent: kernel_message note=dropped",
			},
		},
		"oddities": {
			[]trace.Entry{
				newTestEntry(trace.AgentToServer, "no JSON"),
				newChangedEntry(trace.AgentToServer, createCell, withNote(trace.NoteTamper)),
				newChangedEntry(trace.ConsoleToServer, createCellAnswer, withNote(trace.NoteDuplicate)),
				newChangedEntry(trace.KernelToServer, `{"type":"pong","agent_tx_id":"never"}`, withNote(trace.NoteOrphaned)),
				newChangedEntry(trace.ServerToConsole, `{"type":"kernel_stdio","active_cell":"c1"}`, func(e *trace.Entry) { e.Note, e.RefSeq = trace.NoteDropped, 9 }),
				newChangedEntry(trace.ServerToConsole, `{"type":"agent_status","status":"done"}`, func(e *trace.Entry) { e.Note, e.RefSeq = trace.NoteDropped, 9 }),
				newChangedEntry(trace.ServerToConsole, `{"type":"agent_stream_delta","delta":"x"}`, func(e *trace.Entry) { e.Note, e.RefSeq = trace.NoteDropped, 9 }),
			},
			[]string{
				"WARN agent→console:  note=malformed",
				"WARN agent→console: agent_action action=create_cell tx_id=tx_1a2b3c4d5e6f note=tamper",
				"WARN console→agent: agent_action_response tx_id=tx_1a2b3c4d5e6f note=duplicate",
				"WARN kernel→agent: pong tx_id=never note=orphaned",
				"WARN notebook→console: kernel_stdio cell_id=c1 note=dropped",
				"WARN agent→console: agent_status action=done note=dropped",
				"DEBUG agent→console: agent_stream_delta note=dropped",
			},
		},
		"the session": {
			[]trace.Entry{
				newTestEntry(trace.HopSession, `{"type":"state","state":"starting","cause":""}`),
				newTestEntry(trace.AgentToServer, `{"type":"ready"}`),
				newTestEntry(trace.ServerToKernel, `{"type":"init"}`),
				newTestEntry(trace.ServerToConsole, `{"type":"ready"}`),
				newTestEntry(trace.AgentToServer, `{"type":"agent_status","status":"thinking"}`),
				newTestEntry(trace.AgentToServer, `{"type":"agent_stream_delta","block_index":0,"delta":"x"}`),
				newTestEntry(trace.HopSession, `{"type":"managed_process_exit","name":"kernel","exit_code":-1,"signal":"SIGKILL"}`),
				newTestEntry(trace.ServerToConsole, `{"type":"managed_process_exit","name":"kernel","exit_code":-1,"signal":"SIGKILL"}`),
				newTestEntry(trace.HopSession, `{"type":"managed_process_exit","name":"agent","exit_code":3,"signal":""}`),
				newChangedEntry(trace.HopSession, `{"type":"peer_ended","peer":"agent","reason":"EOF"}`, func(e *trace.Entry) { e.Action = "agent" }),
				newTestEntry(trace.HopSession, `{"type":"state","state":"ended","cause":"completed"}`),
			},
			[]string{
				"INFO session: state action=starting",
				"INFO session: ready action=agent",
				"INFO session: init action=kernel",
				"INFO session: ready action=console",
				"INFO agent→console: agent_status action=thinking",
				"DEBUG agent→console: agent_stream_delta",
				"INFO session: managed_process_exit action=kernel detail=was killed by SIGKILL",
				"INFO session: managed_process_exit action=agent detail=exited with status 3",
				"INFO session: peer_ended action=agent detail=EOF",
				"INFO session: state action=ended detail=completed",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, logLines(t, slog.LevelDebug, tc.entries...))
		})
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	entries := []trace.Entry{
		newTestEntry(trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1"}`),
		newTestEntry(trace.HopSession, serverHolds), // not logged, but it says who holds the document
		newChangedEntry(trace.ServerToAgent, globalsError, withNote(trace.NoteTimedOut)),
	}
	require.Len(t, logLines(t, slog.LevelInfo, entries...), 2)
	require.Equal(t, []string{"WARN notebook→agent: agent_action_response tx_id=tx_2 status=error note=timed_out"},
		logLines(t, slog.LevelWarn, entries...))
	require.Empty(t, logLines(t, slog.LevelError, entries...))
}

// A long name in a log record, such as an agent may give to an action, is cut.
func TestLogCutsLongNames(t *testing.T) {
	t.Parallel()
	lines := logLines(t, slog.LevelInfo, newTestEntry(trace.AgentToServer, `{"type":"agent_action","action":"`+strings.Repeat("é", 1000)+`"}`))
	require.Len(t, lines, 1)
	require.Less(t, len(lines[0]), 250)
	require.True(t, strings.HasSuffix(lines[0], "é…"), lines[0])
}

func TestLogRunsUntilJournalIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		follower, other := journal.Follow(), journal.Follow()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended, gaveUp := make(chan error), make(chan error)
		go func() { ended <- flow.LogSessionMessages(t.Context(), follower, nil) }()
		go func() { gaveUp <- flow.LogSessionMessages(ctx, other, nil) }()
		synctest.Wait()
		journal.Append(newTestEntry(trace.AgentToServer, createCell))
		cause := errors.New("enough")
		cancel(cause)
		require.ErrorIs(t, <-gaveUp, cause)
		journal.Close()
		require.NoError(t, <-ended)
	})
}

// BenchmarkLogToDiscardHandler measures the cost of a trace entry that no log handler takes.
func BenchmarkLogToDiscardHandler(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	entry := trace.Entry{Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: protocol.TypeKernelStdio, CellID: "c"}}
	for b.Loop() {
		journal := trace.NewJournal("s")
		follower := journal.Follow()
		for range 1000 {
			journal.Append(entry)
		}
		journal.Close()
		if err := flow.LogSessionMessages(b.Context(), follower, log); err != nil {
			b.Fatal(err)
		}
	}
}
