package builtin

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// Repair is repair.
func Repair(messages []model.Message) []model.Message { return repair(messages) }

// CompactBlocks is compact of rounds of code in Python.
func CompactBlocks(messages []model.Message) ([]model.Message, int) {
	return blockRounds("python").compact(messages)
}

// Compact is compact of rounds of tools.
func Compact(messages []model.Message) ([]model.Message, int) {
	return toolRounds().compact(messages)
}

// Enter has a call of a tool entered, which is carried out when the returned
// function is called.
func (h *ExternalAgent) Enter(name string, input []byte) (carryOut func() (text string, isError bool), err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &call{cancel: cancel, result: make(chan model.Block, 1)}
	return func() (string, bool) {
		h.carryOut(ctx, c)
		result := <-c.result
		return model.PlainText(result.Content), result.IsError
	}, h.enter(c, name, input)
}

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
	decoder := protocol.NewEnvelopeDecoder()
	for {
		body, err := o.wire.conn.Read()
		if err != nil {
			return
		}
		if env, err := decoder.Decode(body); err == nil {
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
