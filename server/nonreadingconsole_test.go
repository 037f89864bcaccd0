package server_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nonReadingConsole is a console whose connection nothing reads, and which has small
// buffers: the server's writes block soon.
type nonReadingConsole struct{ net.Conn }

// dialNonReadingConsole connects to /agent and sends messages, each of less than 126
// bytes (the limit of the short frames that it writes).
func dialNonReadingConsole(t *testing.T, url string, messages ...string) nonReadingConsole {
	t.Helper()
	address := strings.TrimPrefix(url, "ws://")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	tcp, ok := conn.(*net.TCPConn)
	require.True(t, ok)
	require.NoError(t, tcp.SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET /agent HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		address, base64.StdEncoding.EncodeToString(make([]byte, 16)))
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	for _, message := range messages {
		frame := binary.BigEndian.AppendUint32([]byte{0x81, 0x80 | byte(len(message))}, 0) // with a mask of zeros
		_, err := conn.Write(append(frame, message...))
		require.NoError(t, err)
	}
	return nonReadingConsole{conn}
}

// awaitFirstByte waits until the server has begun to write a message.
func (d nonReadingConsole) awaitFirstByte(t *testing.T) {
	t.Helper()
	_, err := d.Read(make([]byte, 1))
	require.NoError(t, err)
}
