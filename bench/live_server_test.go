//go:build bench

package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
	"assay/server"
)

// liveServer is Assay's server as `assay serve` sets it up, in this process and on its
// own port, with live sessions. Their traces go to files and the log goes to the null
// device.
type liveServer struct {
	program  *assayProgram
	server   *server.Server
	address  string // host:port
	traceDir string // folder of the trace files

	mu       sync.Mutex
	sessions map[string]*liveSession
}

// liveSession is a session whose kernel and agent are processes that send ready and then
// sleep. childSocket.openConn lets the benchmark speak for them.
type liveSession struct {
	*session.Session
	agent, kernel childSocket
}

// childSocket names a child process's end of its socket.
type childSocket struct {
	PID int `json:"pid"`
	FD  int `json:"fd"`
}

// sleepingChildScript is a shell script that sends the messages which a kernel or an
// agent must send at its start, and then sleeps.
const sleepingChildScript = `say() { printf "\\$(printf %03o ${#1})\0\0\0\0\0\0\0%s" "$1" >&$0; }
say "{\"type\":\"ready\",\"pid\":$$,\"fd\":$0}"
say '{"type":"agent_status","status":"ready"}'
exec sleep 1000000`

// startLiveServer starts a liveServer with sessions 0 to sessions-1, until the test ends.
func startLiveServer(t *testing.T, p *assayProgram, sessions int) *liveServer {
	t.Helper()
	h := &liveServer{program: p, traceDir: t.TempDir(), sessions: map[string]*liveSession{}}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	h.server, err = server.New(server.Config{
		EvalSandbox: true, StartSession: h.startSession, TraceDir: h.traceDir,
		PingInterval: time.Hour, // passive consoles do not answer pings
		Log:          slog.New(slog.NewTextHandler(nowhere, nil)),
	})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h.address = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.server.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, nowhere.Close())
	})
	var starting errgroup.Group
	starting.SetLimit(8)
	for i := range sessions {
		starting.Go(func() error { return h.server.StartSession(t.Context(), strconv.Itoa(i)) })
	}
	require.NoError(t, starting.Wait())
	return h
}

// startSession starts a session without a case; the server calls it.
func (h *liveServer) startSession(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	follow := o.Journal.Follow()
	command := []string{"sh", "-c", sleepingChildScript}
	live, err := session.Start(ctx, h.program.supervisor, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Environ: os.Environ(),
		WorkdirRoot: h.program.supervisor.TempDir(), AwaitConsole: true, TakeOverDelay: time.Hour,
		Kernel: kernel.Config{Command: command, MaxStdioBytes: -1}, Agent: agent.Config{Command: command},
		AgentInit: protocol.AgentInit{SessionID: 1}, Router: router.Config{Shared: true},
	})
	if err != nil {
		return nil, err
	}
	s := &liveSession{Session: live}
	for entry := follow.TryNext(); entry != nil; entry = follow.TryNext() {
		switch {
		case entry.Type != protocol.TypeReady:
		case entry.Hop == trace.AgentToServer:
			err = json.Unmarshal(entry.Body, &s.agent)
		case entry.Hop == trace.KernelToServer:
			err = json.Unmarshal(entry.Body, &s.kernel)
		}
	}
	h.mu.Lock()
	h.sessions[o.SessionID] = s
	h.mu.Unlock()
	return live, err
}

// session returns session i.
func (h *liveServer) session(i int) *liveSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[strconv.Itoa(i)]
}

// openConn returns a connection on a duplicate of the child's end of its socket.
func (l childSocket) openConn(t *testing.T) protocol.Conn {
	t.Helper()
	process, err := unix.PidfdOpen(l.PID, 0)
	require.NoError(t, err)
	fd, err := unix.PidfdGetfd(process, l.FD, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Close(process))
	file := os.NewFile(uintptr(fd), "socket")
	socket, err := net.FileConn(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	conn := protocol.NewStream(socket, 0)
	t.Cleanup(func() { _ = conn.Close(protocol.CloseNormal, "") })
	return conn
}

// newTraceWaiter returns a function that waits until everything recorded so far in
// sessions 0 to sessions-1 is in their trace files.
func (h *liveServer) newTraceWaiter(t *testing.T, sessions int) func() {
	t.Helper()
	traces := make([]string, sessions)
	for i := range traces {
		paths, err := filepath.Glob(filepath.Join(h.traceDir, fmt.Sprintf("%d@*", i)))
		require.NoError(t, err)
		require.Len(t, paths, 1)
		traces[i] = paths[0]
	}
	return func() {
		for i := range traces {
			h.session(i).Journal().Append(traceMarker())
		}
		for _, path := range traces {
			waitForTraceMarker(t, path)
		}
	}
}

// waitForTraceMarker checks a trace file every 100 µs until it ends with
// traceMarkerSuffix. It has no timeout.
func waitForTraceMarker(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	look := time.NewTicker(100 * time.Microsecond)
	defer look.Stop()
	for tail := make([]byte, len(traceMarkerSuffix)); ; <-look.C {
		info, err := file.Stat()
		require.NoError(t, err)
		_, err = file.ReadAt(tail, max(0, info.Size()-int64(len(traceMarkerSuffix))))
		require.NoError(t, err)
		if string(tail) == traceMarkerSuffix {
			return
		}
	}
}
