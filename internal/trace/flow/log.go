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

// LogRecordMessage is the message of the log records of [LogSessionMessages]. Their attributes are strings;
// empty ones are left out:
//
//	direction  "agent→console"; "session" for what happens to the session itself
//	type       of the message
//	action     of an agent_action; else the status, the state, the peer or the model it is about
//	tx_id      of a request or its answer
//	cell_id
//	status     "error", of an answer or a run that failed
//	note       the entry's [trace.Note]
//	session
//	detail     why a peer has ended, or a state was entered; an agent event's text
const LogRecordMessage = "flow"

// maxLogTextBytes is how many bytes of a text from a message go into a log record.
const maxLogTextBytes = 160

// LogSessionMessages logs the messages of a session, each once. It returns nil when the journal is
// closed and everything is logged, and the cause of ctx if that ends first. It does not
// delay the goroutine that appends to the journal. A nil log discards.
//
// A frame is logged where it comes in. A frame that the server makes, or has asked the
// kernel for, is logged where it goes out: only there has an answer of the kernel the
// id of the request. The holder of the document is "console" or, if the server holds
// it, "notebook", which also stands for the server itself.
//
// The level is Warn for what was late, dropped, malformed or forged; Debug for text,
// output and other frames that come in great numbers, dropped pieces of a stream
// among them; Info for the rest.
func LogSessionMessages(ctx context.Context, f *trace.Follower, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	logger := &messageLogger{
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
		logger.logEntry(ctx, entry)
	}
}

// messageLogger logs the trace entries of one session. It keeps what it needs to
// know the sender and the receiver of each message.
type messageLogger struct {
	log       *slog.Logger
	sessionID string
	holder    string // of the document: "console", or "notebook" for the server

	interceptedIDs   map[string]bool // tx_ids of the agent's actions that wait for the kernel
	serverRequestIDs map[string]bool // ids of the server's own requests to the kernel
}

// logEntry logs a trace entry. It does nothing for an entry whose frame was logged where it
// came in, and for one below the log's level.
func (l *messageLogger) logEntry(ctx context.Context, e *trace.Entry) {
	if e.Hop == trace.HopSession {
		l.trackSession(e)
	}
	direction, level := l.directionOfEntry(e), logLevel(e)
	if direction == "" || !l.log.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(e.WallTime, level, LogRecordMessage, 0)
	action, detail := actionAttrs(e)
	for _, field := range []struct{ name, value string }{
		{"direction", direction},
		{"type", e.Type},
		{"action", action},
		{"tx_id", cmp.Or(e.TxID, e.AgentTxID)},
		{"cell_id", e.CellID},
		{"status", statusAttr(e)},
		{"note", string(e.Note)},
		{"session", l.sessionID},
		{"detail", detail},
	} {
		if field.value != "" {
			record.AddAttrs(slog.String(field.name, truncateLogText(field.value)))
		}
	}
	_ = l.log.Handler().Handle(ctx, record) // slog ignores this error too: there is nowhere to report it
}

// trackSession takes from an entry about the session who holds the document, and forgets the
// requests of a peer whose connection has ended.
func (l *messageLogger) trackSession(e *trace.Entry) {
	switch {
	case e.Type == "holder" && parseSessionEvent(e).By == "server":
		l.holder = "notebook"
	case e.Type == "holder":
		l.holder = "console"
	case e.Type == "peer_ended" && e.Action == "agent":
		clear(l.interceptedIDs)
	case e.Type == "peer_ended" && e.Action == "kernel":
		clear(l.serverRequestIDs)
	}
}

// logLevel returns the level at which a trace entry is logged: Warn for entries about faults,
// Debug for very frequent ones, and otherwise Info.
func logLevel(e *trace.Entry) slog.Level {
	switch e.Type {
	case protocol.TypeAgentStreamStart, protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta,
		protocol.TypeAgentStreamStop, protocol.TypeAgentStreamComplete:
		if e.Note == "" || e.Note == trace.NoteDropped { // dropped for a slow console, which gets the whole reply
			return slog.LevelDebug
		}
	case protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeCellWidgets, protocol.TypeRunQueue,
		protocol.TypeAgentHistoryUpdated, protocol.TypeAgentUsageUpdate:
		if e.Note == "" {
			return slog.LevelDebug
		}
	case protocol.TypeKernelMessage: // a console's own is dropped as a rule
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

// sessionEvent has the fields that the bodies of entries on the hop "session" may have.
type sessionEvent struct {
	By       string `json:"by"`
	State    string `json:"state"`
	Cause    string `json:"cause"`
	Name     string `json:"name"`
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal"`
	Reason   string `json:"reason"`
}

// parseSessionEvent parses the body of an entry on the hop "session". Fields that are missing
// or of a wrong type stay empty.
func parseSessionEvent(e *trace.Entry) (event sessionEvent) {
	_ = json.Unmarshal(e.Body, &event)
	return event
}

// actionAttrs returns the log attributes "action" and "detail" of a trace entry; either may be
// empty.
func actionAttrs(e *trace.Entry) (action, detail string) {
	switch {
	case e.Type == protocol.TypeReady, e.Type == protocol.TypeInit:
		return peerOfHop(e.Hop), ""
	case e.Type == protocol.TypeAgentStatus:
		return e.Status, ""
	case e.Type == protocol.TypeAgentEvent:
		event := parseAgentEvent(e.Body)
		return event.Metadata.Type, event.firstLine()
	case isModelHop(e.Hop):
		return modelEntryText(e.Type, e.Body), ""
	case e.Hop != trace.HopSession:
		return e.Action, ""
	}
	event := parseSessionEvent(e)
	switch {
	case e.Type != protocol.TypeManagedProcessExit:
		return cmp.Or(e.Action, event.State, event.By), cmp.Or(event.Cause, event.Reason)
	case event.Signal != "":
		return event.Name, "was killed by " + event.Signal
	default:
		return event.Name, fmt.Sprintf("exited with status %d", event.ExitCode)
	}
}

// peerOfHop returns the name of the peer at the other end of a hop from the server, such as
// "agent".
func peerOfHop(hop trace.Hop) string {
	from, to, _ := strings.Cut(string(hop), ">")
	if from == "server" {
		return to
	}
	return from
}

// statusAttr returns the log attribute "status" of a trace entry: "error" if the entry's status
// is that, and otherwise empty.
func statusAttr(e *trace.Entry) string {
	if e.Status == protocol.StatusError {
		return e.Status
	}
	return ""
}

// truncateLogText returns text, cut to maxLogTextBytes with … at the end if it is longer.
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
