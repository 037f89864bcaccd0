package subprocess_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// logBuffer collects the log output of a supervisor.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logBuffer) countMatches(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), message)
}

func newLoggingSupervisor(t *testing.T) (*subprocess.Supervisor, *logBuffer) {
	t.Helper()
	sup, lines := newUnclosedSupervisor(t)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup, lines
}

// newUnclosedSupervisor returns a supervisor, which the caller must close, and its log.
func newUnclosedSupervisor(t *testing.T) (*subprocess.Supervisor, *logBuffer) {
	t.Helper()
	lines := &logBuffer{}
	return newSupervisorWithHelper(t, lines, os.Args[0], subprocesstest.CleanupHelperArg), lines
}

// newSupervisorWithHelper returns a supervisor with a command as its cleanup helper. The caller must close
// it.
func newSupervisorWithHelper(t *testing.T, lines *logBuffer, helper ...string) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: helper, Log: slog.New(slog.NewTextHandler(lines, nil))})
	require.NoError(t, err)
	return sup
}

// If one subprocess could not start in a cgroup, later ones still get cgroups. This
// failure used to switch cgroups off for all later subprocesses, while the server went
// on to report that it kills by cgroup.
func TestOneFailedCgroupDoesNotSwitchCgroupsOff(t *testing.T) {
	t.Parallel()
	sup, lines := newLoggingSupervisor(t)
	if !sup.Enforceable()["cgroup_kill"] {
		t.Skip("no cgroup v2 can be written here")
	}
	limit := filepath.Join(sup.CgroupDir(), "cgroup.max.descendants")
	require.NoError(t, os.WriteFile(limit, []byte("0"), 0))
	for range 2 {
		p := startProcess(t, sup, specForRole("echo"))
		require.Equal(t, map[string]bool{"process_group": true, "cgroup_kill": false}, p.Enforced())
	}
	require.Equal(t, 1, lines.countMatches("outlives its session"), "two failures of one kind are logged once: %s", lines.text.String())

	require.NoError(t, os.WriteFile(limit, []byte("max"), 0))
	p := startProcess(t, sup, specForRole("echo"))
	require.Equal(t, map[string]bool{"process_group": true, "cgroup_kill": true}, p.Enforced())
}

// If a limit of processes cannot be set, the process reports it as not enforced, and
// the supervisor logs it. The error used to be dropped.
func TestProcessLimitThatFailsIsNotClaimed(t *testing.T) {
	t.Parallel()
	sup, lines := newLoggingSupervisor(t)
	limited := specForRole("echo")
	limited.MaxProcesses = 1 << 30 // more than any system can have, which the kernel refuses
	for range 2 {
		p := startProcess(t, sup, limited)
		require.False(t, p.Enforced()["processes"])
		require.Contains(t, p.Enforced(), "processes")
	}
	require.Equal(t, 1, lines.countMatches("the number of processes is not limited"), "%s", lines.text.String())
	require.NotContains(t, startProcess(t, sup, specForRole("echo")).Enforced(), "processes", "no limit was asked for")
}

// If a process and what it has started use more memory than they may, one of them is killed, and its exit
// says why. Other processes are killed without a reason.
func TestMemoryOfAllProcessesIsLimited(t *testing.T) {
	t.Parallel()
	sup, _ := newLoggingSupervisor(t)
	spec := specForRole("uses all memory")
	spec.MaxMemoryBytes = 256 << 20
	p := startProcess(t, sup, spec)
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	if !p.Enforced()["total_memory"] {
		t.Skip("no memory cgroup can be written here")
	}
	require.NoError(t, p.Write([]byte(`{}`)))
	<-p.Exited()
	require.Equal(t, "was killed by SIGKILL, because it and what it has started used more memory than they may (--memory)", p.ExitState().String())

	for role, want := range map[string]string{"killed": "was killed by SIGKILL", "outlives its worker": "was killed by SIGTERM"} {
		spec := specForRole(role)
		spec.MaxMemoryBytes = 256 << 20
		other := startProcess(t, sup, spec)
		_, err := other.AwaitReady(t.Context(), testWaitTimeout)
		require.NoError(t, err)
		_ = other.Write([]byte(`{}`)) // fails if it has ended
		<-other.Exited()
		require.Equal(t, want, other.ExitState().String())
	}
}

// What all subprocesses use together is limited, too. One of them is killed if they use more, and its exit says
// whether it had used more than its share, or others had.
func TestMemoryOfAllSubprocessesTogetherIsLimited(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ other, want string }{
		"it takes all":     {"echo", "was killed by SIGKILL, because all kernels and agents together used more memory than there is for them; it used more than its share"},
		"another has most": {"holds shared memory", "was killed by SIGKILL, because all kernels and agents together used more memory than there is for them; others took it, it used less than its share"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, err := subprocess.NewSupervisor(subprocess.Config{
				CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, MaxMemoryBytes: 320 << 20,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, sup.Close()) })
			start := func(role string) *subprocess.Process {
				spec := specForRole(role)
				spec.MaxMemoryBytes, spec.RunsUntrustedCode = 1<<30, role == "uses all memory"
				p := startProcess(t, sup, spec)
				_, err := p.AwaitReady(t.Context(), testWaitTimeout)
				require.NoError(t, err)
				return p
			}
			other, p := start(test.other), start("uses all memory")
			if !p.Enforced()["total_memory"] {
				t.Skip("no memory cgroup can be written here")
			}
			requireReply(t, other)
			require.NoError(t, p.Write([]byte(`{}`)))
			<-p.Exited()
			require.Equal(t, test.want, p.ExitState().String())
			requireReply(t, other) // it still runs
			require.Equal(t, test.other != "echo", other.HasUsedMemoryShare())
		})
	}
}

// requireReply requires that a process replies to a message.
func requireReply(t *testing.T, p *subprocess.Process) {
	t.Helper()
	require.NoError(t, p.Write([]byte(`{}`)))
	_, err := p.Read()
	require.NoError(t, err)
}
