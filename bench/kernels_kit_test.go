//go:build bench

package bench_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
	"assay/kernel"
)

// kit is what kernels are started with, by the interpreter that has ipykernel.
type kit struct {
	*program
	python *kernel.Python
	fence  *sandbox.Template
	beside bool // ipykernel can be measured
}

func newKit(t *testing.T, p *program) *kit {
	t.Helper()
	k := &kit{program: p, beside: hasJupyter(t)}
	name := debianPython
	if !k.beside {
		name = p.python.Executable
	}
	var err error
	k.python, err = kernel.ResolvePython(t.Context(), name, t.TempDir())
	require.NoError(t, err)
	k.fence = &sandbox.Template{Machine: sandbox.ProbeMachine(t.Context(), p.door()), Rules: sandbox.Rules{
		Network: sandbox.NetworkOn, MaxMemoryBytes: 8 << 30, MaxFileBytes: 2 << 30, MaxProcesses: 4096, MaxOpenFiles: 4096, ReadPaths: sandbox.SystemPaths(),
	}}
	return k
}

// pool is a parent of so many kernels with modules.
func (k *kit) pool(t *testing.T, size int, modules ...string) *kernel.Pool {
	t.Helper()
	pool, err := kernel.NewPool(t.Context(), k.supervisor, kernel.PoolConfig{
		Python: k.python, MaxKernels: size, PreloadModules: modules, Environ: os.Environ(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close(context.Background())) })
	return pool
}

// started is one of our kernels, driven from here.
type started struct {
	*cells
	kernel *kernel.Kernel
}

// start starts a kernel as cfg says, in a folder of its own.
func (k *kit) start(t *testing.T, cfg kernel.Config) started {
	t.Helper()
	return k.startIn(t, folder(t), cfg)
}

func (k *kit) startIn(t *testing.T, sandbox string, cfg kernel.Config) started {
	t.Helper()
	if cfg.Command == nil {
		cfg.Python = k.python
	}
	cfg.Workdir, cfg.Session, cfg.Environ = sandbox, "bench", os.Environ()
	one, err := kernel.Start(t.Context(), k.supervisor, cfg)
	require.NoError(t, err)
	return started{newCells(t, one), one}
}

func (s started) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.kernel.Stop(context.Background()))
}

// folder is one for a kernel.
func folder(t *testing.T) string {
	t.Helper()
	sandbox := t.TempDir()
	for _, name := range []string{"home", "tmp", "mpl"} {
		require.NoError(t, os.MkdirAll(filepath.Join(sandbox, ".assay", name), 0o700))
	}
	return sandbox
}
