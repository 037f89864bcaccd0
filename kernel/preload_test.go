package kernel_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/kernel"
)

// writePythonModules writes Python modules, given as source by name, into a new folder and returns
// an environment in which they can be imported.
func writePythonModules(t *testing.T, sources map[string]string) []string {
	t.Helper()
	folder := t.TempDir()
	for name, source := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".py"), []byte(source), 0o600))
	}
	return append(os.Environ(), "PYTHONPATH="+folder)
}

// A module whose import sets signal handlers is not preloaded. If SIGCHLD were ignored in
// forked kernels, for example, every command of a cell would seem to succeed.
func TestPK16ModuleWithSignalHandlersIsExcluded(t *testing.T) {
	t.Parallel()
	environ := writePythonModules(t, map[string]string{
		"childless": "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)",
		"restored":  "import signal\nsignal.signal(signal.SIGUSR1, signal.signal(signal.SIGUSR1, signal.SIG_IGN))",
	})
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1, Environ: environ, PreloadModules: []string{"childless", "restored"}})
	require.Contains(t, w.log.String(), "module=childless reason=\"its import sets a signal handler\"")
	require.NotContains(t, w.log.String(), "restored")
	k := w.startKernel()
	require.NotNil(t, k.ReadyMessage.Pool)
	require.Equal(t, "7\n", k.stdoutOfCode("import subprocess\nprint(subprocess.run(['sh', '-c', 'exit 7']).returncode)"))
}

// If a module forks during its import, the forked process does not answer the requests to the
// pool's parent.
func TestPK16ForkDuringImport(t *testing.T) {
	t.Parallel()
	environ := writePythonModules(t, map[string]string{
		"forker": "import os\nPID = os.fork()\nif PID:\n    assert os.waitpid(PID, 0)[1] == 0",
	})
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 2, Environ: environ, PreloadModules: []string{"forker"}})
	for range 2 {
		require.Equal(t, "True\n", w.startKernel().stdoutOfCode("import forker\nprint(forker.PID > 0)"))
	}
	require.Equal(t, kernel.PoolStats{ForkedKernels: 2, ParentsStarted: 1}, w.Stats())
}

func TestPK16ModuleThatExitsIsAnError(t *testing.T) {
	t.Parallel()
	environ := writePythonModules(t, map[string]string{"leaver": "import sys\nsys.exit('bye')"})
	sup := newSupervisor(t)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	_, err = kernel.NewPool(t.Context(), sup, kernel.PoolConfig{Python: python, MaxKernels: 1, Environ: environ, PreloadModules: []string{"leaver"}})
	require.ErrorContains(t, err, "cannot import leaver: SystemExit: bye")
}

func TestPK16ImportsTimeOut(t *testing.T) {
	t.Parallel()
	environ := writePythonModules(t, map[string]string{"endless": "while True: pass"})
	sup := newSupervisor(t)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	_, err = kernel.NewPool(t.Context(), sup, kernel.PoolConfig{Python: python, MaxKernels: 1, Environ: environ, PreloadModules: []string{"endless"}, ReadyTimeout: time.Second})
	require.EqualError(t, err, "start the pool: pool did not say ready within 1s")
}

func TestPK16UnsafeModulesAreExcluded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, source := range map[string]string{
		"homely":   "import os\nHOME = os.path.expanduser('~')",
		"placed":   "import os\nHERE = os.path.abspath('data')",
		"threaded": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
		"innocent": "MARK = 1",
		"copycat":  "import os\nENV = dict(os.environ)",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".py"), []byte(source), 0o600))
	}
	environ := append(os.Environ(), "PYTHONPATH="+folder)
	w := startPool(t, "python3", kernel.PoolConfig{
		MaxKernels: 1, Environ: environ, PreloadModules: []string{"homely", "placed", "innocent", "copycat", "threaded"},
	})
	for _, reason := range []string{
		"module=homely", "its import reads HOME (in homely)", "module=placed", "its import reads the current folder (in placed)",
		"module=copycat", "module=threaded", "its import starts threads",
	} {
		require.Contains(t, w.log.String(), reason)
	}
	require.NotContains(t, w.log.String(), "innocent")
	k := startKernelWithSupervisor(t, w.sup, w.python, func(cfg *kernel.Config) { cfg.Pool, cfg.Environ = w.Pool, environ })
	require.NotNil(t, k.ReadyMessage.Pool)
	require.Equal(t, "['innocent']\n", k.stdoutOfCode("import sys\nprint([n for n in ('homely', 'placed', 'threaded', 'innocent', 'copycat') if n in sys.modules])"))
	require.Equal(t, k.workdir+"/data\n", k.stdoutOfCode("import placed\nprint(placed.HERE)"))
}

func TestPK16MissingModuleIsAnError(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	_, err = kernel.NewPool(t.Context(), sup, kernel.PoolConfig{Python: python, MaxKernels: 1, Environ: os.Environ(), PreloadModules: []string{"json", "no_such_module"}})
	require.EqualError(t, err, "preload: "+python.Executable+" cannot import no_such_module: ModuleNotFoundError: No module named 'no_such_module'")
	left, err := filepath.Glob(filepath.Join(sup.TempDir(), "pool-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A kernel whose folder has a matplotlibrc is started cold, because a preloaded matplotlib
// would not have read it.
func TestPK16FolderWithMatplotlibrcStartsCold(t *testing.T) {
	t.Parallel()
	w := startPool(t, resolveScientificPython(t), kernel.PoolConfig{MaxKernels: 2, PreloadModules: []string{"matplotlib"}})
	k := startKernelWithSupervisor(t, w.sup, w.python, func(cfg *kernel.Config) {
		cfg.Pool = w.Pool
		require.NoError(t, os.WriteFile(filepath.Join(cfg.Workdir, "matplotlibrc"), []byte("lines.linewidth: 7.5\n"), 0o600))
	})
	require.Nil(t, k.ReadyMessage.Pool)
	require.Equal(t, "7.5\n", k.stdoutOfCode("import matplotlib\nprint(matplotlib.rcParams['lines.linewidth'])"))
	require.Contains(t, w.log.String(), "would not read the matplotlibrc")
	require.Equal(t, kernel.PoolStats{ColdKernels: 1, ParentsStarted: 1}, w.Stats())
}
