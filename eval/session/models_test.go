package session_test

import (
	"encoding/json"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// silentModels is a [agent.ModelServer] that answers nothing.
type silentModels struct{ address chan string }

func (m silentModels) Environ(environ []string, address string) []string {
	m.address <- address
	return environ
}

func (silentModels) Serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, conn) // the first Read refuses a peer
		_ = conn.Close()
	}
}

// Code in a kernel with a network that connects to the models of its agent is refused, and the trace counts it as tamper.
func TestKernelIsRefusedByModels(t *testing.T) {
	t.Parallel()
	sup, models := newSupervisor(t), silentModels{make(chan string, 1)}
	s := startSession(t, sup, session.Config{
		Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries"), ModelServer: models},
	})
	_, port, err := net.SplitHostPort(<-models.address)
	require.NoError(t, err)
	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: "import socket\nwith socket.create_connection(('127.0.0.1', " + port + ")) as models:\n    models.sendall(b'?')\n    models.recv(1)"}))
	entry := s.awaitEntry(t, "the refusal", func(e *trace.Entry) bool { return e.Type == session.TypeForbidden })
	require.Equal(t, trace.NoteTamper, entry.Note)
	var forbidden session.Forbidden
	require.NoError(t, json.Unmarshal(entry.Body, &forbidden))
	require.Equal(t, session.Forbidden{Type: session.TypeForbidden, Child: "kernel", What: "a connection to another agent's models"}, forbidden)
}
