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

// After a server is killed with SIGKILL, its subprocesses, the processes that they have
// started, and its temporary folder are gone.
func TestNothingSurvivesKilledServer(t *testing.T) {
	t.Parallel()
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), roleEnvVar+"=server")
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())

	var pids []int
	var dir, cgroups string
	for lines := bufio.NewScanner(out); dir == ""; {
		require.True(t, lines.Scan(), "the server prints what it started")
		fields := strings.Fields(lines.Text())
		if fields[0] == "ready" {
			dir, cgroups = fields[1], fields[2]
			break
		}
		pid, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	require.Len(t, pids, 3, "the subprocess and the two that it started")
	require.DirExists(t, dir)

	require.NoError(t, server.Process.Kill())
	_ = server.Wait()
	inside, outside, kernel := pids[0], pids[1], pids[2]
	requireProcessEnded(t, kernel)
	requireProcessEnded(t, inside)
	if cgroups == "true" {
		requireProcessEnded(t, outside)
	} else {
		require.NoError(t, syscall.Kill(outside, syscall.SIGKILL))
	}
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}, testWaitTimeout, time.Millisecond)
}

// What is left of a server that was killed together with its cleanup helper is removed: its temporary
// folder, its cgroups and, with kill, the processes in them. A server that lives is left alone.
func TestRemoveStale(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	startServer := func() (server *exec.Cmd, dir string, hasCgroups bool, pids []int) {
		server = exec.CommandContext(t.Context(), os.Args[0])
		server.Env = append(os.Environ(), roleEnvVar+"=server", "TMPDIR="+root)
		server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := server.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, server.Start())
		for lines := bufio.NewScanner(out); ; {
			require.True(t, lines.Scan(), "the server prints what it started")
			fields := strings.Fields(lines.Text())
			if fields[0] == "ready" {
				return server, fields[1], fields[2] == "true", pids
			}
			pid, err := strconv.Atoi(fields[0])
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	server, dir, hasCgroups, pids := startServer()
	living, livingDir, _, _ := startServer()
	requireKillCleanupHelper(t, server.Process.Pid)
	require.NoError(t, server.Process.Kill())
	_ = server.Wait()
	require.DirExists(t, dir)

	_, err := subprocess.RemoveStale(root, false)
	require.NoError(t, err)
	require.NoDirExists(t, dir)
	require.DirExists(t, livingDir)
	_, err = subprocess.RemoveStale(root, true)
	require.NoError(t, err)
	for _, pid := range pids {
		if !hasCgroups {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		requireProcessEnded(t, pid)
	}
	require.DirExists(t, livingDir)
	require.NoError(t, living.Process.Kill())
	_ = living.Wait()
	require.Eventually(t, func() bool {
		_, err := os.Stat(livingDir)
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
	for _, kind := range []string{"dir", "pids"} {
		left, gone := filepath.Join(t.TempDir(), "left"), filepath.Join(t.TempDir(), "gone")
		require.NoError(t, os.Mkdir(left, 0o700))
		require.NoError(t, os.Mkdir(gone, 0o700))
		lines := fmt.Sprintf("%[1]s %[2]s\n%[1]s %[3]s\nnodir %[3]s\n", kind, left, gone)
		require.NoError(t, subprocess.RunCleanupHelper(strings.NewReader(lines)))
		require.NoDirExists(t, left, kind)
		require.DirExists(t, gone, kind)
	}
}

func TestCleanupHelperRefusesBadLines(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"group 1\n", "group -5\n", "group x\n", "namespace 1\n", "namespace x\n", "hello\n"} {
		require.ErrorContains(t, subprocess.RunCleanupHelper(strings.NewReader(in)), "bad line", in)
	}
	require.NoError(t, subprocess.RunCleanupHelper(io.LimitReader(nil, 0)))
}
