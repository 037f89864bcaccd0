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

// house is a server as `assay serve` makes it, on a port of its own, with live
// sessions: their traces go to files, their log to the null device.
type house struct {
	program *program
	web     *server.Server
	at      string // host and port
	dir     string // for the traces

	mu       sync.Mutex
	sessions map[string]*lively
}

// lively is a session whose kernel and agent are processes that say ready and
// then sleep. Whoever needs one to say more borrows its end of the socket.
type lively struct {
	*session.Session
	agent, kernel lent
}

// lent says whose end of a socket can be had.
type lent struct {
	PID int `json:"pid"`
	FD  int `json:"fd"`
}

// sleeper is a child that says all that a kernel or an agent must.
const sleeper = `say() { printf "\\$(printf %03o ${#1})\0\0\0\0\0\0\0%s" "$1" >&$0; }
say "{\"type\":\"ready\",\"pid\":$$,\"fd\":$0}"
say '{"type":"agent_status","status":"ready"}'
exec sleep 1000000`

func newHouse(t *testing.T, p *program, sessions int) *house {
	t.Helper()
	h := &house{program: p, dir: t.TempDir(), sessions: map[string]*lively{}}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	h.web, err = server.New(server.Config{
		EvalSandbox: true, StartSession: h.open, TraceDir: h.dir,
		PingInterval: time.Hour, // those that only keep a connection do not answer
		Log:          slog.New(slog.NewTextHandler(nowhere, nil)),
	})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h.at = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.web.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, nowhere.Close())
	})
	var starting errgroup.Group
	starting.SetLimit(8)
	for i := range sessions {
		starting.Go(func() error { return h.web.StartSession(t.Context(), strconv.Itoa(i)) })
	}
	require.NoError(t, starting.Wait())
	return h
}

// open starts a session without a case, for the server.
func (h *house) open(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	follow := o.Journal.Follow()
	command := []string{"sh", "-c", sleeper}
	live, err := session.Start(ctx, h.program.supervisor, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Environ: os.Environ(),
		WorkdirRoot: h.program.supervisor.TempDir(), AwaitConsole: true, TakeOverDelay: time.Hour,
		Kernel: kernel.Config{Command: command, MaxStdioBytes: -1}, Agent: agent.Config{Command: command},
		AgentInit: protocol.AgentInit{SessionID: 1}, Router: router.Config{Shared: true},
	})
	if err != nil {
		return nil, err
	}
	s := &lively{Session: live}
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

// session returns the session of a number.
func (h *house) session(i int) *lively {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[strconv.Itoa(i)]
}

// borrow returns a connection at the child's end of its socket.
func (l lent) borrow(t *testing.T) protocol.Conn {
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

// settle waits until the traces of so many sessions are in their files.
func (h *house) settle(t *testing.T, sessions int) func() {
	t.Helper()
	traces := make([]string, sessions)
	for i := range traces {
		paths, err := filepath.Glob(filepath.Join(h.dir, fmt.Sprintf("%d@*", i)))
		require.NoError(t, err)
		require.Len(t, paths, 1)
		traces[i] = paths[0]
	}
	return func() {
		for i := range traces {
			h.session(i).Journal().Append(settled())
		}
		for _, path := range traces {
			awaitMark(t, path)
		}
	}
}

// awaitMark waits until a file ends with mark.
func awaitMark(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	look := time.NewTicker(100 * time.Microsecond)
	defer look.Stop()
	for tail := make([]byte, len(mark)); ; <-look.C {
		info, err := file.Stat()
		require.NoError(t, err)
		_, err = file.ReadAt(tail, max(0, info.Size()-int64(len(mark))))
		require.NoError(t, err)
		if string(tail) == mark {
			return
		}
	}
}
