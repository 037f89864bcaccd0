package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/coder/websocket"

	"assay/internal/protocol"
)

// longestSocket is how long the path of a Unix socket may be everywhere, in
// bytes.
const longestSocket = 103

// Socket is the path at which the agent of a session is served, in a folder that
// only its user can look into. It is 17 bytes longer than the folder's.
func Socket(folder, session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(folder, hex.EncodeToString(sum[:8]))
}

// listen listens at a path. What an agent has left there that was killed makes
// place.
func listen(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > longestSocket {
		return nil, fmt.Errorf("the path of the socket, %s, has more than %d bytes: make the one of the temporary folder shorter", path, longestSocket)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make place for the socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("serve clients: %w", err)
	}
	return listener, nil
}

// stream is a WebSocket as a stream of lines, as the transport over streams takes
// it.
type stream struct {
	conn protocol.Conn
	rest []byte // of the message that is read
}

// subprotocol is what clients of WebSockets ask for.
const subprotocol = "mcp"

func accept(ctx context.Context, w http.ResponseWriter, r *http.Request) (*stream, error) {
	// Whoever passes requests on to this socket has looked at their Origin.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{subprotocol}})
	if err != nil {
		return nil, err
	}
	return &stream{conn: protocol.NewWebSocket(ctx, ws, 0)}, nil
}

// Read reads of a message, and of the next when that is at its end.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		body, err := s.conn.Read()
		if err != nil {
			return 0, err
		}
		s.rest = append(body, '\n')
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Write sends a message.
func (s *stream) Write(p []byte) (int, error) {
	if err := s.conn.Write(bytes.TrimSuffix(p, []byte("\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close closes the connection.
func (s *stream) Close() error { return s.conn.Close(protocol.CloseGoingAway, "the session has ended") }
