package builtin

import (
	"context"
	"io"
	"log/slog"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// RepairMessages calls repairMessages, which makes any messages a transcript that the API
// accepts.
func RepairMessages(messages []model.Message) []model.Message { return repairMessages(messages) }

// AddCacheMarkersToUserTurns calls addCacheMarkersToUserTurns, which puts cache markers on the last turns of the user.
func AddCacheMarkersToUserTurns(messages []model.Message) []model.Message {
	return addCacheMarkersToUserTurns(messages)
}

// Request returns the model request of a call, without messages.
func (m *ModelCall) Request() model.Request { return m.request() }

// ActionClient is an actionClient without an agent. Read must run to receive the responses.
type ActionClient struct{ *actionClient }

// NewActionClient returns a client that sends actions with random ids on conn.
func NewActionClient(conn protocol.Conn) ActionClient {
	server := &serverConn{conn: conn, stderr: io.Discard, log: slog.New(slog.DiscardHandler)}
	return ActionClient{newActionClient(server, protocol.NewTxID)}
}

// ReadResponses handles action responses until the connection ends.
func (c ActionClient) ReadResponses() {
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

// Do sends an action and waits for its response, at most for timeout. It returns the body of
// the response, and what went wrong, "" for success.
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
