package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"assay/internal/protocol"
)

const (
	// dialTimeout is how long a connection may take to be established.
	dialTimeout = 10 * time.Second

	// drainTimeout is how long a client may take, at the end, to read the message that is
	// being written.
	drainTimeout = time.Second
)

// errAgentGone is the error of [Bridge] when the connection to the agent ends before its
// input does.
var errAgentGone = errors.New("the session has ended: its agent is gone")

// Address says where tools are served: on the Unix socket of an agent, or by a running server
// for one of its sessions.
type Address struct {
	Socket string // path of the Unix socket; ignored if URL is set

	URL     string // of a server, such as http://localhost:8765
	Session string // id of the session; "" means the server's default
	Token   string // bearer token for the server; "" sends none
}

// Bridge joins an MCP client to the tools at an address. The client sends one JSON message per
// line on in and reads one per line from out; messages are passed on unchanged. Bridge returns
// nil when in ends. All else is an error: nothing listens, the server refuses, the session
// ends, ctx ends. Its reader of in may outlive it until in has data or ends, and its writer to
// out until the client reads.
func Bridge(ctx context.Context, to Address, in io.Reader, out io.Writer) error {
	conn, err := to.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(protocol.CloseNormal, "")
	ended := make(chan error, 2)
	go func() { ended <- forwardInput(conn, in) }()
	outputEnded := make(chan struct{})
	go func() {
		defer close(outputEnded)
		ended <- forwardOutput(conn, out)
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = conn.Close(protocol.CloseNormal, "") // why it ends is known already
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-outputEnded:
	case <-timer.C:
	}
	return err
}

// forwardInput sends the lines of the client as messages until in ends.
func forwardInput(conn protocol.Conn, in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := protocol.ReadLine(lines, protocol.DefaultMaxFrameBytes)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if conn.Write(line) != nil {
				return errAgentGone
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the client: %w", err)
		}
	}
}

// forwardOutput writes the messages to the client as lines until the connection ends.
func forwardOutput(conn protocol.Conn, out io.Writer) error {
	for {
		body, err := conn.Read()
		if err != nil {
			return errAgentGone
		}
		if _, err := out.Write(append(body, '\n')); err != nil {
			return fmt.Errorf("write to the client: %w", err)
		}
	}
}

// dial opens a WebSocket to the tools at the address, within 10 s. The error says if nothing
// listens there or the server refuses.
func (a Address) dial(ctx context.Context) (protocol.Conn, error) {
	endpoint, transport, err := a.resolve()
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if a.Token != "" {
		header.Set("Authorization", "Bearer "+a.Token)
	}
	dialCtx, cancel := context.WithTimeoutCause(ctx, dialTimeout, fmt.Errorf("no answer within %v", dialTimeout))
	defer cancel()
	ws, response, err := websocket.Dial(dialCtx, endpoint, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header, Subprotocols: []string{webSocketSubprotocol},
	})
	switch {
	case err == nil:
		return protocol.NewWebSocket(context.WithoutCancel(ctx), ws, 0), nil
	case response != nil:
		return nil, responseError(response)
	case dialCtx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", a, context.Cause(dialCtx))
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return nil, fmt.Errorf("%s: nobody listens there", a)
	default:
		return nil, fmt.Errorf("%s: %w", a, err)
	}
}

// Check returns an error if the URL is not that of a server. It does not connect.
func (a Address) Check() error {
	_, _, err := a.resolve()
	return err
}

// String returns the URL or the path of the socket.
func (a Address) String() string {
	if a.URL == "" {
		return a.Socket
	}
	return a.URL
}

// resolve returns the URL to connect to and the transport that reaches it.
func (a Address) resolve() (endpoint string, transport *http.Transport, err error) {
	transport = &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	if a.URL == "" {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", a.Socket)
		}
		return "http://localhost/", transport, nil
	}
	base, err := url.Parse(a.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return "", nil, fmt.Errorf("%q is not the address of a server: want one such as http://localhost:8765", a.URL)
	}
	at := base.JoinPath("mcp")
	at.RawQuery, at.Fragment = "", ""
	if a.Session != "" {
		at.RawQuery = url.Values{"session": {a.Session}}.Encode()
	}
	return at.String(), transport, nil
}

// responseError returns the error that a response describes: its field text if it is JSON,
// otherwise path and status.
func responseError(response *http.Response) error {
	var refusal struct {
		Text string `json:"text"`
	}
	body, _ := io.ReadAll(response.Body) // a partial body is good enough
	if json.Unmarshal(body, &refusal) == nil && refusal.Text != "" {
		return errors.New(refusal.Text)
	}
	return errors.New(strings.TrimSpace(response.Request.URL.Path + ": " + response.Status))
}
