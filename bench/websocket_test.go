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

// The first messages of consoles.
const (
	runHello    = `{"token":"` + server.EvalSandboxToken + `","notebook_id":"n"}`
	holderHello = `{"type":"init","session_id":1}`
	viewHello   = `{"type":"init","session_id":1,"role":"view"}`
)

// dial connects a console to an address without scheme.
func dial(t *testing.T, at string) protocol.Conn {
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

// console connects a console to a session, at "agent" or "run".
func (h *house) console(t *testing.T, session int, endpoint, hello string) protocol.Conn {
	t.Helper()
	conn := dial(t, fmt.Sprintf("%s/%s?session=%d", h.at, endpoint, session))
	require.NoError(t, conn.Write([]byte(hello)))
	return conn
}

// webSockets is a server that gives each WebSocket, with the number of its
// session, to serve, which returns when the other end has gone.
func webSockets(t *testing.T, serve func(conn protocol.Conn, session int)) (at string) {
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
		serve(library{socket}, session)
		_ = socket.CloseNow()
	})}
	serving.Go(func() { _ = web.Serve(ln) })
	t.Cleanup(func() {
		_ = web.Close()
		serving.Wait()
	})
	return ln.Addr().String()
}

// library is a WebSocket as the library makes it.
type library struct{ *websocket.Conn }

func (l library) Read() ([]byte, error) {
	_, body, err := l.Conn.Read(context.Background())
	return body, err
}

func (l library) Write(body []byte) error {
	return l.Conn.Write(context.Background(), websocket.MessageText, body)
}

func (l library) Close(protocol.CloseCode, string) error { return l.CloseNow() }

// quiet is a console that is little more than its socket: it says its first
// message, and reads only when it is told to.
type quiet struct{ net.Conn }

// connect makes a console that asks for path.
func connect(t *testing.T, at, path, hello string) quiet {
	t.Helper()
	socket, err := net.Dial("tcp", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	_, err = fmt.Fprintf(socket, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path, at)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(socket), nil) // nothing follows it yet
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	if hello != "" {
		masked := []byte{0x81, 0x80 | byte(len(hello)), 0, 0, 0, 0} // text, with a mask that changes nothing
		_, err = socket.Write(append(masked, hello...))
		require.NoError(t, err)
	}
	return quiet{socket}
}

// next reads the next message.
func (q quiet) next() ([]byte, error) {
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
