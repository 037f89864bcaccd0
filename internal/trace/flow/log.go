package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode/utf8"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// LogMessage is the message of the records of [Log]. Their attributes are
// strings, of which those without a value are left out:
//
//	direction  "agent→console"; for what happens to the session itself "session"
//	type       of the message
//	action     of an agent_action; else the status, the state or the peer it is about
//	tx_id      of a request or its answer
//	cell_id
//	status     "error", of an answer or a run that is one
//	note       what became of it, a [Note]
//	session
//	detail     why a peer has ended, or a state was entered
const LogMessage = "flow"

// maxLogTextBytes is how much of a text from the wire goes into a record, in bytes.
const maxLogTextBytes = 160

// Log logs what passes in a session, each frame once, until the journal is
// closed, and then returns nil, or until ctx ends, and then returns its cause.
// Whoever appends to the journal does not wait for it. A nil log discards.
//
// A frame is logged where it comes in, unless it is the server that makes it or
// has asked for it: then where it goes out. An answer of the kernel is logged
// where it goes out too, because only there it has the id that was asked with.
// Who holds the document is "console" or, when it is the server, "notebook",
// which also stands for the server itself.
//
// Warn is for what was late, dropped, malformed or forged, Debug for text, output
// and whatever else comes in numbers, Info for the rest.
func Log(ctx context.Context, f *trace.Follower, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	flow := &messageLogger{
		log: log, sessionID: f.SessionID(), holder: "console",
		interceptedIDs: map[string]bool{}, serverRequestIDs: map[string]bool{},
	}
	for {
		entry, err := f.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		flow.logEntry(ctx, entry)
	}
}

// messageLogger logs the entries of one session. It knows of the session what it takes
// to tell who speaks to whom.
type messageLogger struct {
	log       *slog.Logger
	sessionID string
	holder    string // who holds it: "console", or "notebook" for the server

	interceptedIDs   map[string]bool // the agent's actions that wait for the kernel
	serverRequestIDs map[string]bool // the server's own requests to the kernel
}

// logEntry logs an entry, unless it was logged where it came in.
func (f *messageLogger) logEntry(ctx context.Context, e *trace.Entry) {
	if e.Hop == trace.HopSession {
		f.trackSession(e)
	}
	direction, level := f.direction(e), logLevel(e)
	if direction == "" || !f.log.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(e.WallTime, level, LogMessage, 0)
	action, detail := logAction(e)
	for _, field := range []struct{ name, value string }{
		{"direction", direction},
		{"type", e.Type},
		{"action", action},
		{"tx_id", cmp.Or(e.TxID, e.AgentTxID)},
		{"cell_id", e.CellID},
		{"status", logStatus(e)},
		{"note", string(e.Note)},
		{"session", f.sessionID},
		{"detail", detail},
	} {
		if field.value != "" {
			record.AddAttrs(slog.String(field.name, truncateLogText(field.value)))
		}
	}
	_ = f.log.Handler().Handle(ctx, record) // as slog does: there is nowhere to complain
}

// trackSession learns from what happens to the session.
func (f *messageLogger) trackSession(e *trace.Entry) {
	switch {
	case e.Type == "holder" && parseSessionEvent(e).By == "server":
		f.holder = "notebook"
	case e.Type == "holder":
		f.holder = "console"
	case e.Type == "peer_ended" && e.Action == "agent":
		clear(f.interceptedIDs) // nobody is there to be answered
	case e.Type == "peer_ended" && e.Action == "kernel":
		clear(f.serverRequestIDs)
	}
}

// logLevel is how much an entry matters to somebody who reads along.
func logLevel(e *trace.Entry) slog.Level {
	switch e.Type {
	case protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeCellWidgets, protocol.TypeRunQueue,
		protocol.TypeAgentStreamStart, protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta,
		protocol.TypeAgentStreamStop, protocol.TypeAgentStreamComplete,
		protocol.TypeAgentHistoryUpdated, protocol.TypeAgentUsageUpdate:
		if e.Note == "" {
			return slog.LevelDebug
		}
	case protocol.TypeKernelMessage: // a console's own, which is dropped, is no oddity
		return slog.LevelDebug
	}
	switch {
	case e.Note != "" && e.Note != trace.NoteIntercepted && e.Note != trace.NoteRelayed:
		return slog.LevelWarn
	case e.Hop == trace.HopNotebook:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// sessionEvent is what the entries of the hop "session" have in their bodies.
type sessionEvent struct {
	By       string `json:"by"`
	State    string `json:"state"`
	Cause    string `json:"cause"`
	Name     string `json:"name"`
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal"`
	Reason   string `json:"reason"`
}

func parseSessionEvent(e *trace.Entry) (ev sessionEvent) {
	_ = json.Unmarshal(e.Body, &ev) // one that is not like that has nothing to tell
	return ev
}

// logAction is what an entry is about beside its type, and for what reason.
func logAction(e *trace.Entry) (action, detail string) {
	switch {
	case e.Type == protocol.TypeReady, e.Type == protocol.TypeInit:
		return peerOfHop(e.Hop), ""
	case e.Type == protocol.TypeAgentStatus:
		return e.Status, ""
	case e.Type == protocol.TypeAgentEvent:
		said := parseAgentEvent(e.Body)
		return said.Metadata.Type, said.firstLine()
	case e.Hop != trace.HopSession:
		return e.Action, ""
	}
	ev := parseSessionEvent(e)
	switch {
	case e.Type != protocol.TypeManagedProcessExit:
		return cmp.Or(e.Action, ev.State, ev.By), cmp.Or(ev.Cause, ev.Reason)
	case ev.Signal != "":
		return ev.Name, "was killed by " + ev.Signal
	default:
		return ev.Name, fmt.Sprintf("exited with status %d", ev.ExitCode)
	}
}

// peerOfHop is who is at the other end of a hop.
func peerOfHop(hop trace.Hop) string {
	from, to, _ := strings.Cut(string(hop), ">")
	if from == "server" {
		return to
	}
	return from
}

func logStatus(e *trace.Entry) string {
	if e.Status == protocol.StatusError {
		return e.Status
	}
	return ""
}

// truncateLogText cuts what somebody else has named, however long a name they gave.
func truncateLogText(text string) string {
	if len(text) <= maxLogTextBytes {
		return text
	}
	end := maxLogTextBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
