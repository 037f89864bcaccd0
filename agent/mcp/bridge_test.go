package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/agent/mcp"
	"assay/internal/protocol"
)

func TestAddressCheck(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"localhost:8765", "ws://localhost", "http://", "http://local\x00"} {
		require.ErrorContains(t, mcp.Address{URL: wrong}.Check(), "want one such as http://localhost:8765")
	}
	require.NoError(t, mcp.Address{URL: "https://host/below/"}.Check())
	require.NoError(t, mcp.Address{Socket: "/tmp/x"}.Check())
}

func TestBridgeWhereNothingListens(t *testing.T) {
	t.Parallel()
	left := filepath.Join(t.TempDir(), "left")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	for address, want := range map[mcp.Address]string{
		{Socket: "/no/such/socket"}:  "/no/such/socket: nobody listens there",
		{Socket: left}:               left + ": nobody listens there",
		{URL: "http://127.0.0.1:1"}:  "http://127.0.0.1:1: nobody listens there",
		{URL: "http://127.0.0.1:1/"}: "http://127.0.0.1:1/: nobody listens there",
	} {
		require.EqualError(t, mcp.Bridge(t.Context(), address, strings.NewReader(""), io.Discard), want)
	}
}

// startEchoServer starts a server whose WebSocket sends back every message. "end" closes the
// connection, "break" aborts it.
func startEchoServer(t *testing.T) *httptest.Server {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/below/mcp" || r.URL.RawQuery != "session=a+b":
			http.Error(w, r.URL.String(), http.StatusTeapot)
			return
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"code":"unauthorized","text":"the token is wrong or missing"}`)
			return
		}
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}})
		if err != nil {
			return
		}
		conn := protocol.NewWebSocket(context.Background(), ws, 0)
		defer conn.Close(protocol.CloseGoingAway, "")
		for {
			body, err := conn.Read()
			if err != nil || string(body) == `"end"` {
				return
			}
			if string(body) == `"break"` {
				_ = ws.CloseNow()
				return
			}
			_ = conn.Write(body)
		}
	}))
	t.Cleanup(web.Close)
	return web
}

func TestBridge(t *testing.T) {
	t.Parallel()
	web := startEchoServer(t)
	to := mcp.Address{Socket: "/passed/over", URL: web.URL + "/below/?x#y", Session: "a b", Token: "secret"}
	long := `"` + strings.Repeat("long ", 1<<20) + `"`
	for name, last := range map[string]string{"ended by the server": `"end"`, "broken": `"break"`, "ended by the client": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out, ended := startBridge(t, to)
			lines := bufio.NewReaderSize(out, 8<<20)
			for _, message := range []string{`{"a":1}`, long, `"ü"`} {
				_, err := io.WriteString(in, "\r\n"+message+"\r\n")
				require.NoError(t, err)
				back, err := lines.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, message+"\n", back)
			}
			if last == "" {
				require.NoError(t, in.Close())
				require.NoError(t, <-ended)
				return
			}
			_, err := io.WriteString(in, last+"\n")
			require.NoError(t, err)
			require.EqualError(t, <-ended, "the session has ended: its agent is gone")
			_ = in.Close()
		})
	}
	t.Run("wrong token", func(t *testing.T) {
		t.Parallel()
		other := to
		other.Token = "x"
		require.EqualError(t, mcp.Bridge(t.Context(), other, strings.NewReader(""), io.Discard), "the token is wrong or missing")
	})
	t.Run("wrong session", func(t *testing.T) {
		t.Parallel()
		other := to
		other.Session = ""
		require.EqualError(t, mcp.Bridge(t.Context(), other, strings.NewReader(""), io.Discard), "/below/mcp: 418 I'm a teapot")
	})
	t.Run("a client that does not read", func(t *testing.T) {
		t.Parallel()
		in, out, ended := startBridge(t, to)
		require.NoError(t, out.Close())
		_, err := io.WriteString(in, "{}\n")
		require.NoError(t, err)
		require.ErrorContains(t, <-ended, "write to the client")
		_ = in.Close()
	})
	for _, how := range []string{"leaves", "is interrupted"} {
		t.Run("a client that only writes, and "+how, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			in, client := io.Pipe()
			out := blockingWriter{make(chan bool, 1), make(chan bool)}
			defer close(out.release)
			ended := make(chan error, 1)
			go func() { ended <- mcp.Bridge(ctx, to, in, out) }()
			_, err := io.WriteString(client, "{}\n")
			require.NoError(t, err)
			<-out.writing
			if how == "leaves" {
				require.NoError(t, client.Close())
				require.NoError(t, <-ended)
				return
			}
			cancel(errors.New("SIGTERM"))
			require.ErrorContains(t, <-ended, "SIGTERM")
			require.NoError(t, client.Close())
		})
	}
	t.Run("a client that breaks", func(t *testing.T) {
		t.Parallel()
		err := mcp.Bridge(t.Context(), to, io.MultiReader(strings.NewReader("{}\n"), failingReader{}), io.Discard)
		require.EqualError(t, err, "read the client: broken pipe")
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		in, _ := io.Pipe()
		defer in.Close()
		cancel(errors.New("SIGINT"))
		require.ErrorContains(t, mcp.Bridge(ctx, to, in, io.Discard), "SIGINT")
	})
}

// blockingWriter blocks until it is released, and then fails.
type blockingWriter struct{ writing, release chan bool }

// Write signals that it is called, and blocks.
func (s blockingWriter) Write([]byte) (int, error) {
	s.writing <- true
	<-s.release
	return 0, io.ErrClosedPipe
}

// failingReader always fails.
type failingReader struct{}

// Read returns an error.
func (failingReader) Read([]byte) (int, error) { return 0, errors.New("broken pipe") }
