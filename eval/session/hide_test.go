package session_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
)

// While a notebook is run again nothing of the first kernel is left, and its working folder is at no place that
// could be known, whatever mode code has given it.
func TestKilledKernelAndHiddenWorkdir(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: silentKernelConfig(), Agent: silentAgentConfig()})
	workdir := s.Workdir()
	require.NoError(t, os.WriteFile(filepath.Join(workdir, "kept"), []byte("data"), 0o600))
	require.NoError(t, os.Chmod(workdir, 0))

	require.NoError(t, s.KillKernel())
	require.False(t, s.IsKernelAlive())
	show, err := s.HideWorkdir()
	require.NoError(t, err)
	require.NoDirExists(t, workdir)
	require.NoError(t, show())
	text, err := os.ReadFile(filepath.Join(workdir, "kept"))
	require.NoError(t, err)
	require.Equal(t, "data", string(text))
	info, err := os.Stat(workdir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	hidden, err := filepath.Glob(filepath.Join(filepath.Dir(workdir), "hidden-*"))
	require.NoError(t, err)
	require.Empty(t, hidden)
}
