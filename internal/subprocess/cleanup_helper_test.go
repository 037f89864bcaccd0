package subprocess_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
)

// requireNotesReplaceHelper makes and removes folders, each of which is a note to the cleanup helper, until
// another helper takes its place, and requires that this does not take long.
func requireNotesReplaceHelper(t *testing.T, sup *subprocess.Supervisor) {
	t.Helper()
	first := sup.HelperPID()
	deadline := time.Now().Add(testWaitTimeout)
	for sup.HelperPID() == first {
		require.True(t, time.Now().Before(deadline), "the notes wait for the cleanup helper")
		dir, err := sup.MkdirTemp("", "noted-")
		require.NoError(t, err)
		require.NoError(t, sup.RemoveAll(dir))
	}
}

// A cleanup helper that is stopped, or has died, is replaced by one that knows what the first one knew: when
// the server ends it kills what was started, and removes what was made, before that.
func TestCleanupHelperIsReplaced(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGSTOP, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, lines := newUnclosedSupervisor(t)
			p := startProcess(t, sup, specForRole("ignores SIGTERM"))
			_, err := p.AwaitReady(t.Context(), testWaitTimeout)
			require.NoError(t, err)
			dir, err := sup.MkdirTemp("", "left-")
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(sup.HelperPID(), signal))
			requireNotesReplaceHelper(t, sup)
			require.Equal(t, 1, lines.countMatches("another one takes its place"))

			require.NoError(t, sup.Close())
			requireProcessEnded(t, p.PID())
			require.NoDirExists(t, dir)
		})
	}
}

// A supervisor whose cleanup helper is stopped can be closed.
func TestCloseWithStoppedCleanupHelper(t *testing.T) {
	t.Parallel()
	sup, _ := newUnclosedSupervisor(t)
	require.NoError(t, syscall.Kill(sup.HelperPID(), syscall.SIGSTOP))
	require.NoError(t, sup.Close())
	require.NoDirExists(t, sup.TempDir())
}

// If no other cleanup helper can be started, the supervisor goes on without one and says so once.
func TestCleanupHelperThatCannotBeReplaced(t *testing.T) {
	t.Parallel()
	lines := &logBuffer{}
	helper := t.TempDir() + "/helper"
	require.NoError(t, os.Symlink("/bin/cat", helper))
	sup := newSupervisorWithHelper(t, lines, helper)
	require.NoError(t, os.Remove(helper))
	require.NoError(t, syscall.Kill(sup.HelperPID(), syscall.SIGKILL))
	for lines.countMatches("its subprocesses may stay") == 0 {
		dir, err := sup.MkdirTemp("", "noted-")
		require.NoError(t, err)
		require.NoError(t, sup.RemoveAll(dir))
	}
	p, err := sup.Start(specForRole("echo"))
	require.NoError(t, err)
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, sup.Close())
	require.Equal(t, 1, lines.countMatches("its subprocesses may stay"))
}
