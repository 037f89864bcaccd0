package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServerAndClient starts a test server with this HTTP handler, and returns a client for it
// and the server's URL.
func startServerAndClient(t *testing.T, handler http.HandlerFunc) (*client.Client, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/?session=x#y", "secret")
	require.NoError(t, err)
	return c, server.URL
}

// New refuses addresses that are not HTTP or HTTPS URLs with a host.
func TestNewRefusesBadAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"localhost:8765":   "want one such as http://localhost:8765",
		"ws://localhost":   "want one such as http://localhost:8765",
		"http://":          "want one such as http://localhost:8765",
		"http://local\x00": "the address of a server",
	} {
		_, err := client.New(address, "")
		require.ErrorContains(t, err, want, address)
	}
}

// GetJSON keeps the escapes of the path, and sends the token.
func TestGetJSON(t *testing.T) {
	t.Parallel()
	c, _ := startServerAndClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/api/sessions/a%2Fb" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, r.URL.String(), http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, `{"seq":7}`)
	})
	var session struct{ Seq int64 }
	require.NoError(t, c.GetJSON(t.Context(), "api/sessions/a%2Fb", &session))
	require.EqualValues(t, 7, session.Seq)
}

// A response that is not 200 is an Error: with the code and text of a problem, or else with
// the path and status. A response that is not JSON is another error.
func TestGetJSONRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status     int
		body       string
		code, text string
	}{
		"a problem":   {http.StatusNotFound, `{"code":"not_found","text":"there is no session \"x\""}`, "not_found", `there is no session "x"`},
		"plain text":  {http.StatusForbidden, "this server is for localhost", "", "/api: 403 Forbidden"},
		"other JSON":  {http.StatusInternalServerError, `{"error":"x"}`, "", "/api: 500 Internal Server Error"},
		"no body":     {http.StatusUnauthorized, ``, "", "/api: 401 Unauthorized"},
		"no redirect": {http.StatusNotModified, ``, "", "/api: 304 Not Modified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := startServerAndClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			var answered *client.ResponseError
			require.ErrorAs(t, c.GetJSON(t.Context(), "api", nil), &answered)
			require.Equal(t, client.ResponseError{Status: tc.status, Code: tc.code, Text: tc.text}, *answered)
			require.Equal(t, tc.status == http.StatusInternalServerError, answered.IsServerFault())
		})
	}
	c, url := startServerAndClient(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	require.ErrorContains(t, c.GetJSON(t.Context(), "api", new(int)), "cannot decode the response of "+url+"/api")
}

// unusedAddress returns an address at which no server listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	return "http://" + ln.Addr().String()
}

// If no server listens, or ctx ends, errors wrap ErrUnreachable and say why.
func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	address := unusedAddress(t)
	c, err := client.New(address, "")
	require.NoError(t, err)
	err = c.GetJSON(t.Context(), "api", nil)
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.EqualError(t, err, address+" cannot be reached: no server is listening there")
	_, err = c.WatchTrace(t.Context(), "s", 1)
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.EqualError(t, err, address+" cannot be reached: no server is listening there")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	require.ErrorContains(t, c.GetJSON(ctx, "api", nil), "enough")
}

// WatchTrace sends the session, the number of the first entry and the token. Next
// returns the trace's lines, and then an error that says how the connection ended.
func TestWatchTrace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end     func(ws *websocket.Conn) error
		wantErr func(t *testing.T, err error)
	}{
		"the session ends": {
			func(ws *websocket.Conn) error {
				return ws.Close(websocket.StatusNormalClosure, "the session has ended")
			},
			func(t *testing.T, err error) { t.Helper(); require.ErrorIs(t, err, io.EOF) },
		},
		"the server ends": {
			func(ws *websocket.Conn) error { return ws.Close(websocket.StatusGoingAway, "") },
			func(t *testing.T, err error) { t.Helper(); require.ErrorIs(t, err, io.EOF) },
		},
		"a refusal": {
			func(ws *websocket.Conn) error { return ws.Close(websocket.StatusPolicyViolation, "wrong token") },
			func(t *testing.T, err error) {
				t.Helper()
				require.Equal(t, &client.ResponseError{Text: "wrong token"}, err)
			},
		},
		"no reason": {
			func(ws *websocket.Conn) error { return ws.Close(4009, "") },
			func(t *testing.T, err error) {
				t.Helper()
				require.EqualError(t, err, "the server has closed the connection with code 4009")
			},
		},
		"the connection breaks": {
			func(ws *websocket.Conn) error { return ws.CloseNow() },
			func(t *testing.T, err error) {
				t.Helper()
				require.ErrorIs(t, err, client.ErrUnreachable)
				require.NotErrorIs(t, err, io.EOF, "io.EOF would mean the end of the session")
				require.ErrorContains(t, err, " cannot be reached any more")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := make(chan string, 1)
			c, _ := startServerAndClient(t, func(w http.ResponseWriter, r *http.Request) {
				requests <- r.URL.String() + " " + r.Header.Get("Authorization")
				ws, err := websocket.Accept(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				_ = ws.Write(context.WithoutCancel(r.Context()), websocket.MessageText, []byte("{\"type\":\"trace\"}\n"))
				_ = tc.end(ws) // the client may have disconnected
			})
			watch, err := c.WatchTrace(t.Context(), "my session", 12)
			require.NoError(t, err)
			defer watch.Close()
			require.Equal(t, "/watch?from=12&session=my+session Bearer secret", <-requests)
			line, err := watch.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, `{"type":"trace"}`, string(line))
			_, err = watch.Next(t.Context())
			tc.wantErr(t, err)
		})
	}
}

// If the server refuses a WebSocket before the upgrade, WatchTrace returns an Error
// with the refusal's code and text.
func TestWatchTraceRefused(t *testing.T) {
	t.Parallel()
	c, _ := startServerAndClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":"unauthorized","text":"wrong token"}`)
	})
	_, err := c.WatchTrace(t.Context(), "s", 1)
	var answered *client.ResponseError
	require.ErrorAs(t, err, &answered)
	require.Equal(t, client.ResponseError{Status: http.StatusUnauthorized, Code: "unauthorized", Text: "wrong token"}, *answered)
}

// TraceWatch.Next returns the cause of its context when the context ends.
func TestWatchNextEndsWithContext(t *testing.T) {
	t.Parallel()
	c, _ := startServerAndClient(t, func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			_, _, _ = ws.Read(context.WithoutCancel(r.Context())) // until the client disconnects
			_ = ws.CloseNow()
		}
	})
	watch, err := c.WatchTrace(t.Context(), "s", 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = watch.Next(ctx)
	require.EqualError(t, err, "enough")
	_ = watch.Close()
}
