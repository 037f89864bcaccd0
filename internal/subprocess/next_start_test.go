package subprocess_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// startNextServer runs the test binary as a server in the temporary root, and returns its process, its
// temporary folder and the ids of the processes that it has started.
func startNextServer(t *testing.T, root string) (server *exec.Cmd, dir string, pids []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testWaitTimeout)
	t.Cleanup(cancel)
	server = exec.CommandContext(ctx, os.Args[0])
	server.Env = append(os.Environ(), roleEnvVar+"=server", "TMPDIR="+root)
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	for lines := bufio.NewScanner(out); ; {
		require.True(t, lines.Scan(), "the server prints what it started")
		fields := strings.Fields(lines.Text())
		if fields[0] == "ready" {
			return server, fields[1], pids
		}
		pid, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		pids = append(pids, pid)
	}
}

// requireKillWithHelper kills a server together with its cleanup helper, and what they leave running.
func requireKillWithHelper(t *testing.T, server *exec.Cmd, pids []int) {
	t.Helper()
	requireKillCleanupHelper(t, server.Process.Pid)
	require.NoError(t, server.Process.Kill())
	_ = server.Wait()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		requireProcessEnded(t, pid)
	}
}

// The next server that starts in the same temporary root removes the folder of one that was killed with
// its cleanup helper, and the empty cgroups of both versions that are named after it. It leaves the
// folders of a server that lives, and folders that are no server's.
func TestNextServerRemovesWhatIsLeft(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	killed, killedDir, pids := startNextServer(t, root)
	foreign := filepath.Join(root, "assay-notes")
	require.NoError(t, os.Mkdir(foreign, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(killedDir, "agents", "x", "home"), 0o700))
	var cgroups []string
	for _, parent := range sandbox.OwnCgroupDirs() {
		dir := filepath.Join(parent, "assay-"+strconv.Itoa(killed.Process.Pid)+"-left")
		if os.Mkdir(dir, 0o700) == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
			cgroups = append(cgroups, dir)
		}
	}
	requireKillWithHelper(t, killed, pids)
	require.DirExists(t, killedDir, "nobody is left to remove it")

	living, livingDir, livingPIDs := startNextServer(t, root)
	require.NoDirExists(t, killedDir)
	require.DirExists(t, livingDir)
	require.DirExists(t, foreign)
	for _, dir := range cgroups {
		require.NoDirExists(t, dir)
	}
	t.Logf("%d cgroups could be made", len(cgroups))

	third, thirdDir, thirdPIDs := startNextServer(t, root)
	require.DirExists(t, livingDir, "its server lives")
	requireKillWithHelper(t, third, thirdPIDs)
	requireKillWithHelper(t, living, livingPIDs)
	for _, dir := range []string{thirdDir, livingDir} {
		require.DirExists(t, dir)
	}
}
