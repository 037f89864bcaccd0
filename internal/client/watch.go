package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coder/websocket"

	"assay/internal/protocol"
)

// maxTraceLineBytes is the length in bytes of the longest line of a trace that is read.
// A line holds one frame, escaped, and the other fields of its trace entry.
const maxTraceLineBytes = 8 * protocol.DefaultMaxFrameBytes

// TraceWatch reads the trace of a live session over a WebSocket while it is being
// written. It is not safe for concurrent use. The caller must Close it.
type TraceWatch struct {
	client *Client
	ws     *websocket.Conn
}

// WatchTrace opens the trace of a live session: first its header, then the entries from
// number from on, including those that are yet to be written. It returns a [*ResponseError] if
// the server refuses (the first Next may return it too), and an error that wraps
// [ErrUnreachable] if the server does not accept within 10 s.
func (c *Client) WatchTrace(ctx context.Context, session string, from int64) (*TraceWatch, error) {
	address := c.base.JoinPath("watch")
	address.RawQuery = url.Values{"session": {session}, "from": {strconv.FormatInt(from, 10)}}.Encode()
	dialCtx, cancel := context.WithTimeoutCause(ctx, responseTimeout, fmt.Errorf("it did not answer within %v", responseTimeout))
	defer cancel()
	ws, response, err := websocket.Dial(dialCtx, address.String(), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: c.requestHeader()})
	switch {
	case err == nil:
	case response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes)) // websocket.Dial keeps only the beginning of the body
		return nil, parseErrorResponse(response, body)
	default:
		return nil, c.unreachableError(dialCtx, err)
	}
	ws.SetReadLimit(maxTraceLineBytes)
	return &TraceWatch{client: c, ws: ws}, nil
}

// Next waits for the next line of the trace and returns it without its newline. It
// returns io.EOF when the session has ended or the server stops, a [*ResponseError] when the
// server closes the connection for another reason, an error that wraps [ErrUnreachable]
// when the connection is lost, and the cause of ctx when ctx ends. After an error, Next
// must not be called again.
func (w *TraceWatch) Next(ctx context.Context) ([]byte, error) {
	_, line, err := w.ws.Read(ctx)
	var closed websocket.CloseError
	switch {
	case err == nil:
		return bytes.TrimSuffix(line, []byte("\n")), nil
	case errors.As(err, &closed) && (closed.Code == websocket.StatusNormalClosure || closed.Code == websocket.StatusGoingAway):
		return nil, io.EOF
	case errors.As(err, &closed) && closed.Reason != "":
		return nil, &ResponseError{Text: closed.Reason}
	case errors.As(err, &closed):
		return nil, &ResponseError{Text: fmt.Sprintf("the server has closed the connection with code %d", closed.Code)}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, fmt.Errorf("%s %w any more: %v", w.client.base, ErrUnreachable, err) // not %w: err may be io.EOF, which means the end of the session here
	}
}

// Close closes the WebSocket connection. It always returns nil.
func (w *TraceWatch) Close() error {
	_ = w.ws.CloseNow() // fails if the connection has ended already
	return nil
}
