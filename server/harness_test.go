package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
	"assay/server"
	"assay/server/servertest"
)

const testToken = server.EvalSandboxToken

// generousTimeout bounds waits that end at once unless something is broken.
const generousTimeout = 30 * time.Second

// serverHarness is a running server that cannot start sessions, but publishes those of a test.
type serverHarness struct {
	*servertest.Harness
	sharedConsoles bool // every console may do everything
}

func newServerHarness(t *testing.T, cfg server.Config) *serverHarness {
	t.Helper()
	return &serverHarness{servertest.StartServer(t, cfg), cfg.EvalSandbox || cfg.Token == ""}
}

// pythonKernelConfig returns the configuration of the Python kernel.
func (h *serverHarness) pythonKernelConfig(t *testing.T) kernel.Config {
	t.Helper()
	python, err := kernel.ResolvePython(t.Context(), "python3", h.Supervisor.TempDir())
	require.NoError(t, err)
	return kernel.Config{Python: python}
}

// busyKernelConfig returns the configuration of a kernel that never answers. It sets GORACE
// on the command line, because a kernel gets few of the environment's variables.
func busyKernelConfig() kernel.Config {
	return kernel.Config{Command: append([]string{"env", "GORACE=" + os.Getenv("GORACE")}, servertest.RoleCommand("busy")...)}
}

// liveSession is a published session that waits for a console.
type liveSession struct {
	*serverHarness
	agent     *fakeAgent // nil if the test has configured another agent
	session   *session.Session
	publisher *server.AttemptPublisher
	entries   *inbox[traceEntry] // of its trace
}

// startSession starts and publishes a session. Without a kernel in cfg it gets one
// that never answers; without an agent it gets a fakeAgent.
func (h *serverHarness) startSession(t *testing.T, cfg session.Config) *liveSession {
	t.Helper()
	s := &liveSession{serverHarness: h, entries: newInbox[traceEntry]()}
	journal := trace.NewJournal(server.DefaultSessionID)
	recording, err := trace.NewRecording(journal, filepath.Join(t.TempDir(), "trace.jsonl"), nil)
	require.NoError(t, err)
	s.publisher = h.Server.PublishAttempts(server.DefaultSessionID)
	s.publisher.OnTrace(recording)
	var reading sync.WaitGroup
	follower := journal.Follow()
	reading.Go(func() {
		s.entries.readFrom(func() (traceEntry, error) {
			entry, err := follower.Next(context.Background())
			return traceEntry{entry}, err
		})
	})
	t.Cleanup(reading.Wait)
	t.Cleanup(func() { require.NoError(t, recording.Close()) })
	if cfg.Agent.Command == nil {
		s.agent = newFakeAgent(t, h.Supervisor.TempDir())
		cfg.Agent.Command = s.agent.command
	}
	if cfg.Kernel.Python == nil && cfg.Kernel.Command == nil {
		cfg.Kernel = busyKernelConfig()
	}
	cfg.ID, cfg.Journal, cfg.AwaitConsole, cfg.Router.Shared = server.DefaultSessionID, journal, true, h.sharedConsoles
	cfg.WorkdirRoot, cfg.Environ = h.Supervisor.TempDir(), os.Environ()
	cfg.AgentInit = protocol.AgentInit{SessionID: 1}
	live, err := session.Start(t.Context(), h.Supervisor, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, live.End(context.Background(), "the test is over"))
		s.publisher.Close()
	})
	s.session = live
	s.publisher.OnSession(live)
	return s
}

// entriesOf waits until the agent is answered an action, and returns the trace entries
// with its tx_id.
func (s *liveSession) entriesOf(t *testing.T, tx string) []traceEntry {
	t.Helper()
	s.entries.awaitItem(t, "the answer to "+tx, func(e traceEntry) bool { return e.Hop == trace.ServerToAgent && e.TxID == tx })
	return s.entries.itemsMatching(func(e traceEntry) bool { return e.TxID == tx })
}

// awaitHolder waits until a console has become the holder for the nth time.
func (s *liveSession) awaitHolder(t *testing.T, n int) {
	t.Helper()
	isHolder := isEntryOfHopAndType(trace.HopSession, router.EntryTypeHolderChanged)
	s.entries.awaitItem(t, "a holder", func(e traceEntry) bool { return isHolder(e) && len(s.entries.itemsMatching(isHolder)) >= n })
}

// awaitPeerEnded waits until the console with this number has left the session.
func (s *liveSession) awaitPeerEnded(t *testing.T, console int) {
	t.Helper()
	s.entries.awaitItem(t, "the end of the console", func(e traceEntry) bool { return e.Type == router.EntryTypePeerEnded && e.ConsoleID == console })
}

// traceEntry is an entry of a trace that prints itself in one line.
type traceEntry struct{ *trace.Entry }

func (e traceEntry) String() string {
	return fmt.Sprintf("%d %s %s %s %s %s", e.Seq, e.Hop, e.Type, e.Action, e.Note, e.Body)
}

// isEntryOfHopAndType matches trace entries with this hop and message type.
func isEntryOfHopAndType(hop trace.Hop, messageType string) func(traceEntry) bool {
	return func(e traceEntry) bool { return e.Hop == hop && e.Type == messageType }
}

func hopsOf(entries []traceEntry) (hops []trace.Hop) {
	for _, e := range entries {
		hops = append(hops, e.Hop)
	}
	return hops
}

// killProcess kills a process with SIGKILL, like the kernel of a machine without
// memory.
func killProcess(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}
