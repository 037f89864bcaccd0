//go:build bench

package bench_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/server"
)

// First messages of consoles, by role.
const (
	runHello    = `{"token":"` + server.EvalSandboxToken + `","notebook_id":"n"}`
	holderHello = `{"type":"init","session_id":1}`
	viewHello   = `{"type":"init","session_id":1,"role":"view"}`
)

// dialConsole opens a WebSocket to an address without a scheme, closed when the test
// ends.
func dialConsole(t *testing.T, at string) protocol.Conn {
	t.Helper()
	socket, answer, err := websocket.Dial(t.Context(), "ws://"+at, nil)
	require.NoError(t, err)
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	conn := protocol.NewWebSocket(context.Background(), socket, 0)
	t.Cleanup(func() { _ = conn.Close(protocol.CloseNormal, "") })
	return conn
}

// connectConsole connects a console to a session at an endpoint, "agent" or "run", and
// sends its first message.
func (h *liveServer) connectConsole(t *testing.T, session int, endpoint, hello string) protocol.Conn {
	t.Helper()
	conn := dialConsole(t, fmt.Sprintf("%s/%s?session=%d", h.address, endpoint, session))
	require.NoError(t, conn.Write([]byte(hello)))
	return conn
}

// serveWebSockets starts a server until the test ends and returns its address. It calls
// serve for each WebSocket, with the number of its session; serve must return when the
// other end has closed.
func serveWebSockets(t *testing.T, serve func(conn protocol.Conn, session int)) (at string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		session, _ := strconv.Atoi(r.URL.Query().Get("session"))
		socket.SetReadLimit(protocol.DefaultMaxFrameBytes)
		serve(libraryWebSocket{socket}, session)
		_ = socket.CloseNow()
	})}
	serving.Go(func() { _ = web.Serve(ln) })
	t.Cleanup(func() {
		_ = web.Close()
		serving.Wait()
	})
	return ln.Addr().String()
}

// libraryWebSocket adapts the library's WebSocket to protocol.Conn, without Assay's own
// queueing.
type libraryWebSocket struct{ *websocket.Conn }

// Read reads the next message.
func (l libraryWebSocket) Read() ([]byte, error) {
	_, body, err := l.Conn.Read(context.Background())
	return body, err
}

// Write writes a text message.
func (l libraryWebSocket) Write(body []byte) error {
	return l.Conn.Write(context.Background(), websocket.MessageText, body)
}

// Close closes the connection without a closing handshake.
func (l libraryWebSocket) Close(protocol.CloseCode, string) error { return l.CloseNow() }

// passiveConsole is a console with as little memory as possible: it sends its first
// message and then reads only when readMessage is called.
type passiveConsole struct{ net.Conn }

// connectPassiveConsole opens a WebSocket to path and sends hello, at most 125 bytes,
// unless it is empty.
func connectPassiveConsole(t *testing.T, at, path, hello string) passiveConsole {
	t.Helper()
	socket, err := net.Dial("tcp", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	_, err = fmt.Fprintf(socket, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path, at)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(socket), nil) // no frame follows it before hello
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	if hello != "" {
		masked := []byte{0x81, 0x80 | byte(len(hello)), 0, 0, 0, 0} // a text frame with a mask of zeros
		_, err = socket.Write(append(masked, hello...))
		require.NoError(t, err)
	}
	return passiveConsole{socket}
}

// readMessage reads the next unfragmented message.
func (q passiveConsole) readMessage() ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(q, head[:2]); err != nil {
		return nil, err
	}
	size := int64(head[1])
	switch size {
	case 126:
		_, err := io.ReadFull(q, head[6:])
		if err != nil {
			return nil, err
		}
		size = int64(binary.BigEndian.Uint16(head[6:]))
	case 127:
		_, err := io.ReadFull(q, head[:])
		if err != nil {
			return nil, err
		}
		size = int64(binary.BigEndian.Uint64(head[:]))
	}
	body := make([]byte, size)
	_, err := io.ReadFull(q, body)
	return body, err
}
