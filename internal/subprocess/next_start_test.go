package subprocess_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// requireKillWithHelper kills a server together with its cleanup helper, and what they leave running.
func requireKillWithHelper(t *testing.T, server testServer) {
	t.Helper()
	requireKillCleanupHelper(t, server.cmd.Process.Pid)
	server.requireKill(t)
	for _, pid := range server.pids {
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
	killed := startTestServer(t, root)
	foreign := filepath.Join(root, "assay-notes")
	require.NoError(t, os.Mkdir(foreign, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(killed.dir, "agents", "x", "home"), 0o700))
	var cgroups []string
	for _, parent := range sandbox.OwnCgroupDirs() {
		dir := filepath.Join(parent, "assay-"+strconv.Itoa(killed.cmd.Process.Pid)+"-left")
		if os.Mkdir(dir, 0o700) == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
			cgroups = append(cgroups, dir)
		}
	}
	requireKillWithHelper(t, killed)
	require.DirExists(t, killed.dir, "nobody is left to remove it")

	living := startTestServer(t, root)
	require.NoDirExists(t, killed.dir)
	require.DirExists(t, living.dir)
	require.DirExists(t, foreign)
	for _, dir := range cgroups {
		require.NoDirExists(t, dir)
	}
	t.Logf("%d cgroups could be made", len(cgroups))

	third := startTestServer(t, root)
	require.DirExists(t, living.dir, "its server lives")
	requireKillWithHelper(t, third)
	requireKillWithHelper(t, living)
	for _, dir := range []string{third.dir, living.dir} {
		require.DirExists(t, dir)
	}
}
