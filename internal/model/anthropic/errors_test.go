package anthropic_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/anthropic"
	"assay/internal/model/endpoint"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
)

// Each way in which a connection can fail gives a transient error; a redirect gives an
// error that is not transient.
func TestLostConnectionsAreTransientErrors(t *testing.T) {
	t.Parallel()
	large := modeltest.UserTextMessage(strings.Repeat("some text ", 1<<20))
	reset := func(read int) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = io.ReadFull(conn, make([]byte, read))
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // sends a reset instead of a regular end
			}
		}
	}
	cases := map[string]struct {
		serve   func(net.Conn)
		message model.Message
		want    error
	}{
		"reset at once":          {reset(0), modeltest.UserTextMessage("go"), model.ErrUnreachable},
		"reset while sending":    {reset(4096), large, model.ErrUnreachable},
		"reset before the head":  {reset(200), modeltest.UserTextMessage("go"), model.ErrUnreachable},
		"end before the head":    {func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1<<16)) }, modeltest.UserTextMessage("go"), model.ErrUnreachable},
		"end in the head":        {connHandlerSendingText("HTTP/1.1 200 OK\r\nContent-Ty"), modeltest.UserTextMessage("go"), model.ErrUnreachable},
		"no HTTP":                {connHandlerSendingText("SSH-2.0-OpenSSH_9.2\r\n\r\n"), modeltest.UserTextMessage("go"), model.ErrUnreachable},
		"end after the head":     {connHandlerSendingText("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\n"), modeltest.UserTextMessage("go"), model.ErrCutStream},
		"end in a chunk":         {connHandlerSendingText("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nevent: ping\n"), modeltest.UserTextMessage("go"), model.ErrCutStream},
		"no chunk":               {connHandlerSendingText("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), modeltest.UserTextMessage("go"), model.ErrCutStream},
		"no content, no end":     {connHandlerSendingText("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"), modeltest.UserTextMessage("go"), model.ErrCutStream},
		"end of something else":  {connHandlerSendingText("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<html>"), modeltest.UserTextMessage("go"), model.ErrCutStream},
		"redirected to nowhere":  {connHandlerSendingText("HTTP/1.1 307 Go on\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), modeltest.UserTextMessage("go"), nil},
		"a redirect to no place": {connHandlerSendingText("HTTP/1.1 307 Go on\r\nContent-Length: 0\r\n\r\n"), modeltest.UserTextMessage("go"), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := open.Open("anthropic/x", open.Options{APIKey: "k", BaseURL: "http://" + serveTCPConnections(t, c.serve)})
			require.NoError(t, err)
			_, err = modeltest.Ask(t.Context(), client, c.message)
			require.ErrorContains(t, err, "anthropic: ")
			if c.want == nil {
				require.False(t, model.IsTransient(err), "%v", err)
				return
			}
			require.ErrorIs(t, err, c.want)
			require.True(t, model.IsTransient(err), "%v", err)
		})
	}
}

// connHandlerSendingText returns a handler for raw connections that reads once, sends text and
// returns.
func connHandlerSendingText(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1<<16))
		_, _ = io.WriteString(conn, text)
	}
}

// serveTCPConnections listens on a local TCP port, passes each connection to serve, one
// after the other, until the test ends, and returns the listener's address.
func serveTCPConnections(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return ln.Addr().String()
}

func TestNoSuchHost(t *testing.T) {
	t.Parallel()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "model", IsNotFound: true}
	}}
	client, err := anthropic.NewWithTransport(transport, endpoint.Config{BaseURL: "http://model"})
	require.NoError(t, err)
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.EqualError(t, err, `anthropic: the API cannot be reached: Post "http://model/v1/messages": lookup model: no such host`)
	require.ErrorIs(t, err, model.ErrUnreachable)
}

func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(mockapi.New(modeltest.ParseScript(t, `{"content":"a"}`), nil))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := open.Open("anthropic/x", open.Options{APIKey: "k", BaseURL: server.URL})
	require.NoError(t, err)
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.ErrorIs(t, err, model.ErrUnreachable)
	require.ErrorContains(t, err, "certificate")
}

// An answer that is not a stream of events is an error that is not transient.
func TestResponseThatIsNoEventStream(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"text/html; charset=utf-8": "anthropic: the answer is no stream of events but 200 text/html: <html> <p>Hello",
		"application/json":         "anthropic: the answer is no stream of events but 200 application/json: <html> <p>Hello",
		"nonsense/":                "anthropic: the answer is no stream of events but 200 of no type: <html> <p>Hello",
	} {
		client := modeltest.AnthropicClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, "<html>\n <p>Hello"+strings.Repeat(" ", 1<<16))
		}))
		_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.EqualError(t, err, want)
		require.False(t, model.IsTransient(err))
	}
}

// The APIError of an error response whose body breaks off keeps the HTTP status.
func TestErrorResponseWithCutBody(t *testing.T) {
	t.Parallel()
	for status, transient := range map[string]bool{"401 No": false, "529 Busy": true} {
		client, err := open.Open("anthropic/x", open.Options{APIKey: "k", BaseURL: "http://" +
			serveTCPConnections(t, connHandlerSendingText("HTTP/1.1 "+status+"\r\nRetry-After: 3\r\nContent-Length: 99\r\n\r\n{\"type"))})
		require.NoError(t, err)
		_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.ErrorContains(t, err, "anthropic: "+status[:3]+" ")
		require.ErrorContains(t, err, "its text broke off: ")
		require.Equal(t, transient, model.IsTransient(err))
	}
}

// A response that never ends is an error: not transient if it consists of events,
// transient if it does not.
func TestEndlessResponsesAreErrors(t *testing.T) {
	t.Parallel()
	for text, transient := range map[string]bool{
		"event: ping\ndata: " + strings.Repeat("x", 1<<18) + "\n\n": false,
		strings.Repeat("x", 1<<18):                                  true,
	} {
		client, err := anthropic.NewWithTransport(roundTripFunc(func(*http.Request) (*http.Response, error) {
			return newEventStreamResponse(&repeatingTextReader{text: text}), nil
		}), endpoint.Config{})
		require.NoError(t, err)
		_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.ErrorContains(t, err, "anthropic: ")
		require.Equal(t, transient, model.IsTransient(err), "%v", err)
	}
}

// repeatingTextReader repeats the same text for ever.
type repeatingTextReader struct {
	text string
	at   int
}

func (e *repeatingTextReader) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// New refuses a key and a base URL with which every request would fail.
func TestNewRejectsUnsendableConfig(t *testing.T) {
	t.Parallel()
	const base = "its base URL must begin with http:// or https:// and name a host"
	for _, c := range []struct{ key, url, want string }{
		{"k\n", "", "its API key has a line break or another control character"},
		{"k", "model:8080", base},
		{"k", "http://", base},
		{"k", "ftp://me:secret@x", base},
		{"k", "http://x:y/", base},
	} {
		_, err := open.Open("anthropic/x", open.Options{APIKey: c.key, BaseURL: c.url})
		require.EqualError(t, err, "the model anthropic/x: "+c.want)
	}
}
