package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
	"assay/server"
)

const token = server.EvalSandboxToken

// house is a server on a port of its own, with nothing to serve yet.
type house struct {
	sup  *subprocess.Supervisor
	web  *server.Server
	url  string // "ws://127.0.0.1:…"
	stop func() // ends the server; it may be called again

	shared bool // every console may do everything
}

func newHouse(t *testing.T, cfg server.Config) *house {
	t.Helper()
	if cfg.Token == "" {
		cfg.EvalSandbox = true
	}
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], "reap"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	web, err := server.New(cfg)
	require.NoError(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Run(ctx, ln) }()
	stop := sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return &house{sup: sup, web: web, url: "ws://" + ln.Addr().String(), stop: stop, shared: cfg.EvalSandbox}
}

// python is the Python kernel.
func (h *house) python(t *testing.T) kernel.Config {
	t.Helper()
	found, err := kernel.ResolvePython(t.Context(), "python3", h.sup.TempDir())
	require.NoError(t, err)
	return kernel.Config{Python: found}
}

// busy is a foreign kernel that answers nothing. It is told of the race
// detector on its command line: a kernel gets little of the environment.
func busy() kernel.Config {
	return kernel.Config{Command: append([]string{"env", "GORACE=" + os.Getenv("GORACE")}, playing("busy")...)}
}

// stage is a live session that waits for a console, and its agent.
type stage struct {
	*house
	agent *puppet
	live  *session.Session
	show  *server.AttemptPublisher
	trace *box[line]
}

// play starts a session in the house. Without a kernel it is one that answers
// nothing; without an agent the test is it.
func (h *house) play(t *testing.T, cfg session.Config) *stage {
	t.Helper()
	s := &stage{house: h, trace: newBox[line]()}
	journal := trace.NewJournal(server.DefaultSessionID)
	recording, err := trace.NewRecording(journal, filepath.Join(t.TempDir(), "trace.jsonl"))
	require.NoError(t, err)
	show := h.web.PublishAttempts(server.DefaultSessionID)
	show.OnTrace(recording)
	var following sync.WaitGroup
	follow := journal.Follow()
	following.Go(func() {
		s.trace.fill(func() (line, error) {
			entry, err := follow.Next(context.Background())
			return line{entry}, err
		})
	})
	t.Cleanup(following.Wait)
	t.Cleanup(func() { require.NoError(t, recording.Close()) })
	if cfg.Agent.Command == nil {
		s.agent = newPuppet(t, h.sup.TempDir())
		cfg.Agent.Command = s.agent.command
	}
	if cfg.Kernel.Python == nil && cfg.Kernel.Command == nil {
		cfg.Kernel = busy()
	}
	cfg.ID, cfg.Journal, cfg.AwaitConsole, cfg.Router.Shared = server.DefaultSessionID, journal, true, h.shared
	cfg.WorkdirRoot, cfg.Environ = h.sup.TempDir(), os.Environ()
	cfg.AgentInit = protocol.AgentInit{SessionID: 1}
	live, err := session.Start(t.Context(), h.sup, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, live.End(context.Background(), "the test is over"))
		show.Close()
	})
	s.live = live
	show.OnSession(live)
	s.show = show
	return s
}

// entries waits for the agent's answer to tx in the trace and returns all
// entries of tx.
func (s *stage) entries(t *testing.T, tx string) []line {
	t.Helper()
	s.trace.await(t, "the answer to "+tx, func(e line) bool { return e.Hop == trace.ServerToAgent && e.TxID == tx })
	return s.trace.all(func(e line) bool { return e.TxID == tx })
}

// line is an entry of the trace, shown in a few words.
type line struct{ *trace.Entry }

func (e line) String() string {
	return fmt.Sprintf("%d %s %s %s %s %s", e.Seq, e.Hop, e.Type, e.Action, e.Note, e.Body)
}

func hops(of []line) (hops []trace.Hop) {
	for _, e := range of {
		hops = append(hops, e.Hop)
	}
	return hops
}

// kill ends a process as a machine without memory does.
func kill(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}
