package server_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"assay/agent/builtin"
	"assay/agent/builtin/tools"
	"assay/internal/model/script"
	"assay/internal/protocol"
	"assay/server/servertest"
)

func TestMain(m *testing.M) { servertest.RunTests(m, playRole) }

// playRole plays the role of a subprocess and returns its exit status:
//
//	busy FD                      a kernel that is ready, and then never reads or answers
//	quiet FD                     an agent that is ready, and then does nothing
//	relay SOCKET FD              the process of a fakeAgent
//	builtin TIMEOUT SCRIPT FD    the built-in agent, whose actions take at most TIMEOUT
func playRole(role string, args []string) int {
	socket, err := servertest.ConnectSocket(args[len(args)-1])
	if err != nil {
		return 100
	}
	switch role {
	case "quiet":
		conn := protocol.NewStream(socket, 0)
		_ = conn.Write([]byte(`{"type":"ready"}`))
		_ = conn.Write([]byte(`{"type":"agent_status","status":"ready"}`))
		for _, err := conn.Read(); err == nil; _, err = conn.Read() { //nolint:revive // it only reads
		}
		return 0
	case "busy":
		_ = protocol.NewStream(socket, 0).Write([]byte(`{"type":"ready"}`))
		select {}
	case "relay":
		return playRelay(socket, args[0])
	case "builtin":
		return playBuiltinAgent(socket, args[0], args[1])
	default:
		return 101
	}
}

// playRelay copies everything between the server and the test, which listens at path,
// until either side closes.
func playRelay(server net.Conn, path string) int {
	test, err := net.Dial("unix", path)
	if err != nil {
		return 102
	}
	go func() {
		_, _ = io.Copy(test, server)
		_ = test.Close()
	}()
	_, _ = io.Copy(server, test)
	return 0
}

func playBuiltinAgent(socket net.Conn, timeout, path string) int {
	actionTimeout, err := time.ParseDuration(timeout)
	if err != nil {
		return 103
	}
	turns, err := script.ReadFile(path)
	if err != nil {
		return 104
	}
	cfg := builtin.Config{Model: turns.Client(), Limits: builtin.Limits{ActionTimeout: actionTimeout}}
	if err := tools.Run(context.Background(), protocol.NewStream(socket, 0), tools.Config{Agent: cfg}); err != nil {
		return 105
	}
	return 0
}
