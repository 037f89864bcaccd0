package builtin

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"

	"assay/internal/protocol"
)

// wire is the agent's side of the connection. It is safe for concurrent use.
type wire struct {
	conn   protocol.Conn
	stderr io.Writer
	log    *slog.Logger
	mu     sync.Mutex // one frame, and one line, at a time
}

// send writes a message. It waits while the server does not read, and fails
// only when the connection is lost, which the reader finds out too.
func (w *wire) send(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return fmt.Errorf("write %T: %w", message, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn.Write(body)
}

// tell sends what nobody waits for.
func (w *wire) tell(message any) {
	if err := w.send(message); err != nil {
		w.log.Warn("frame not sent", "error", err)
	}
}

func (w *wire) status(status string) {
	w.tell(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: status})
}

// event shows something; kind is its metadata's type.
func (w *wire) event(kind, text string, more map[string]any) {
	metadata := map[string]any{"type": kind}
	maps.Copy(metadata, more)
	w.tell(protocol.AgentEvent{Type: protocol.TypeAgentEvent, Channel: "ai", Mode: "NL", Text: text, Metadata: metadata})
}

// fail reports an error. A fatal one ends the work on the query that it came of,
// and with it an evaluation; the next query of a live session is worked on.
func (w *wire) fail(text string, fatal bool) {
	w.tell(protocol.AgentError{Type: protocol.TypeAgentError, Error: text, Fatal: fatal})
}

// note writes a line for who debugs.
func (w *wire) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.stderr, line+"\n") // nothing hangs on it
}
