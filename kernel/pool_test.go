package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/kernel"
)

// testPool is a pool together with the supervisor, interpreter and log that tests need to
// start kernels from it.
type testPool struct {
	*kernel.Pool
	t       *testing.T
	sup     *subprocess.Supervisor
	python  *kernel.Python
	log     *logBuffer
	sandbox *sandbox.Template // of the kernels; nil: none
}

// logBuffer collects log lines. It is safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startPool starts a pool with this interpreter and closes it after the test.
func startPool(t *testing.T, interpreter string, cfg kernel.PoolConfig) *testPool {
	t.Helper()
	sup := newSupervisor(t)
	python, err := kernel.ResolvePython(t.Context(), interpreter, sup.TempDir())
	require.NoError(t, err)
	w := &testPool{t: t, sup: sup, python: python, log: &logBuffer{}}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	cfg.Python, cfg.Log = python, slog.New(slog.NewTextHandler(w.log, nil))
	w.Pool, err = kernel.NewPool(t.Context(), sup, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close(context.Background())) })
	return w
}

// startKernel starts a kernel from the pool, or cold if the pool cannot fork, and stops it
// after the test.
func (w *testPool) startKernel() *testKernel {
	w.t.Helper()
	return startKernelWithSupervisor(w.t, w.sup, w.python, func(cfg *kernel.Config) { cfg.Pool, cfg.Sandbox = w.Pool, w.sandbox })
}

// poolParentPIDOf returns the process id of the pool's parent that forked k.
func poolParentPIDOf(k *testKernel) int { return k.ReadyMessage.Pool.ParentPID }

// stdoutOfCode runs code as a new cell and returns the text that it prints to stdout.
func (k *testKernel) stdoutOfCode(code string) string {
	k.t.Helper()
	return streamText(k.runCell(code), protocol.Stdout)
}

func TestPK16ForkIsLikeAColdKernel(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4, PreloadModules: []string{"json"}})
	k := w.startKernel()
	require.NotNil(t, k.ReadyMessage.Pool, "it was forked by the pool")
	require.Equal(t, k.PID(), k.ReadyMessage.PID)
	require.Equal(t, []int{1, 0}, []int{k.ReadyMessage.Pool.Threads, k.ReadyMessage.Pool.Children})
	require.Empty(t, k.ReadyMessage.Pool.Globals)
	require.Empty(t, k.ReadyMessage.Pool.OpenDescriptors)
	require.Empty(t, k.ReadyMessage.Pool.Environ)

	cold := startKernelWithSupervisor(t, w.sup, w.python, nil)
	// A program sees the same surroundings in a fork as in a kernel that was started cold.
	look := strings.Join([]string{
		"import os, sys, signal, threading, resource",
		"print(sorted(set(os.environ)))",
		"print(os.environ['HOME'] == os.getcwd() + '/.assay/home', os.getcwd() == os.environ['LATCH_SANDBOX_ROOT'])",
		"print(os.getpgrp() == os.getpid() == os.getsid(0), os.getppid() != os.getpid())",
		"print(sys.argv, sys.path, sys.flags, sys.stdin.read(), os.read(0, 1))",
		"print(threading.current_thread() is threading.main_thread(), threading.active_count())",
		"print([signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)])",
		"print(resource.getrlimit(resource.RLIMIT_NOFILE), os.umask(0o22), __name__)",
		"print(len(os.listdir('/proc/self/fd')))",
	}, "\n")
	require.Equal(t, cold.stdoutOfCode(look), k.stdoutOfCode(look))
	require.Equal(t, "1\n2\n", k.stdoutOfCode("import subprocess\nprint(1)\nsubprocess.run(['echo', '2'])"), "its descriptors are drained")

	k.sendRunCell("print('on', flush=True)\nwhile True: pass")
	for f := (frameFields{}); f.Data != "on\n"; {
		var err error
		f, err = k.readFrame()
		require.NoError(t, err)
	}
	require.NoError(t, k.Write(fmt.Appendf(nil, `{"type":"stop_cell","cell_id":"c%d"}`, k.runCount)))
	for f := (frameFields{}); f.Type != protocol.TypeCellResult; {
		var err error
		f, err = k.readFrame()
		require.NoError(t, err)
		if f.Type == protocol.TypeCellResult {
			require.Equal(t, protocol.StatusInterrupted, f.Status)
		}
	}
}

// A forked kernel reports which limits are in force for it, not which ones the machine could
// enforce.
func TestForkedKernelReportsEnforcedLimits(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1})
	limits := &sandbox.Template{Machine: sandbox.Machine{IsRoot: os.Getuid() == 0}, Rules: sandbox.Rules{MaxMemoryBytes: 8 << 30, MaxProcesses: 1 << 30}} // no machine has so many
	k := startKernelWithSupervisor(t, w.sup, w.python, func(cfg *kernel.Config) { cfg.Pool, cfg.Sandbox = w.Pool, limits })
	require.NotNil(t, k.ReadyMessage.Pool)
	enforced := k.EnforcedLimits()
	require.Equal(t, w.sup.Enforceable()["cgroup_kill"], enforced["cgroup_kill"])
	require.True(t, enforced["process_group"])
	require.True(t, enforced["memory"])
	require.False(t, enforced["read"], "this machine is said to have no Landlock")
	require.Equal(t, os.Getuid() != 0, enforced["processes"], "no cgroup takes that limit")
}

func TestPK16ForksShareNothing(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4, PreloadModules: []string{"random"}})
	a, b := w.startKernel(), w.startKernel()
	require.Equal(t, "set\n", a.stdoutOfCode("import json, os\njson.mark = x = 1\nos.environ['MARK'] = '1'\nos.chdir('/')\nprint('set')"))
	require.Equal(t, "False None False\n", b.stdoutOfCode("import json, os\nprint(hasattr(json, 'mark'), os.environ.get('MARK'), 'x' in globals())"))
	c := w.startKernel()
	require.Equal(t, "False None False\n", c.stdoutOfCode("import json, os\nprint(hasattr(json, 'mark'), os.environ.get('MARK'), 'x' in globals())"))
	draw := "import random, uuid, tempfile\nprint(random.random(), uuid.uuid4(), tempfile.mktemp())"
	drawn := map[string]bool{a.stdoutOfCode(draw): true, b.stdoutOfCode(draw): true, c.stdoutOfCode(draw): true}
	require.Len(t, drawn, 3, "each draws its own numbers")
}

func TestPK16NumpySeedDiffersInEachFork(t *testing.T) {
	t.Parallel()
	w := startPool(t, resolveScientificPython(t), kernel.PoolConfig{MaxKernels: 4, PreloadModules: []string{"numpy", "pandas", "matplotlib"}})
	a, b := w.startKernel(), w.startKernel()
	require.NotNil(t, a.ReadyMessage.Pool.Seed)
	require.NotEqual(t, *a.ReadyMessage.Pool.Seed, *b.ReadyMessage.Pool.Seed)
	draw := "import numpy\nprint(numpy.random.rand())"
	first := a.stdoutOfCode(draw)
	require.NotEqual(t, first, b.stdoutOfCode(draw))
	require.Equal(t, first, a.stdoutOfCode(fmt.Sprintf("numpy.random.seed(%d)\nprint(numpy.random.rand())", *a.ReadyMessage.Pool.Seed)), "the reported seed reproduces the numbers")
	require.Equal(t, "True True\n", a.stdoutOfCode("import sys\nprint('pandas' in sys.modules, 'matplotlib.pyplot' in sys.modules)"))
	backend := "import matplotlib\nprint(matplotlib.get_backend())"
	require.Equal(t, startKernelWithSupervisor(t, w.sup, w.python, nil).stdoutOfCode(backend), a.stdoutOfCode(backend))
	require.Empty(t, w.log.String(), "all three may be preloaded")
}

// resolveScientificPython returns the path of an interpreter that has numpy, pandas and
// matplotlib. If there is none, the test is skipped; in CI it fails.
func resolveScientificPython(t *testing.T) string {
	t.Helper()
	for _, interpreter := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), interpreter, "-c", "import numpy, pandas, matplotlib").Run() == nil {
			return interpreter
		}
	}
	require.NotEqual(t, "true", os.Getenv("CI"), "CI installs numpy, pandas and matplotlib")
	t.Skip("no interpreter here has numpy, pandas and matplotlib")
	return ""
}

func TestPK16FullPoolStartsCold(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1})
	first := w.startKernel()
	require.NotNil(t, first.ReadyMessage.Pool)
	second := w.startKernel()
	require.Nil(t, second.ReadyMessage.Pool)
	require.Equal(t, "2\n", second.stdoutOfCode("print(1 + 1)"))
	require.Equal(t, kernel.PoolStats{ForkedKernels: 1, ColdKernels: 1, ParentsStarted: 1}, w.Stats())
	require.NoError(t, first.Stop(t.Context()))
	require.NotNil(t, w.startKernel().ReadyMessage.Pool, "its place is free again")
	require.Equal(t, kernel.PoolStats{ForkedKernels: 2, ColdKernels: 1, ParentsStarted: 1}, w.Stats())
}

func TestPK16DeathOfForkReportsItsCause(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 8})
	for code, want := range map[string]string{
		"import os\nos._exit(5)":              "kernel exited with status 5",
		"import ctypes\nctypes.string_at(0)":  "kernel was killed by SIGSEGV; it printed last: Fatal Python error",
		"import os\nos.kill(os.getpid(), 9)":  "kernel was killed by SIGKILL",
		"import os\nos.kill(os.getppid(), 9)": "kernel ended with an unknown exit status",
	} {
		k := w.startKernel()
		if strings.Contains(code, "getppid") {
			k.runCell(code)
			awaitProcessGone(t, poolParentPIDOf(k))
			require.Equal(t, "1\n", k.stdoutOfCode("print(1)"), "it lives on without its parent")
			code = "os._exit(7)"
		}
		k.sendRunCell(code)
		var err error
		for err == nil {
			_, err = k.readFrame()
		}
		var died *subprocess.ExitError
		require.ErrorAs(t, err, &died)
		require.ErrorContains(t, err, want)
	}
}

// awaitProcessGone waits until no process has this id, at most 20 s.
func awaitProcessGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) },
		20*time.Second, time.Millisecond, "process %d", pid)
}

func TestPK16DeadParentIsReplaced(t *testing.T) {
	t.Parallel()
	requireDeadParentIsReplaced(t, startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4}))
}

// requireDeadParentIsReplaced kills the parent of w, which must have places for two kernels.
func requireDeadParentIsReplaced(t *testing.T, w *testPool) {
	t.Helper()
	old := w.startKernel()
	require.Empty(t, old.stdoutOfCode("x = 'kept'"))
	require.NoError(t, syscall.Kill(poolParentPIDOf(old), syscall.SIGKILL))
	require.Eventually(t, func() bool { return w.Stats().ParentsStarted == 2 }, 20*time.Second, time.Millisecond)
	require.Equal(t, "kept\n", old.stdoutOfCode("print(x)"), "nothing is lost")
	next := w.startKernel()
	require.NotNil(t, next.ReadyMessage.Pool)
	require.NotEqual(t, poolParentPIDOf(old), poolParentPIDOf(next))
	require.Contains(t, w.log.String(), "another is started")
	command := []string{"sleep", fmt.Sprint(1_000_000 + old.PID())}
	require.Empty(t, old.stdoutOfCode(fmt.Sprintf("import subprocess\nchild = subprocess.Popen(%q.split(), start_new_session=True)", strings.Join(command, " "))))
	require.NotEmpty(t, processesOf(t, command))
	began := time.Now()
	require.NoError(t, old.Stop(t.Context()))
	require.Less(t, time.Since(began), subprocess.StopGrace, "it waits for nothing that only init can do")
	if w.sandbox != nil {
		require.Empty(t, processesOf(t, command))
	}
	awaitProcessGone(t, old.PID()) // init reaps it, some time later
}

// processesOf returns the folders in /proc of the processes that run a command.
func processesOf(t *testing.T, command []string) (found []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range paths {
		text, _ := os.ReadFile(path) // fails if it has ended
		if string(text) == strings.Join(command, "\x00")+"\x00" {
			found = append(found, path)
		}
	}
	return found
}

// If the pool's parent process hangs, a start of a kernel waits until parentAnswerTimeout and
// is then cold. Another parent is started, and kernels that run go on.
func TestPK16HangingParentIsReplaced(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4})
	old := w.startKernel()
	require.NoError(t, syscall.Kill(poolParentPIDOf(old), syscall.SIGSTOP))
	cold := w.startKernel()
	require.Nil(t, cold.ReadyMessage.Pool)
	require.Equal(t, "1\n", cold.stdoutOfCode("print(1)"))
	require.Equal(t, "1\n", old.stdoutOfCode("print(1)"))
	require.Eventually(t, func() bool { return w.Stats().ParentsStarted == 2 }, 20*time.Second, time.Millisecond)
	require.NotNil(t, w.startKernel().ReadyMessage.Pool)
}

func TestPK16StoppedKernelsLeaveNoProcesses(t *testing.T) {
	t.Parallel()
	requireStoppedKernelsLeaveNoProcesses(t, startPool(t, "python3", kernel.PoolConfig{MaxKernels: 20}))
}

// requireStoppedKernelsLeaveNoProcesses starts and stops 24 kernels of w, which must have places for 20.
func requireStoppedKernelsLeaveNoProcesses(t *testing.T, w *testPool) {
	t.Helper()
	var kernels [24]*testKernel
	var all sync.WaitGroup
	for i := range kernels {
		all.Go(func() { kernels[i] = w.startKernel() })
	}
	all.Wait()
	require.Equal(t, kernel.PoolStats{ForkedKernels: 20, ColdKernels: 4, ParentsStarted: 1}, w.Stats())
	parent := 0
	for i, k := range kernels {
		require.Equal(t, fmt.Sprintln(i*i), k.stdoutOfCode(fmt.Sprintf("import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint(%d ** 2)", i)))
		if k.ReadyMessage.Pool != nil {
			parent = poolParentPIDOf(k)
		}
	}
	for _, k := range kernels {
		all.Go(func() { require.NoError(t, k.Stop(context.Background())) })
	}
	all.Wait()
	children, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(parent), "task", strconv.Itoa(parent), "children"))
	require.NoError(t, err)
	require.Empty(t, string(children), "none is left, not even a zombie")
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(parent), "fd"))
	require.NoError(t, err)
	require.Len(t, files, 4, "its three streams and the socket")
}

// The pool's parent process kills its kernels when its socket closes, as when the server dies.
func TestPK16ParentKillsItsKernels(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 2})
	k := w.startKernel()
	require.NoError(t, w.Close(t.Context()))
	var err error
	for err == nil {
		_, err = k.readFrame()
	}
	var died *subprocess.ExitError
	require.ErrorAs(t, err, &died)
	require.Nil(t, w.startKernel().ReadyMessage.Pool, "a closed pool has no kernels")
}

// A parent process that dies again and again is started at most once a second.
func TestPK16ParentRestartsAreRateLimited(t *testing.T) {
	t.Parallel()
	began := time.Now()
	environ := writePythonModules(t, map[string]string{"mortal": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 1.5)"})
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1, Environ: environ, PreloadModules: []string{"mortal"}})
	require.Eventually(t, func() bool { return w.Stats().ParentsStarted == 2 }, 20*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
}

// A kernel that fails to start does not count against the pool's MaxKernels.
func TestPK16FailedStartFreesPlaceInPool(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	impossible := &sandbox.Template{Rules: sandbox.Rules{Network: "nonsense"}}
	_, err := kernel.Start(ctx, w.sup, kernel.Config{Python: w.python, Pool: w.Pool, Sandbox: impossible, Workdir: t.TempDir(), Session: "s"})
	require.ErrorContains(t, err, "nonsense")
	require.NotNil(t, w.startKernel().ReadyMessage.Pool)
	require.Equal(t, kernel.PoolStats{ForkedKernels: 1, ParentsStarted: 1}, w.Stats())
}
