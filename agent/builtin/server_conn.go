package builtin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// serverConn writes the agent's frames to the server, and a debug log to stderr. It is safe
// for concurrent use.
type serverConn struct {
	conn   protocol.Conn
	stderr io.Writer
	log    *slog.Logger
	mu     sync.Mutex // serialises frames and lines on stderr
}

// send writes a message as one JSON frame. It blocks while the server does not read. It
// returns an error if the message cannot be marshalled or the connection is lost, which the
// goroutine that reads the connection notices as well.
func (s *serverConn) send(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return fmt.Errorf("write %T: %w", message, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Write(body)
}

// sendOrLog writes a message as one JSON frame, and logs a warning if that fails. That this process has closed the
// connection, because it ends, is no reason for one.
func (s *serverConn) sendOrLog(message any) {
	switch err := s.send(message); {
	case errors.Is(err, protocol.ErrClosed):
		s.log.Debug("frame not sent", "error", err)
	case err != nil:
		s.log.Warn("frame not sent", "error", err)
	}
}

// sendStatus sends an agent_status frame.
func (s *serverConn) sendStatus(status string) {
	s.sendOrLog(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: status})
}

// sendEvent sends an agent_event frame. Its channel and mode are "ai" and "NL" unless set.
func (s *serverConn) sendEvent(event protocol.AgentEvent) {
	event.Type, event.Channel, event.Mode = protocol.TypeAgentEvent, cmp.Or(event.Channel, "ai"), cmp.Or(event.Mode, "NL")
	s.sendOrLog(event)
}

// sendError sends an agent_error frame. A fatal error ends the work on its query, and with it
// an evaluation; a live session continues with the next query.
func (s *serverConn) sendError(text string, fatal bool) {
	s.sendOrLog(protocol.AgentError{Type: protocol.TypeAgentError, Error: text, Fatal: fatal})
}

// sendMessage sends a transcript message to the server in an agent_history_updated frame.
// usage is nil for messages that no model call returned. An error is only logged.
func (s *serverConn) sendMessage(sessionID, requestID string, at time.Time, m model.Message, usage *model.Usage) {
	entry := protocol.HistoryEntry{
		Type: protocol.HistoryEntryTypeAnthropicMessage, Role: m.Role, RequestID: requestID, Timestamp: formatTimestamp(at),
	}
	var err error
	if entry.Content, err = protocol.Marshal(m.Content); err != nil {
		s.log.Error("message not sent to the server", "error", err)
		return
	}
	if usage != nil {
		entry.Usage, _ = json.Marshal(usage) //nolint:errchkjson // four numbers
	}
	raw, _ := protocol.Marshal(entry) // strings and JSON can always be written
	s.sendOrLog(protocol.HistoryUpdated{
		Type: protocol.TypeAgentHistoryUpdated, SessionID: sessionID, RequestID: requestID, Entry: raw,
	})
}

// formatTimestamp writes a time as RFC 3339 in UTC with milliseconds.
func formatTimestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// printToStderr writes a line to stderr, for people who debug the agent. Write errors are
// ignored.
func (s *serverConn) printToStderr(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.stderr, line+"\n") // only for debugging: an error changes nothing
}
