package builtin

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"assay/agent/model"
	"assay/internal/protocol"
)

// Repair is repair.
func Repair(messages []model.Message) []model.Message { return repair(messages) }

// Compact is compact.
func Compact(messages []model.Message) ([]model.Message, int) { return compact(messages) }

// Clip is clip.
func Clip(text string, limit int) string { return clip(text, limit) }

// MarkTurns is markTurns.
func MarkTurns(messages []model.Message) []model.Message { return markTurns(messages) }

// RequestOf is the request of an asking.
func RequestOf(system, state []model.Block, tools []model.Tool) model.Request {
	c := newConversation(newCore(nil, Config{}))
	return (&asking{conversation: c, system: system, state: state, tools: tools}).request()
}

// CheckInput is the check of a shape.
func CheckInput(schema string, input []byte) error {
	s, err := newShape(schema)
	if err != nil {
		return err
	}
	return s.check(input)
}

// ImageHeader is header.
func ImageHeader(data []byte) (mime string, width, height int) {
	mime, size := model.ImageHeader(bytes.NewReader(data))
	return mime, size.X, size.Y
}

// Operations is operations on a connection that it reads itself.
type Operations struct{ *operations }

// NewOperations returns operations with random ids.
func NewOperations(conn protocol.Conn) Operations {
	w := &wire{conn: conn, stderr: io.Discard, log: slog.New(slog.DiscardHandler)}
	return Operations{newOperations(w, protocol.NewTxID)}
}

// Read takes in answers until the connection ends.
func (o Operations) Read() {
	decoder := protocol.NewDecoder()
	for {
		body, err := o.wire.conn.Read()
		if err != nil {
			return
		}
		if env, err := decoder.Envelope(body); err == nil {
			o.answered(env, body)
		}
	}
}

// Do is do; it returns the body of the answer and the error it ended with.
func (o Operations) Do(ctx context.Context, action string, input any, limit time.Duration) (body []byte, failure string) {
	r := o.do(ctx, action, input, limit)
	return r.body, r.err
}

// Pending is how many operations wait.
func (o Operations) Pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending)
}
