//go:build bench

package bench_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// debianPython is the interpreter that Debian's packages python3-websockets and
// python3-ipykernel belong to.
const debianPython = "/usr/bin/python3"

// asyncioServerRows holds the columns p50, p99, ratio and spread of the asyncio server's
// get_context: with an idle kernel, and with one request to the kernel pending.
type asyncioServerRows struct{ idleRow, busyRow []string }

// measureAsyncioServer measures get_context of asyncio_server.py. Without the websockets
// package the columns say "not measured".
func measureAsyncioServer(t *testing.T) asyncioServerRows {
	t.Helper()
	server, missing := startAsyncioServer(t)
	if missing != "" {
		return asyncioServerRows{[]string{missing, "", "", ""}, []string{missing, "", "", ""}}
	}
	l := &requester{conn: dialConsole(t, server.address), frame: newContextFrame()}
	all := roundTripRound(t, []*requester{l}, 200)
	all() // warm-up
	idle := all()
	t.Logf("asyncio server: %s; now waiting %v for its kernel", formatDuration(median(idle)), slowKernelDelay)
	require.NoError(t, l.conn.Write([]byte(`{"type":"agent_action","action":"request_globals_summary","tx_id":"busy"}`)))
	behind := roundTripRound(t, []*requester{l}, 1)()[0]
	t.Logf("asyncio server with a busy kernel: %s", formatDuration(behind))
	return asyncioServerRows{
		idleRow: []string{formatDuration(median(idle)), formatDuration(percentile(idle, 99)), "", ""},
		busyRow: []string{formatDuration(behind), "one sample", fmt.Sprintf("%.0f x", float64(behind)/float64(median(idle))), ""},
	}
}

// asyncioServer is a running asyncio_server.py.
type asyncioServer struct {
	address         string // host:port
	agentSocketPath string // Unix socket that agents connect to
	pid             int
}

// startAsyncioServer starts asyncio_server.py until the test ends. If the interpreter has
// no websockets package it returns the reason in missing instead.
func startAsyncioServer(t *testing.T) (server asyncioServer, missing string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), debianPython, "-c", "import websockets").CombinedOutput(); err != nil {
		t.Logf("asyncio server not measured: %v: %s", err, out)
		return asyncioServer{}, "not measured: " + debianPython + " has no websockets"
	}
	server.agentSocketPath = filepath.Join(t.TempDir(), "agents.sock")
	cmd := exec.CommandContext(t.Context(), debianPython, "asyncio_server.py", "serve", fmt.Sprint(slowKernelDelay.Seconds()), server.agentSocketPath)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // ends the process
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	server.address, server.pid = "127.0.0.1:"+strings.TrimSpace(port), cmd.Process.Pid
	return server, ""
}

// cpuTime returns the CPU time that the server has used, in steps of 10 ms, or 0 if it
// cannot be read.
func (b asyncioServer) cpuTime() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// connectPeers connects a console and an agent to a session of the server.
func (b asyncioServer) connectPeers(t *testing.T, session int) peerConns {
	t.Helper()
	socket, err := net.Dial("unix", b.agentSocketPath)
	require.NoError(t, err)
	agent := protocol.NewStream(socket, 0)
	t.Cleanup(func() { _ = agent.Close(protocol.CloseNormal, "") })
	require.NoError(t, agent.Write(fmt.Appendf(nil, `{"type":"ready","session":"%d"}`, session)))
	console := dialConsole(t, fmt.Sprintf("%s/agent?session=%d", b.address, session))
	require.NoError(t, console.Write([]byte(holderHello)))
	_, err = console.Read()
	require.NoError(t, err)
	return peerConns{console, agent}
}
