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

// largestLine bounds a line of a trace, in bytes: a frame is escaped in it, and
// has the entry around it.
const largestLine = 8 * protocol.DefaultMaxFrameBytes

// Watch is the trace of a live session as it is made. It is for one goroutine.
// Whoever opened it must Close it.
type Watch struct {
	client *Client
	ws     *websocket.Conn
}

// Watch opens the trace of a session from the entry from on: first the header
// line, then the entries, and on as they come. A refusal is an [*Error], here or
// from the first Next; that nobody answers wraps [ErrUnreachable].
func (c *Client) Watch(ctx context.Context, session string, from int64) (*Watch, error) {
	at := c.base.JoinPath("watch")
	at.RawQuery = url.Values{"session": {session}, "from": {strconv.FormatInt(from, 10)}}.Encode()
	dial, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("it did not answer within %v", answerWithin))
	defer cancel()
	ws, response, err := websocket.Dial(dial, at.String(), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: c.header()})
	switch {
	case err == nil:
	case response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		body, _ := io.ReadAll(io.LimitReader(response.Body, largestAnswer)) // as much as was kept of it
		return nil, problem(response, body)
	default:
		return nil, c.unreachable(dial, err)
	}
	ws.SetReadLimit(largestLine)
	return &Watch{client: c, ws: ws}, nil
}

// Next returns the next line, without a newline. When the session has ended, or
// the server ends, it returns io.EOF; when the server closes for another reason, an [*Error] that
// says so; when the connection is lost, what wraps [ErrUnreachable]. When ctx
// ends it returns its cause, and the watch is over.
func (w *Watch) Next(ctx context.Context) ([]byte, error) {
	_, line, err := w.ws.Read(ctx)
	var closed websocket.CloseError
	switch {
	case err == nil:
		return bytes.TrimSuffix(line, []byte("\n")), nil
	case errors.As(err, &closed) && (closed.Code == websocket.StatusNormalClosure || closed.Code == websocket.StatusGoingAway):
		return nil, io.EOF
	case errors.As(err, &closed) && closed.Reason != "":
		return nil, &Error{Text: closed.Reason}
	case errors.As(err, &closed):
		return nil, &Error{Text: fmt.Sprintf("the server has closed the connection with code %d", closed.Code)}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, fmt.Errorf("%s %w any more: %v", w.client.base, ErrUnreachable, err) // it may be io.EOF, which means something else here
	}
}

// Close ends the watch. It returns nil.
func (w *Watch) Close() error {
	_ = w.ws.CloseNow() // it may have ended already
	return nil
}
