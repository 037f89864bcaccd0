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
	"assay/internal/subprocess/subprocesstest"
	"assay/internal/trace"
	"assay/kernel"
)

// testTimeout is how long tests wait for something that happens at once unless it is broken.
const testTimeout = 30 * time.Second

// newSupervisor returns a subprocess supervisor whose helper processes are played by the test
// binary. It is closed when the test ends.
func newSupervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: sandboxLauncherCommand()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

// pythonKernelConfig returns the Config of a kernel that runs the python3 on PATH.
func pythonKernelConfig(t *testing.T, sup *subprocess.Supervisor) kernel.Config {
	t.Helper()
	found, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	return kernel.Config{Python: found}
}

// shellChildCommand returns the command of a child process that sends these messages and then
// reads its socket until that is closed. It is a shell script, which starts in 1 ms, much
// faster than the test binary.
func shellChildCommand(messages ...string) []string {
	var script strings.Builder
	for _, message := range messages {
		fmt.Fprintf(&script, `printf '\%03o\0\0\0\0\0\0\0%s' >&3; `, len(message), message)
	}
	return []string{"sh", "-c", script.String() + "exec cat <&3 >/dev/null", "sh"}
}

// silentKernelConfig returns the Config of a kernel that says that it is ready and answers nothing.
func silentKernelConfig() kernel.Config {
	return kernel.Config{Command: shellChildCommand(`{"type":"ready"}`)}
}

// silentAgentConfig returns the Config of an agent that says that it is ready and does nothing.
func silentAgentConfig() agent.Config {
	return agent.Config{Command: shellChildCommand(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)}
}

// harness is a session under test and a follower of its trace.
type harness struct {
	*session.Session
	follower    *trace.Follower
	workdirRoot string // the folder in which the session makes its working folder
}

// newHarness fills in the fields of a session's Config that the test leaves empty, and returns
// it with a harness. It does not start the session. Kernel and agent are silentKernelConfig and
// silentAgentConfig unless cfg has others.
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
		cfg.Kernel = silentKernelConfig()
	}
	if cfg.Agent.Command == nil {
		cfg.Agent = silentAgentConfig()
	}
	return s, cfg
}

// startSession starts a session and ends it after the test. The test fails if a file or process
// of the session is left then.
func startSession(t *testing.T, sup *subprocess.Supervisor, cfg session.Config) *harness {
	t.Helper()
	s, cfg := newHarness(t, cfg)
	live, err := session.Start(t.Context(), sup, cfg)
	require.NoError(t, err)
	s.Session = live
	t.Cleanup(func() {
		require.NoError(t, live.End(context.Background(), "the test is over"))
		requireNoLeftovers(t, s.workdirRoot)
	})
	return s
}

// awaitEntry waits for the next trace entry for which match returns true, after the one that
// was awaited before, and returns it. The test fails after testTimeout, with a message that
// names what.
func (s *harness) awaitEntry(t *testing.T, what string, match func(*trace.Entry) bool) *trace.Entry {
	t.Helper()
	entry, err := s.waitForMatchingEntry(t.Context(), match)
	require.NoError(t, err, "waiting for %s", what)
	return entry
}

// waitForMatchingEntry waits for the next trace entry for which match returns true. It fails after
// testTimeout, and when ctx or the trace ends.
func (s *harness) waitForMatchingEntry(ctx context.Context, match func(*trace.Entry) bool) (*trace.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	for {
		entry, err := s.follower.Next(ctx)
		if err != nil || match(entry) {
			return entry, err
		}
	}
}

// entryMatcher returns a function that reports whether a trace entry has this hop and message
// type.
func entryMatcher(hop trace.Hop, kind string) func(*trace.Entry) bool {
	return func(e *trace.Entry) bool { return e.Hop == hop && e.Type == kind }
}

// requireNoLeftovers fails the test if a file or process is left of sessions whose working
// folders were in root.
func requireNoLeftovers(t *testing.T, root string) {
	t.Helper()
	require.Empty(t, findLeftovers(root))
}

// writeZeros writes a file of size zero bytes (0x00) in a folder. It fails if that fails.
func writeZeros(folder, name string, size int) error {
	return os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600)
}

// findLeftovers returns the names of the files in root, and the /proc folders of processes
// whose environment says that their working folder is in root. A dead process that was not
// reaped yet has no environment.
func findLeftovers(root string) (left []string) {
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

// lockedBuffer is a writer that collects text. It is safe for concurrent use.
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

// withoutFileCapabilities calls f on a thread without the capabilities by which root can ignore
// file permissions. If f fails the test, the thread stays locked and ends with its goroutine.
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
