package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
)

// testTimeout bounds waits that end at once unless something is broken.
const testTimeout = 30 * time.Second

func newSupervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], "reap"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

func pythonKernel(t *testing.T, sup *subprocess.Supervisor) kernel.Config {
	t.Helper()
	found, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	return kernel.Config{Python: found}
}

// shellChild is a child that says these messages and then listens until its socket
// closes. It starts in a millisecond, which the test binary does not.
func shellChild(messages ...string) []string {
	var script strings.Builder
	for _, message := range messages {
		fmt.Fprintf(&script, `printf '\%03o\0\0\0\0\0\0\0%s' >&3; `, len(message), message)
	}
	return []string{"sh", "-c", script.String() + "exec cat <&3 >/dev/null", "sh"}
}

func quickKernel() kernel.Config { return kernel.Config{Command: shellChild(`{"type":"ready"}`)} }

func quickAgent() agent.Config {
	return agent.Config{Command: shellChild(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)}
}

// harness is a live session and its trace.
type harness struct {
	*session.Session
	follower    *trace.Follower
	workdirRoot string // where its sandbox is
}

// newHarness prepares a session without starting it. Where cfg says nothing, the
// kernel and the agent are the quick ones.
func newHarness(t *testing.T, cfg session.Config) (*harness, session.Config) {
	t.Helper()
	journal := trace.NewJournal("s")
	t.Cleanup(journal.Close)
	s := &harness{follower: journal.Follow(), workdirRoot: t.TempDir()}
	cfg.ID, cfg.Journal = "s", journal
	if cfg.WorkdirRoot == "" {
		cfg.WorkdirRoot = s.workdirRoot
	}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	if cfg.Kernel.Command == nil && cfg.Kernel.Python == nil {
		cfg.Kernel = quickKernel()
	}
	if cfg.Agent.Command == nil {
		cfg.Agent = quickAgent()
	}
	return s, cfg
}

func startSession(t *testing.T, sup *subprocess.Supervisor, cfg session.Config) *harness {
	t.Helper()
	s, cfg := newHarness(t, cfg)
	live, err := session.Start(t.Context(), sup, cfg)
	require.NoError(t, err)
	s.Session = live
	t.Cleanup(func() {
		require.NoError(t, live.End(context.Background(), "the test is over"))
		requireNothingLeft(t, s.workdirRoot)
	})
	return s
}

// await waits for an entry of the trace behind those that were awaited before.
func (s *harness) await(t *testing.T, what string, match func(*trace.Entry) bool) *trace.Entry {
	t.Helper()
	entry, err := s.nextMatching(t.Context(), match)
	require.NoError(t, err, "waiting for %s", what)
	return entry
}

func (s *harness) nextMatching(ctx context.Context, match func(*trace.Entry) bool) (*trace.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	for {
		entry, err := s.follower.Next(ctx)
		if err != nil || match(entry) {
			return entry, err
		}
	}
}

func isEntry(hop trace.Hop, kind string) func(*trace.Entry) bool {
	return func(e *trace.Entry) bool { return e.Hop == hop && e.Type == kind }
}

// requireNothingLeft requires that nothing is left of sessions whose sandboxes were
// in root.
func requireNothingLeft(t *testing.T, root string) {
	t.Helper()
	require.Empty(t, leftovers(root))
}

// writeZeros makes a file of size bytes in folder.
func writeZeros(folder, name string, size int) error {
	return os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600)
}

// leftovers returns the files in root and the processes that were told of a
// sandbox in it. A process that is dead and not yet reaped by init has no
// environment.
func leftovers(root string) (left []string) {
	files, err := os.ReadDir(root)
	if err != nil {
		return []string{err.Error()}
	}
	for _, file := range files {
		left = append(left, file.Name())
	}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		environment, _ := os.ReadFile(filepath.Join(folder, "environ")) // it may be gone by now
		if strings.Contains(string(environment), "LATCH_SANDBOX_ROOT="+root+"/") {
			left = append(left, folder)
		}
	}
	return left
}

// lockedBuffer is what is printed. It is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *lockedBuffer) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *lockedBuffer) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSuffix(s.text.String(), "\n"), "\n")
}

// withoutFileCapabilities calls f on a thread that file permissions hold for, as they do not
// for root. Where f fails the test, the thread ends with it.
func withoutFileCapabilities(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var before [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &before[0]))
	without := before
	without[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	require.NoError(t, unix.Capset(&header, &without[0]))
	f()
	require.NoError(t, unix.Capset(&header, &before[0]))
	runtime.UnlockOSThread()
}
