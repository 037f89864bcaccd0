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

// goodbye is how long a peer whose messages are being read may take to agree to
// a close.
const goodbye = time.Second

// mostAhead is how much memory is taken for a message before any of it has come, in
// bytes.
const mostAhead = 256 << 10

// webSocket is the Conn of consoles: one text frame per body.
type webSocket struct {
	ws     *websocket.Conn
	ctx    context.Context //nolint:containedctx // the connection's life: Conn has no other way to end a blocked Read
	cancel context.CancelFunc
	last   int // bytes of the last message that was read
}

// NewWebSocket returns a Conn over ws, which it owns from then on. It lives no
// longer than ctx, which must not be that of the upgraded request. limit is the
// largest body in bytes; 0 is [DefaultMaxFrameBytes]. A binary frame is a fatal
// error.
func NewWebSocket(ctx context.Context, ws *websocket.Conn, limit int64) Conn {
	if limit <= 0 {
		limit = DefaultMaxFrameBytes
	}
	ws.SetReadLimit(limit)
	ctx, cancel := context.WithCancel(ctx)
	return &webSocket{ws: ws, ctx: ctx, cancel: cancel}
}

func (w *webSocket) Read() ([]byte, error) {
	kind, in, err := w.ws.Reader(w.ctx)
	var body []byte
	if err == nil {
		body, err = w.whole(in)
	}
	switch {
	case err != nil:
		return nil, w.fault("read", err)
	case kind != websocket.MessageText:
		_ = w.ws.Close(websocket.StatusUnsupportedData, "text frames only")
		return nil, &ChannelError{Operation: "read", Err: errors.New("a binary frame: text frames only")}
	default:
		return body, nil
	}
}

// whole reads a message into memory for one like the last, which most are.
func (w *webSocket) whole(in io.Reader) ([]byte, error) {
	body := bytes.NewBuffer(make([]byte, 0, min(w.last, mostAhead)+bytes.MinRead))
	_, err := body.ReadFrom(in)
	w.last = body.Len()
	return body.Bytes(), err
}

// Write sends body as one text frame, a raw frame as the ToJSON it stands for.
func (w *webSocket) Write(body []byte) error {
	text, err := ToJSON(body)
	if err != nil {
		return fmt.Errorf("raw frame for a WebSocket: %w", err)
	}
	if err := w.ws.Write(w.ctx, websocket.MessageText, text); err != nil {
		return w.fault("write", err)
	}
	return nil
}

func (w *webSocket) fault(doing string, err error) error {
	switch {
	case w.ctx.Err() != nil:
		return ErrClosed
	case doing == "read" && websocket.CloseStatus(err) != -1, errors.Is(err, io.EOF):
		return io.EOF // the browser said goodbye, or its machine went away
	default:
		return &ChannelError{Operation: doing, Err: err}
	}
}

func (w *webSocket) Close(code CloseCode, reason string) error {
	defer w.cancel()
	defer time.AfterFunc(goodbye, w.cancel).Stop()
	// A peer that does not say goodbye in turn is no fault of this end, and one
	// that has gone is closed already. Control frames carry 125 bytes, two of
	// which are the code, and the rest must be UTF-8.
	_ = w.ws.Close(websocket.StatusCode(code), strings.ToValidUTF8(reason[:min(len(reason), 123)], ""))
	_ = w.ws.CloseNow()
	return nil
}
