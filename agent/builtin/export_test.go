package builtin

import (
	"context"
	"io"
	"log/slog"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// RepairMessages exports repairMessages.
func RepairMessages(messages []model.Message) []model.Message { return repairMessages(messages) }

// MarkUserTurns exports markUserTurns.
func MarkUserTurns(messages []model.Message) []model.Message { return markUserTurns(messages) }

// Request exports request.
func (m *ModelCall) Request() model.Request { return m.request() }

// ActionClient exports actionClient, with a reader of its own.
type ActionClient struct{ *actionClient }

// NewActionClient returns a client with random ids.
func NewActionClient(conn protocol.Conn) ActionClient {
	server := &serverConn{conn: conn, stderr: io.Discard, log: slog.New(slog.DiscardHandler)}
	return ActionClient{newActionClient(server, protocol.NewTxID)}
}

// Read handles responses until the connection ends.
func (c ActionClient) Read() {
	decoder := protocol.NewEnvelopeDecoder()
	for {
		body, err := c.server.conn.Read()
		if err != nil {
			return
		}
		if env, err := decoder.Decode(body); err == nil {
			c.handleResponse(env, body)
		}
	}
}

// Do exports do. It returns the body of the response and the failure.
func (c ActionClient) Do(ctx context.Context, action string, params any, timeout time.Duration) (body []byte, failure string) {
	r := c.do(ctx, action, params, timeout)
	return r.body, r.failure
}

// PendingCount returns how many actions wait for a response.
func (c ActionClient) PendingCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}
