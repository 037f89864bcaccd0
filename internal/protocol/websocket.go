package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// closeTimeout is how long closing a WebSocket waits for the peer's answer to the closing
// handshake.
const closeTimeout = time.Second

// maxPreallocatedBytes is how many bytes of memory are allocated at most for a WebSocket
// message before any of it has arrived.
const maxPreallocatedBytes = 256 << 10

// webSocket implements [Conn] over a WebSocket, as consoles use it. Each body is one text
// frame.
type webSocket struct {
	ws            *websocket.Conn
	ctx           context.Context //nolint:containedctx // the connection's lifetime: there is no other way to end a blocked Read
	cancel        context.CancelFunc
	lastBodyBytes int // bytes of the last message that was read
}

// NewWebSocket returns a Conn over ws, and owns ws from then on. When ctx ends the connection
// ends, so ctx must not be the context of the upgraded HTTP request. limit is the size of the
// largest body in bytes; 0 means [DefaultMaxFrameBytes]. A binary frame from the peer ends the
// connection.
func NewWebSocket(ctx context.Context, ws *websocket.Conn, limit int64) Conn {
	if limit <= 0 {
		limit = DefaultMaxFrameBytes
	}
	ws.SetReadLimit(limit)
	ctx, cancel := context.WithCancel(ctx)
	return &webSocket{ws: ws, ctx: ctx, cancel: cancel}
}

// Read implements [Conn]. It fails if the peer sends a binary frame.
func (w *webSocket) Read() ([]byte, error) {
	kind, in, err := w.ws.Reader(w.ctx)
	var body []byte
	if err == nil {
		body, err = w.readMessage(in)
	}
	switch {
	case err != nil:
		return nil, w.wrapError("read", err)
	case kind != websocket.MessageText:
		_ = w.ws.Close(websocket.StatusUnsupportedData, "text frames only")
		return nil, &ConnError{Operation: "read", Err: errors.New("a binary frame: text frames only")}
	default:
		return body, nil
	}
}

// readMessage reads the rest of one WebSocket message. It first allocates as many bytes as the
// last message had, because most messages are like the one before.
func (w *webSocket) readMessage(in io.Reader) ([]byte, error) {
	body := bytes.NewBuffer(make([]byte, 0, min(w.lastBodyBytes, maxPreallocatedBytes)+bytes.MinRead))
	_, err := body.ReadFrom(in)
	w.lastBodyBytes = body.Len()
	return body.Bytes(), err
}

// Write implements [Conn]. It sends a raw frame as the JSON message that it stands for.
func (w *webSocket) Write(body []byte) error {
	text, err := BodyToJSON(body)
	if err != nil {
		return fmt.Errorf("raw frame for a WebSocket: %w", err)
	}
	if err := w.ws.Write(w.ctx, websocket.MessageText, text); err != nil {
		return w.wrapError("write", err)
	}
	return nil
}

// wrapError converts an error of the WebSocket to the errors that Conn promises: io.EOF,
// ErrClosed or a *ConnError.
func (w *webSocket) wrapError(operation string, err error) error {
	switch {
	case w.ctx.Err() != nil:
		return ErrClosed
	case operation == "read" && websocket.CloseStatus(err) != -1, errors.Is(err, io.EOF):
		return io.EOF // the browser has closed the connection, or its machine is gone
	default:
		return &ConnError{Operation: operation, Err: err}
	}
}

// Close implements [Conn]. It sends code and reason to the peer and waits at most closeTimeout
// for the answer.
func (w *webSocket) Close(code CloseCode, reason string) error {
	defer w.cancel()
	defer time.AfterFunc(closeTimeout, w.cancel).Stop()
	// It is no error if the peer does not answer or has gone. A close frame carries at
	// most 125 bytes: two of the code, and a reason in UTF-8.
	_ = w.ws.Close(websocket.StatusCode(code), strings.ToValidUTF8(reason[:min(len(reason), 123)], ""))
	_ = w.ws.CloseNow()
	return nil
}
