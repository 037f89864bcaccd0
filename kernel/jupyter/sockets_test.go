package jupyter_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// The adapter of a Jupyter kernel gets one end of a socketpair from the server: nobody listens on a Unix
// socket for it in the server's folder, and its arguments name none.
func TestAdapterGetsASocketpair(t *testing.T) {
	t.Parallel()
	spec := installedSpec(t, "python3")
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	workdir := t.TempDir()
	temp := filepath.Join(workdir, ".assay", "tmp")
	require.NoError(t, os.MkdirAll(temp, 0o700))
	adapter, err := sup.Start(subprocess.Spec{
		Name: "kernel", Argv: []string{os.Args[0], "jupyter", spec.Path}, Dir: workdir,
		Env: append(os.Environ(), "TMPDIR="+temp, "HOME="+workdir, "MPLBACKEND=", "LC_ALL=C.UTF-8"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, adapter.Stop(context.Background())) })
	_, err = adapter.AwaitReady(t.Context(), testTimeout)
	require.NoError(t, err)

	listening, err := subprocesstest.ListeningSockets(sup.TempDir(), adapter.PID())
	require.NoError(t, err)
	require.Empty(t, listening)
	require.NoDirExists(t, sup.SocketsDir())
	arguments, err := subprocesstest.CommandLine(adapter.PID())
	require.NoError(t, err)
	require.Equal(t, []string{os.Args[0], "jupyter", spec.Path, "3"}, arguments)
}
