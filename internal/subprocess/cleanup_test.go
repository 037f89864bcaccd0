package subprocess_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// testServer is the test binary as a server that has started subprocesses.
type testServer struct {
	cmd        *exec.Cmd
	dir        string // its temporary folder
	hasCgroups bool   // it can kill by cgroup
	pids       []int  // of the processes that it has started
}

// startTestServer starts a server in the temporary root.
func startTestServer(t *testing.T, root string) testServer {
	t.Helper()
	s := testServer{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	s.cmd.Env = append(os.Environ(), roleEnvVar+"=server", "TMPDIR="+root)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	for lines := bufio.NewScanner(out); ; {
		require.True(t, lines.Scan(), "the server prints what it started")
		fields := strings.Fields(lines.Text())
		if fields[0] == "ready" {
			s.dir, s.hasCgroups = fields[1], fields[2] == "true"
			return s
		}
		pid, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		s.pids = append(s.pids, pid)
	}
}

// requireKill kills the server with SIGKILL and waits for its end.
func (s testServer) requireKill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()
}

// After a server is killed with SIGKILL, its subprocesses, the processes that they have
// started, and its temporary folder are gone.
func TestNothingSurvivesKilledServer(t *testing.T) {
	t.Parallel()
	server := startTestServer(t, t.TempDir())
	require.Len(t, server.pids, 3, "the subprocess and the two that it started")
	require.DirExists(t, server.dir)

	server.requireKill(t)
	inside, outside, kernel := server.pids[0], server.pids[1], server.pids[2]
	requireProcessEnded(t, kernel)
	requireProcessEnded(t, inside)
	if server.hasCgroups {
		requireProcessEnded(t, outside)
	} else {
		require.NoError(t, syscall.Kill(outside, syscall.SIGKILL))
	}
	require.Eventually(t, func() bool {
		_, err := os.Stat(server.dir)
		return errors.Is(err, os.ErrNotExist)
	}, testWaitTimeout, time.Millisecond)
}

// What is left of a server that was killed together with its cleanup helper is removed: its temporary
// folder, its cgroups and, with kill, the processes in them. A server that lives is left alone.
func TestRemoveStale(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	server, living := startTestServer(t, root), startTestServer(t, root)
	requireKillCleanupHelper(t, server.cmd.Process.Pid)
	server.requireKill(t)
	require.DirExists(t, server.dir)

	_, err := subprocess.RemoveStale(root, false)
	require.NoError(t, err)
	require.NoDirExists(t, server.dir)
	require.DirExists(t, living.dir)
	_, err = subprocess.RemoveStale(root, true)
	require.NoError(t, err)
	for _, pid := range server.pids {
		if !server.hasCgroups {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		requireProcessEnded(t, pid)
	}
	require.DirExists(t, living.dir)
	living.requireKill(t)
	require.Eventually(t, func() bool {
		_, err := os.Stat(living.dir)
		return errors.Is(err, os.ErrNotExist)
	}, testWaitTimeout, time.Millisecond)
}

// requireKillCleanupHelper kills the cleanup helper of a server.
func requireKillCleanupHelper(t *testing.T, server int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server))
	require.NoError(t, err)
	for _, list := range lists {
		text, err := os.ReadFile(list)
		require.NoError(t, err)
		for child := range strings.FieldsSeq(string(text)) {
			command, err := os.ReadFile("/proc/" + child + "/cmdline")
			require.NoError(t, err)
			if strings.Contains(string(command), subprocesstest.CleanupHelperArg) {
				pid, err := strconv.Atoi(child)
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				return
			}
		}
	}
	require.Fail(t, "the server has no cleanup helper")
}

// Cgroups that cannot be removed share one deadline, so that the cleanup helper of a
// killed server does not wait for each of them in turn.
func TestBusyCgroupsShareOneDeadline(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"1", "2", "3", "4"} { // a folder that is not empty cannot be removed, like a busy cgroup
		require.NoError(t, os.MkdirAll(filepath.Join(root, name, "busy"), 0o700))
	}
	began := time.Now()
	require.ErrorContains(t, subprocess.RemoveCgroupTree(root), "remove a cgroup")
	require.Less(t, time.Since(began), 4*time.Second, "two seconds for all five, not for each")
}

// The cleanup helper removes the folders and cgroups that the server has made and not
// removed.
func TestCleanupHelperRemovesWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"dir", "limit"} {
		left, gone := filepath.Join(t.TempDir(), "left"), filepath.Join(t.TempDir(), "gone")
		require.NoError(t, os.Mkdir(left, 0o700))
		require.NoError(t, os.Mkdir(gone, 0o700))
		lines := fmt.Sprintf("%[1]s %[2]s\n%[1]s %[3]s\nnodir %[3]s\n", kind, left, gone)
		require.NoError(t, subprocess.RunCleanupHelper(strings.NewReader(lines)))
		require.NoDirExists(t, left, kind)
		require.DirExists(t, gone, kind)
	}
}

// A cgroup can be removed only after those below it.
func TestCleanupHelperRemovesLimitsBelowOthers(t *testing.T) {
	t.Parallel()
	common := filepath.Join(t.TempDir(), "common")
	lines := ""
	for _, dir := range []string{common, filepath.Join(common, "1"), filepath.Join(common, "2")} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		lines += "limit " + dir + "\n"
	}
	require.NoError(t, subprocess.RunCleanupHelper(strings.NewReader(lines)))
	require.NoDirExists(t, common)
}

func TestCleanupHelperRefusesBadLines(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"group 1\n", "group -5\n", "group x\n", "namespace 1\n", "namespace x\n", "hello\n"} {
		require.ErrorContains(t, subprocess.RunCleanupHelper(strings.NewReader(in)), "bad line", in)
	}
	require.NoError(t, subprocess.RunCleanupHelper(io.LimitReader(nil, 0)))
}
