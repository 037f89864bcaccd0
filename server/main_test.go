package server_test

import (
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/agent/builtin"
	"assay/internal/model/script"
	"assay/internal/protocol"
	"assay/internal/subprocess"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		os.Exit(play(os.Args[2], os.Args[3:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "reap" {
		if err := subprocess.RunCleanupHelper(os.Stdin); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The race detector would keep each of our subprocesses for a second at exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	chaosFlags()
	goleak.VerifyTestMain(m)
}

// playing is the command that makes the test binary play a subprocess.
func playing(role string, args ...string) []string {
	return append([]string{os.Args[0], "play", role}, args...)
}

// play is the subprocess:
//
//	busy FD                      a kernel that says ready and then nothing, for ever
//	quiet FD                     an agent that is ready, and does nothing
//	puppet SOCKET FD             an agent that the test speaks through
//	builtin LIMIT SCRIPT FD      the built-in agent, whose operations take at most LIMIT
//	chaos-…                      see chaosChild
func play(role string, args []string) int {
	if strings.HasPrefix(role, "chaos-") {
		return chaosChild(role, args)
	}
	socket, err := inherited(args[len(args)-1])
	if err != nil {
		return 100
	}
	switch role {
	case "quiet":
		conn := protocol.NewStream(socket, 0)
		_ = conn.Write([]byte(`{"type":"ready"}`))
		_ = conn.Write([]byte(`{"type":"agent_status","status":"ready"}`))
		for _, err := conn.Read(); err == nil; _, err = conn.Read() { //nolint:revive // it does nothing
		}
		return 0
	case "busy":
		_ = protocol.NewStream(socket, 0).Write([]byte(`{"type":"ready"}`))
		select {}
	case "puppet":
		return passOn(socket, args[0])
	case "builtin":
		return builtinAgent(socket, args[0], args[1])
	default:
		return 101
	}
}

func inherited(number string) (net.Conn, error) {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "server")
	defer file.Close()
	return net.FileConn(file)
}

// passOn is a puppet's process: it passes everything on, in both directions, until either side closes.
func passOn(server net.Conn, path string) int {
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

func builtinAgent(socket net.Conn, limit, file string) int {
	within, err := time.ParseDuration(limit)
	if err != nil {
		return 103
	}
	turns, err := script.ReadFile(file)
	if err != nil {
		return 104
	}
	cfg := builtin.Config{Model: turns.Client(), Limits: builtin.Limits{Action: within}}
	if err := builtin.Run(context.Background(), protocol.NewStream(socket, 0), cfg); err != nil {
		return 105
	}
	return 0
}
