package kernel_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
	"assay/kernel"
)

// requireNoSocket requires that nobody listens on a Unix socket for a kernel, and that its arguments name
// none: every process of the machine can read arguments.
func requireNoSocket(t *testing.T, sup *subprocess.Supervisor, k *testKernel) {
	t.Helper()
	listening, err := subprocesstest.ListeningSockets(sup.TempDir(), k.PID())
	require.NoError(t, err)
	require.Empty(t, listening)
	require.NoDirExists(t, sup.SocketsDir())
	arguments, err := subprocesstest.CommandLine(k.PID())
	require.NoError(t, err)
	for _, argument := range arguments {
		require.NotContains(t, argument, sup.SocketsDir())
		if info, err := os.Stat(argument); err == nil {
			require.Zero(t, info.Mode()&os.ModeSocket, argument)
		}
	}
}

// Python kernels, whether cold or from the pool, and kernels that are a command get one end of a
// socketpair.
func TestKernelsGetASocketpair(t *testing.T) {
	t.Parallel()
	t.Run("cold", func(t *testing.T) {
		t.Parallel()
		sup := newSupervisor(t)
		python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
		require.NoError(t, err)
		requireNoSocket(t, sup, startKernelWithSupervisor(t, sup, python, nil))
	})
	t.Run("pool", func(t *testing.T) {
		t.Parallel()
		w := startPool(t, "python3", kernel.PoolConfig{})
		requireNoSocket(t, w.sup, w.startKernel())
	})
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		sup := newSupervisor(t)
		program := filepath.Join(t.TempDir(), "kernel.py")
		require.NoError(t, os.WriteFile(program, []byte(originalKernel), 0o600))
		k := startKernelWithSupervisor(t, sup, nil, func(cfg *kernel.Config) { cfg.Command = []string{"python3", "-u", program} })
		requireNoSocket(t, sup, k)
		arguments, err := subprocesstest.CommandLine(k.PID())
		require.NoError(t, err)
		require.Equal(t, []string{"-u", program, "3"}, arguments[1:])
	})
}
