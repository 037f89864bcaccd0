package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connPairs returns, by name of each kind of Conn, a function that makes the two connected
// ends.
func connPairs() map[string]func(*testing.T) (protocol.Conn, protocol.Conn) {
	return map[string]func(*testing.T) (protocol.Conn, protocol.Conn){
		"unix socket": unixSocketPair,
		"websocket":   webSocketPair,
		"pipe":        func(*testing.T) (protocol.Conn, protocol.Conn) { return protocol.Pipe() },
	}
}

// unixSocketPair returns the two ends of a NewStream connection over a pair of Unix sockets.
func unixSocketPair(t *testing.T) (a, b protocol.Conn) {
	t.Helper()
	left, right := socketpair(t)
	return protocol.NewStream(left, 0), protocol.NewStream(right, 0)
}

// socketpair returns a pair of connected Unix sockets as net.Conns.
func socketpair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	ends := make([]net.Conn, 2)
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "socketpair")
		ends[i], err = net.FileConn(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return ends[0], ends[1]
}

// webSocketPair returns the two ends of a NewWebSocket connection.
func webSocketPair(t *testing.T) (client, server protocol.Conn) {
	t.Helper()
	accepted := make(chan protocol.Conn, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // the client's dial fails and says why
		}
		accepted <- protocol.NewWebSocket(context.Background(), ws, 1<<20)
	}))
	t.Cleanup(web.Close)
	ws, _, err := websocket.Dial(t.Context(), web.URL, nil)
	require.NoError(t, err)
	return protocol.NewWebSocket(context.Background(), ws, 1<<20), <-accepted
}

func TestConnDeliversMessages(t *testing.T) {
	t.Parallel()
	for name, pair := range connPairs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			sizes := []int{1, 2, 100, 16 << 10, 16<<10 + 1, 700_000}
			sent := make(chan error, 1)
			go func() {
				for _, n := range sizes {
					if err := a.Write(jsonOfSize(n)); err != nil {
						sent <- err
						return
					}
				}
				sent <- nil
			}()
			for _, n := range sizes {
				got, err := b.Read()
				require.NoError(t, err)
				require.True(t, bytes.Equal(jsonOfSize(n), got), "a body of %d bytes", n)
			}
			require.NoError(t, <-sent)
			closeBothEnds(t, a, b)
		})
	}
}

func TestCloseIsNotAConnError(t *testing.T) {
	t.Parallel()
	for name, pair := range connPairs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			closing := make(chan error, 1)
			go func() { closing <- a.Close(protocol.CloseNormal, "done") }()
			_, err := b.Read()
			require.ErrorIs(t, err, io.EOF, "the peer's close is an end, no fault")
			require.NoError(t, <-closing)
			_, err = a.Read()
			require.ErrorIs(t, err, protocol.ErrClosed)
			require.ErrorIs(t, a.Write([]byte("{}")), protocol.ErrClosed)
			closeBothEnds(t, a, b)
		})
	}
}

func TestCloseUnblocksReadAndWrite(t *testing.T) {
	t.Parallel()
	for name, pair := range connPairs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			reading, writing := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := a.Read()
				reading <- err
			}()
			go func() { // nobody reads b, so Write blocks at some point
				var err error
				for err == nil {
					err = a.Write(jsonOfSize(200_000))
				}
				writing <- err
			}()
			closeBothEnds(t, a, b)
			for _, done := range []chan error{reading, writing} {
				err := <-done
				var fault *protocol.ConnError
				require.True(t, errors.Is(err, protocol.ErrClosed) || errors.Is(err, io.EOF) || errors.As(err, &fault), "%v", err)
			}
		})
	}
}

func TestWebSocketRefusesBinaryFrames(t *testing.T) {
	t.Parallel()
	refused := make(chan error, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			refused <- err
			return
		}
		conn := protocol.NewWebSocket(context.Background(), ws, 0)
		_, err = conn.Read()
		refused <- err
		_ = conn.Close(protocol.CloseNormal, "")
	}))
	t.Cleanup(web.Close)
	ws, _, err := websocket.Dial(t.Context(), web.URL, nil)
	require.NoError(t, err)
	require.NoError(t, ws.Write(t.Context(), websocket.MessageBinary, []byte("{}")))
	_, _, err = ws.Read(t.Context())
	require.Equal(t, websocket.StatusUnsupportedData, websocket.CloseStatus(err))
	require.ErrorContains(t, <-refused, "text frames only")
}

func TestWebSocketWritesRawFramesAsJSON(t *testing.T) {
	t.Parallel()
	a, b := webSocketPair(t)
	raw := protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stderr, CellID: "c1", Text: []byte("tiefer\n")})
	sent := make(chan error, 1)
	go func() { sent <- a.Write(raw) }()
	got, err := b.Read()
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.JSONEq(t, `{"type":"kernel_stdio","active_cell":"c1","stream":"stderr","data":"tiefer\n"}`, string(got))
	closeBothEnds(t, a, b)
}

// jsonOfSize returns a valid JSON object of n bytes, or n braces if n is too small for one.
func jsonOfSize(n int) []byte {
	if n < 8 {
		return bytes.Repeat([]byte("{"), n)
	}
	return append(append([]byte(`{"a":"`), bytes.Repeat([]byte("x"), n-8)...), `"}`...)
}

// closeBothEnds closes both ends of a connection at the same time, because each end of a WebSocket
// waits for the other one.
func closeBothEnds(t *testing.T, a, b protocol.Conn) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- a.Close(protocol.CloseNormal, "") }()
	require.NoError(t, b.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-done)
}
