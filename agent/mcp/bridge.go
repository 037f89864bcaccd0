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

// dialing is how long a connection may take to be made.
const dialing = 10 * time.Second

// parting is how long a client may take, when all is over, to read what is being
// written.
const parting = time.Second

// Address says where tools are served: by the agent at a Unix socket, or by a
// running server for one of its sessions.
type Address struct {
	Socket string

	URL     string // of a server, such as http://localhost:8765; it goes before Socket
	Session string // "" is the server's default
	Token   string // that the server wants to be told
}

// Bridge joins a client, which sends a JSON message a line on in and reads the
// answers on out, to the tools at an address: nothing in the messages is changed.
// It returns nil when in ends. Everything else is an error: nobody there, a
// refusal, the end of the session. The goroutine that reads in may outlive it,
// until in has something to read, and so may the one that writes to out when the
// client does not read.
func Bridge(ctx context.Context, to Address, in io.Reader, out io.Writer) error {
	conn, err := to.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(protocol.CloseNormal, "")
	ended := make(chan error, 2)
	go func() { ended <- upstream(conn, in) }()
	downstream := make(chan struct{})
	go func() {
		defer close(downstream)
		ended <- down(conn, out)
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = conn.Close(protocol.CloseNormal, "") // the reason is known already
	timer := time.NewTimer(parting)
	defer timer.Stop()
	select {
	case <-downstream:
	case <-timer.C:
	}
	return err
}

// upstream sends what a client says.
func upstream(conn protocol.Conn, in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := readLine(lines)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if conn.Write(line) != nil {
				return errGone
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

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > protocol.DefaultMaxFrameBytes {
			return nil, fmt.Errorf("a message of more than %d bytes", int64(protocol.DefaultMaxFrameBytes))
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// errGone says that nobody answers any more.
var errGone = errors.New("the session has ended: its agent is gone")

// down writes what the client is told.
func down(conn protocol.Conn, out io.Writer) error {
	for {
		body, err := conn.Read()
		if err != nil {
			return errGone
		}
		if _, err := out.Write(append(body, '\n')); err != nil {
			return fmt.Errorf("write to the client: %w", err)
		}
	}
}

// dial connects to the WebSocket.
func (a Address) dial(ctx context.Context) (protocol.Conn, error) {
	at, transport, err := a.resolve()
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if a.Token != "" {
		header.Set("Authorization", "Bearer "+a.Token)
	}
	limited, cancel := context.WithTimeoutCause(ctx, dialing, fmt.Errorf("no answer within %v", dialing))
	defer cancel()
	ws, response, err := websocket.Dial(limited, at, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header, Subprotocols: []string{subprotocol},
	})
	switch {
	case err == nil:
		return protocol.NewWebSocket(context.WithoutCancel(ctx), ws, 0), nil
	case response != nil:
		return nil, refusal(response)
	case limited.Err() != nil:
		return nil, fmt.Errorf("%s: %w", a, context.Cause(limited))
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return nil, fmt.Errorf("%s: nobody listens there", a)
	default:
		return nil, fmt.Errorf("%s: %w", a, err)
	}
}

// Check says what is wrong with an address.
func (a Address) Check() error {
	_, _, err := a.resolve()
	return err
}

// String names the address for people.
func (a Address) String() string {
	if a.URL == "" {
		return a.Socket
	}
	return a.URL
}

// resolve is where to connect, and how.
func (a Address) resolve() (string, *http.Transport, error) {
	transport := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
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

// refusal is what a server says that makes no connection.
func refusal(response *http.Response) error {
	var said struct {
		Text string `json:"text"`
	}
	body, _ := io.ReadAll(response.Body) // as much as was kept of it
	if json.Unmarshal(body, &said) == nil && said.Text != "" {
		return errors.New(said.Text)
	}
	return errors.New(strings.TrimSpace(response.Request.URL.Path + ": " + response.Status))
}
