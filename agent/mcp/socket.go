package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/coder/websocket"

	"assay/internal/peers"
	"assay/internal/protocol"
)

// maxSocketPathBytes is the longest path of a Unix socket that all systems accept.
const maxSocketPathBytes = 103

// webSocketSubprotocol is the subprotocol that MCP clients ask for.
const webSocketSubprotocol = "mcp"

// SocketPath returns the path of the Unix socket of the agent with this private folder.
func SocketPath(agentDir string) string { return filepath.Join(agentDir, "mcp") }

// listenUnix listens on a Unix socket. It replaces the socket of an agent that was killed.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > maxSocketPathBytes {
		return nil, fmt.Errorf("the path of the socket, %s, has more than %d bytes: make the one of the temporary folder shorter", path, maxSocketPathBytes)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("serve clients: %w", err)
	}
	return listener, nil
}

// guard returns a listener that refuses kernels and the agents of other sessions, which could run
// cells and submit in the name of this agent.
func guard(listener net.Listener, log *slog.Logger) net.Listener {
	return peers.ForChild().Listen(listener, func(_ peers.Peer, why error) {
		log.Warn("a connection was refused", "error", why)
	})
}

// webSocketStream is a WebSocket as a stream of lines, which the SDK's transport over streams
// expects: each message is a line.
type webSocketStream struct {
	conn    protocol.Conn
	pending []byte // rest of the message that is being read
}

// acceptWebSocket upgrades a request. The connection ends with ctx.
func acceptWebSocket(ctx context.Context, w http.ResponseWriter, r *http.Request) (*webSocketStream, error) {
	// The Origin is checked by the server that forwards requests to this socket.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{webSocketSubprotocol}})
	if err != nil {
		return nil, err
	}
	return &webSocketStream{conn: protocol.NewWebSocket(ctx, ws, 0)}, nil
}

// Read reads from the current message, or from the next one at its end.
func (s *webSocketStream) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		body, err := s.conn.Read()
		if err != nil {
			return 0, err
		}
		s.pending = append(body, '\n')
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// Write sends p, a line, as one message.
func (s *webSocketStream) Write(p []byte) (int, error) {
	if err := s.conn.Write(bytes.TrimSuffix(p, []byte("\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close closes the connection.
func (s *webSocketStream) Close() error {
	return s.conn.Close(protocol.CloseGoingAway, "the session has ended")
}
