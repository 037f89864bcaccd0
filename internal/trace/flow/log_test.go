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

func frame(hop trace.Hop, body string) trace.Entry {
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
	if err != nil {
		return trace.Entry{Hop: hop, Note: trace.NoteMalformed, Body: []byte(body)}
	}
	return trace.Entry{Hop: hop, Envelope: env, Body: []byte(body)}
}

// noteText is an entry that is more than a frame that comes in.
func noteText(hop trace.Hop, body string, change func(*trace.Entry)) trace.Entry {
	entry := frame(hop, body)
	change(&entry)
	return entry
}

func by(note trace.Note) func(*trace.Entry) { return func(e *trace.Entry) { e.Note = note } }
func of(cause int64) func(*trace.Entry)     { return func(e *trace.Entry) { e.CauseSeq = cause } }
func ref(seq int64) func(*trace.Entry)      { return func(e *trace.Entry) { e.RefSeq = seq } }

// flowOf is what is logged of entries at a level: a line each, its attributes
// apart from direction and type as they are named.
func flowOf(t *testing.T, level slog.Level, entries ...trace.Entry) (lines []string) {
	t.Helper()
	journal := trace.NewJournal("s1")
	follower := journal.Follow()
	for _, entry := range entries {
		journal.Append(entry)
	}
	journal.Close()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))
	require.NoError(t, flow.Log(t.Context(), follower, log))
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
	held    = `{"type":"holder","by":"console","conn":1}`
	ours    = `{"type":"holder","by":"server"}`
	created = `{"type":"agent_action","action":"create_cell","params":{},"tx_id":"tx_1a2b3c4d5e6f"}`
	globals = `{"type":"agent_action","action":"request_globals_summary","params":{},"tx_id":"tx_2"}`
	success = `{"type":"agent_action_response","tx_id":"tx_1a2b3c4d5e6f","status":"success"}`
	failed  = `{"type":"agent_action_response","tx_id":"tx_2","status":"error","error":"no"}`
)

// The directions of EH-9, with a holder and without.
func TestFlowDirections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entries []trace.Entry
		want    []string
	}{
		"a console holds the document": {
			[]trace.Entry{
				frame(trace.HopSession, held),
				frame(trace.AgentToServer, created),
				noteText(trace.ServerToConsole, created, ref(2)),
				frame(trace.ConsoleToServer, success),
				noteText(trace.ServerToAgent, success, ref(4)),
				frame(trace.ConsoleToServer, `{"type":"agent_query","query":"q","request_id":"r"}`),
				frame(trace.ConsoleToServer, `{"type":"run_cell","cell_id":"c1","code":"1"}`),
				noteText(trace.ServerToKernel, `{"type":"run_cell","cell_id":"c1","code":"1"}`, ref(7)),
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
				frame(trace.HopSession, ours),
				frame(trace.ServerToAgent, `{"type":"agent_query","query":"q","request_id":"r"}`),
				frame(trace.AgentToServer, created),
				noteText(trace.HopNotebook, `{"type":"notebook_event","event":"cell_created"}`, func(e *trace.Entry) { e.Action = "cell_created" }),
				frame(trace.ServerToAgent, success),
				frame(trace.ServerToKernel, `{"type":"run_cell","cell_id":"c1","code":"1"}`),
				frame(trace.ConsoleToServer, `{"type":"notebook_action","action":"edit_cell","params":{"cell_id":"c1"},"tx_id":"v1"}`),
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
				noteText(trace.AgentToServer, globals, by(trace.NoteIntercepted)),
				noteText(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_1"}`, of(1)),
				frame(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_1","summary":{}}`),
				noteText(trace.ServerToAgent, `{"type":"agent_action_response","tx_id":"tx_2","status":"success"}`, of(3)),
				frame(trace.ConsoleToServer, `{"type":"globals_summary","agent_tx_id":"mine"}`),
				noteText(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_2"}`, of(5)),
				frame(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_2","summary":{}}`),
				noteText(trace.ServerToConsole, `{"type":"globals_summary","agent_tx_id":"mine","summary":{}}`, of(7)),
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
				frame(trace.HopSession, ours),
				noteText(trace.AgentToServer, globals, by(trace.NoteIntercepted)),
				noteText(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_1"}`, of(2)),
				noteText(trace.ServerToAgent, failed, by(trace.NoteTimedOut)),
				noteText(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_1","summary":{}}`, by(trace.NoteLate)),
				frame(trace.AgentToServer, strings.Replace(created, "tx_1a2b3c4d5e6f", "tx_2", 1)),
				noteText(trace.ServerToAgent, failed, by(trace.NoteTimedOut)),
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
				frame(trace.ServerToKernel, `{"type":"globals_summary","agent_tx_id":"eval_1"}`),
				frame(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_1","summary":{}}`),
				frame(trace.ServerToConsole, `{"type":"agent_action","action":"get_context","params":{},"tx_id":"eval_2"}`),
				frame(trace.ConsoleToServer, `{"type":"agent_action_response","tx_id":"eval_2","status":"success"}`),
				frame(trace.ServerToKernel, `{"type":"stop_cell","agent_tx_id":"eval_3"}`),
				frame(trace.ServerToConsole, `{"type":"error","data":{"message":"there is no kernel"}}`),
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
				frame(trace.KernelToServer, `{"type":"start_cell","cell_id":"c1","run_sequencer":1}`),
				noteText(trace.ServerToConsole, `{"type":"start_cell","cell_id":"c1","run_sequencer":1}`, ref(1)),
				noteText(trace.ServerToAgent, `{"type":"kernel_message","message":{}}`, func(e *trace.Entry) { e.CellID, e.Note, e.CauseSeq = "c1", trace.NoteRelayed, 1 }),
				frame(trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1","stream":"stdout","data":"x"}`),
				frame(trace.KernelToServer, `{"type":"cell_result","cell_id":"c1","run_sequencer":1,"status":"error"}`),
				noteText(trace.ConsoleToServer, `{"type":"kernel_message","message":{}}`, by(trace.NoteDropped)),
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
				frame(trace.AgentToServer, "no JSON"),
				noteText(trace.AgentToServer, created, by(trace.NoteTamper)),
				noteText(trace.ConsoleToServer, success, by(trace.NoteDuplicate)),
				noteText(trace.KernelToServer, `{"type":"pong","agent_tx_id":"never"}`, by(trace.NoteOrphaned)),
				noteText(trace.ServerToConsole, `{"type":"kernel_stdio","active_cell":"c1"}`, func(e *trace.Entry) { e.Note, e.RefSeq = trace.NoteDropped, 9 }),
			},
			[]string{
				"WARN agent→console:  note=malformed",
				"WARN agent→console: agent_action action=create_cell tx_id=tx_1a2b3c4d5e6f note=tamper",
				"WARN console→agent: agent_action_response tx_id=tx_1a2b3c4d5e6f note=duplicate",
				"WARN kernel→agent: pong tx_id=never note=orphaned",
				"WARN notebook→console: kernel_stdio cell_id=c1 note=dropped",
			},
		},
		"the session": {
			[]trace.Entry{
				frame(trace.HopSession, `{"type":"state","state":"starting","cause":""}`),
				frame(trace.AgentToServer, `{"type":"ready"}`),
				frame(trace.ServerToKernel, `{"type":"init"}`),
				frame(trace.ServerToConsole, `{"type":"ready"}`),
				frame(trace.AgentToServer, `{"type":"agent_status","status":"thinking"}`),
				frame(trace.AgentToServer, `{"type":"agent_stream_delta","block_index":0,"delta":"x"}`),
				frame(trace.HopSession, `{"type":"managed_process_exit","name":"kernel","exit_code":-1,"signal":"SIGKILL"}`),
				frame(trace.ServerToConsole, `{"type":"managed_process_exit","name":"kernel","exit_code":-1,"signal":"SIGKILL"}`),
				frame(trace.HopSession, `{"type":"managed_process_exit","name":"agent","exit_code":3,"signal":""}`),
				noteText(trace.HopSession, `{"type":"peer_ended","peer":"agent","reason":"EOF"}`, func(e *trace.Entry) { e.Action = "agent" }),
				frame(trace.HopSession, `{"type":"state","state":"ended","cause":"completed"}`),
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
			require.Equal(t, tc.want, flowOf(t, slog.LevelDebug, tc.entries...))
		})
	}
}

func TestFlowLevels(t *testing.T) {
	t.Parallel()
	entries := []trace.Entry{
		frame(trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1"}`),
		frame(trace.HopSession, ours), // learned from, though it is not logged
		noteText(trace.ServerToAgent, failed, by(trace.NoteTimedOut)),
	}
	require.Len(t, flowOf(t, slog.LevelInfo, entries...), 2)
	require.Equal(t, []string{"WARN notebook→agent: agent_action_response tx_id=tx_2 status=error note=timed_out"},
		flowOf(t, slog.LevelWarn, entries...))
	require.Empty(t, flowOf(t, slog.LevelError, entries...))
}

// However long a name an agent gives to what it asks for, the line is short.
func TestFlowCutsLongNames(t *testing.T) {
	t.Parallel()
	lines := flowOf(t, slog.LevelInfo, frame(trace.AgentToServer, `{"type":"agent_action","action":"`+strings.Repeat("é", 1000)+`"}`))
	require.Len(t, lines, 1)
	require.Less(t, len(lines[0]), 250)
	require.True(t, strings.HasSuffix(lines[0], "é…"), lines[0])
}

func TestFlowFollowsUntilTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		follower, other := journal.Follow(), journal.Follow()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended, gaveUp := make(chan error), make(chan error)
		go func() { ended <- flow.Log(t.Context(), follower, nil) }()
		go func() { gaveUp <- flow.Log(ctx, other, nil) }()
		synctest.Wait()
		journal.Append(frame(trace.AgentToServer, created))
		cause := errors.New("enough")
		cancel(cause)
		require.ErrorIs(t, <-gaveUp, cause)
		journal.Close()
		require.NoError(t, <-ended)
	})
}

// What nobody wants to read costs next to nothing.
func BenchmarkFlowOff(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	entry := trace.Entry{Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: protocol.TypeKernelStdio, CellID: "c"}}
	for b.Loop() {
		journal := trace.NewJournal("s")
		follower := journal.Follow()
		for range 1000 {
			journal.Append(entry)
		}
		journal.Close()
		if err := flow.Log(b.Context(), follower, log); err != nil {
			b.Fatal(err)
		}
	}
}
