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
	"assay/internal/subprocess"
	"assay/kernel"
)

// warm is a pool and what it takes to start its kernels.
type warm struct {
	*kernel.Pool
	t      *testing.T
	sup    *subprocess.Supervisor
	python *kernel.Python
	log    *lines
}

// lines is a log that tests look at.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func startPool(t *testing.T, interpreter string, cfg kernel.PoolConfig) *warm {
	t.Helper()
	sup := supervisor(t)
	python, err := kernel.ResolvePython(t.Context(), interpreter, sup.TempDir())
	require.NoError(t, err)
	w := &warm{t: t, sup: sup, python: python, log: &lines{}}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	cfg.Python, cfg.Log = python, slog.New(slog.NewTextHandler(w.log, nil))
	w.Pool, err = kernel.NewPool(t.Context(), sup, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close(context.Background())) })
	return w
}

func (w *warm) start() *started {
	w.t.Helper()
	return startOf(w.t, w.sup, w.python, func(cfg *kernel.Config) { cfg.Pool = w.Pool })
}

// parent is the process id of the pool's process, as a kernel of it tells.
func parentOf(k *started) int { return k.ReadyMessage.Pool.ParentPID }

// printed runs code and returns what it prints.
func (k *started) printed(code string) string {
	k.t.Helper()
	return text(k.run(code), protocol.Stdout)
}

func TestPK16AForkIsAKernelLikeAnyOther(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4, PreloadModules: []string{"json"}})
	k := w.start()
	require.NotNil(t, k.ReadyMessage.Pool, "it comes from the pool")
	require.Equal(t, k.PID(), k.ReadyMessage.PID)
	require.Equal(t, []int{1, 0}, []int{k.ReadyMessage.Pool.Threads, k.ReadyMessage.Pool.Children})
	require.Empty(t, k.ReadyMessage.Pool.Globals)
	require.Empty(t, k.ReadyMessage.Pool.OpenDescriptors)
	require.Empty(t, k.ReadyMessage.Pool.Environ)

	cold := startOf(t, w.sup, w.python, nil)
	// What a program can see of where it runs is what one sees that was started.
	look := strings.Join([]string{
		"import os, sys, signal, threading, resource",
		"print(sorted(set(os.environ)))",
		"print(os.environ['HOME'] == os.getcwd() + '/.assay/home', os.getcwd() == os.environ['LATCH_SANDBOX_ROOT'])",
		"print(os.getpgrp() == os.getpid(), os.getppid() != os.getpid())",
		"print(sys.argv, sys.path, sys.flags, sys.stdin.read(), os.read(0, 1))",
		"print(threading.current_thread() is threading.main_thread(), threading.active_count())",
		"print([signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)])",
		"print(resource.getrlimit(resource.RLIMIT_NOFILE), os.umask(0o22), __name__)",
		"print(len(os.listdir('/proc/self/fd')))",
	}, "\n")
	require.Equal(t, cold.printed(look), k.printed(look))
	require.Equal(t, "1\n2\n", k.printed("import subprocess\nprint(1)\nsubprocess.run(['echo', '2'])"), "its descriptors are drained")

	k.send("print('on', flush=True)\nwhile True: pass")
	for f := (frame{}); f.Data != "on\n"; {
		var err error
		f, err = k.next()
		require.NoError(t, err)
	}
	require.NoError(t, k.Write(fmt.Appendf(nil, `{"type":"stop_cell","cell_id":"c%d"}`, k.n)))
	for f := (frame{}); f.Type != protocol.TypeCellResult; {
		var err error
		f, err = k.next()
		require.NoError(t, err)
		if f.Type == protocol.TypeCellResult {
			require.Equal(t, protocol.StatusInterrupted, f.Status)
		}
	}
}

func TestPK16ForksShareNothing(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4, PreloadModules: []string{"random"}})
	a, b := w.start(), w.start()
	require.Equal(t, "set\n", a.printed("import json, os\njson.mark = x = 1\nos.environ['MARK'] = '1'\nos.chdir('/')\nprint('set')"))
	require.Equal(t, "False None False\n", b.printed("import json, os\nprint(hasattr(json, 'mark'), os.environ.get('MARK'), 'x' in globals())"))
	c := w.start()
	require.Equal(t, "False None False\n", c.printed("import json, os\nprint(hasattr(json, 'mark'), os.environ.get('MARK'), 'x' in globals())"))
	draw := "import random, uuid, tempfile\nprint(random.random(), uuid.uuid4(), tempfile.mktemp())"
	drawn := map[string]bool{a.printed(draw): true, b.printed(draw): true, c.printed(draw): true}
	require.Len(t, drawn, 3, "each draws its own numbers")
}

func TestPK16NumpyDrawsOtherNumbersInEachFork(t *testing.T) {
	t.Parallel()
	w := startPool(t, scientific(t), kernel.PoolConfig{MaxKernels: 4, PreloadModules: []string{"numpy", "pandas", "matplotlib"}})
	a, b := w.start(), w.start()
	require.NotNil(t, a.ReadyMessage.Pool.Seed)
	require.NotEqual(t, *a.ReadyMessage.Pool.Seed, *b.ReadyMessage.Pool.Seed)
	draw := "import numpy\nprint(numpy.random.rand())"
	first := a.printed(draw)
	require.NotEqual(t, first, b.printed(draw))
	require.Equal(t, first, a.printed(fmt.Sprintf("numpy.random.seed(%d)\nprint(numpy.random.rand())", *a.ReadyMessage.Pool.Seed)), "the seed that is recorded gives the numbers")
	require.Equal(t, "True True\n", a.printed("import sys\nprint('pandas' in sys.modules, 'matplotlib.pyplot' in sys.modules)"))
	backend := "import matplotlib\nprint(matplotlib.get_backend())"
	require.Equal(t, startOf(t, w.sup, w.python, nil).printed(backend), a.printed(backend))
	require.Empty(t, w.log.String(), "all three may be held")
}

// scientific is an interpreter that has numpy, pandas and matplotlib.
func scientific(t *testing.T) string {
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

func TestPK16AnExhaustedPoolIsAColdStart(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1})
	first := w.start()
	require.NotNil(t, first.ReadyMessage.Pool)
	second := w.start()
	require.Nil(t, second.ReadyMessage.Pool)
	require.Equal(t, "2\n", second.printed("print(1 + 1)"))
	require.Equal(t, kernel.PoolStats{ForkedKernels: 1, ColdKernels: 1, ParentsStarted: 1}, w.Stats())
	require.NoError(t, first.Stop(t.Context()))
	require.NotNil(t, w.start().ReadyMessage.Pool, "its place is free again")
	require.Equal(t, kernel.PoolStats{ForkedKernels: 2, ColdKernels: 1, ParentsStarted: 1}, w.Stats())
}

func TestPK16TheEndOfAForkIsToldWithItsCause(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 8})
	for code, want := range map[string]string{
		"import os\nos._exit(5)":              "kernel exited with status 5",
		"import ctypes\nctypes.string_at(0)":  "kernel was killed by SIGSEGV; it printed last: Fatal Python error",
		"import os\nos.kill(os.getpid(), 9)":  "kernel was killed by SIGKILL",
		"import os\nos.kill(os.getppid(), 9)": "kernel ended, nobody can tell how",
	} {
		k := w.start()
		if strings.Contains(code, "getppid") {
			k.run(code)
			awaitDeath(t, parentOf(k))
			require.Equal(t, "1\n", k.printed("print(1)"), "it lives on without its parent")
			code = "os._exit(7)"
		}
		k.send(code)
		var err error
		for err == nil {
			_, err = k.next()
		}
		var died *subprocess.ExitError
		require.ErrorAs(t, err, &died)
		require.ErrorContains(t, err, want)
	}
}

func awaitDeath(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) },
		20*time.Second, time.Millisecond, "process %d", pid)
}

func TestPK16AnotherParentTakesThePlaceOfADeadOne(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4})
	old := w.start()
	require.Empty(t, old.printed("x = 'kept'"))
	require.NoError(t, syscall.Kill(parentOf(old), syscall.SIGKILL))
	require.Eventually(t, func() bool { return w.Stats().ParentsStarted == 2 }, 20*time.Second, time.Millisecond)
	require.Equal(t, "kept\n", old.printed("print(x)"), "nothing is lost")
	next := w.start()
	require.NotNil(t, next.ReadyMessage.Pool)
	require.NotEqual(t, parentOf(old), parentOf(next))
	require.Contains(t, w.log.String(), "another takes its place")
	require.NoError(t, old.Stop(t.Context()))
	awaitDeath(t, old.PID()) // whoever adopted it reaps it, in its own time
}

// A parent that hangs costs one start its patience, and no kernel its life.
func TestPK16AParentThatHangsIsReplaced(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 4})
	old := w.start()
	require.NoError(t, syscall.Kill(parentOf(old), syscall.SIGSTOP))
	cold := w.start()
	require.Nil(t, cold.ReadyMessage.Pool)
	require.Equal(t, "1\n", cold.printed("print(1)"))
	require.Equal(t, "1\n", old.printed("print(1)"))
	require.Eventually(t, func() bool { return w.Stats().ParentsStarted == 2 }, 20*time.Second, time.Millisecond)
	require.NotNil(t, w.start().ReadyMessage.Pool)
}

func TestPK16WhatMustNotBeHeldIsLeftOut(t *testing.T) {
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
		"module=homely", "it looks at HOME (in homely)", "module=placed", "it looks at the current folder (in placed)",
		"module=copycat", "module=threaded", "it starts threads",
	} {
		require.Contains(t, w.log.String(), reason)
	}
	require.NotContains(t, w.log.String(), "innocent")
	k := startOf(t, w.sup, w.python, func(cfg *kernel.Config) { cfg.Pool, cfg.Environ = w.Pool, environ })
	require.NotNil(t, k.ReadyMessage.Pool)
	require.Equal(t, "['innocent']\n", k.printed("import sys\nprint([n for n in ('homely', 'placed', 'threaded', 'innocent', 'copycat') if n in sys.modules])"))
	require.Equal(t, k.sandbox+"/data\n", k.printed("import placed\nprint(placed.HERE)"))
}

func TestPK16AModuleThatIsMissingIsAnError(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	_, err = kernel.NewPool(t.Context(), sup, kernel.PoolConfig{Python: python, MaxKernels: 1, Environ: os.Environ(), PreloadModules: []string{"json", "no_such_module"}})
	require.EqualError(t, err, "preload: "+python.Executable+" cannot import no_such_module: ModuleNotFoundError: No module named 'no_such_module'")
	left, err := filepath.Glob(filepath.Join(sup.TempDir(), "pool-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A folder's own matplotlibrc was not there when matplotlib was imported.
func TestPK16AFolderThatDisagreesIsAColdStart(t *testing.T) {
	t.Parallel()
	w := startPool(t, scientific(t), kernel.PoolConfig{MaxKernels: 2, PreloadModules: []string{"matplotlib"}})
	k := startOf(t, w.sup, w.python, func(cfg *kernel.Config) {
		cfg.Pool = w.Pool
		require.NoError(t, os.WriteFile(filepath.Join(cfg.Workdir, "matplotlibrc"), []byte("lines.linewidth: 7.5\n"), 0o600))
	})
	require.Nil(t, k.ReadyMessage.Pool)
	require.Equal(t, "7.5\n", k.printed("import matplotlib\nprint(matplotlib.rcParams['lines.linewidth'])"))
	require.Contains(t, w.log.String(), "would not read the matplotlibrc")
	require.Equal(t, kernel.PoolStats{ColdKernels: 1, ParentsStarted: 1}, w.Stats())
}

func TestPK16ManyAtOnceAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 20})
	var kernels [24]*started
	var all sync.WaitGroup
	for i := range kernels {
		all.Go(func() { kernels[i] = w.start() })
	}
	all.Wait()
	require.Equal(t, kernel.PoolStats{ForkedKernels: 20, ColdKernels: 4, ParentsStarted: 1}, w.Stats())
	parent := 0
	for i, k := range kernels {
		require.Equal(t, fmt.Sprintln(i*i), k.printed(fmt.Sprintf("import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint(%d ** 2)", i)))
		if k.ReadyMessage.Pool != nil {
			parent = parentOf(k)
		}
	}
	for _, k := range kernels {
		all.Go(func() { require.NoError(t, k.Stop(context.Background())) })
	}
	all.Wait()
	children, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(parent), "task", strconv.Itoa(parent), "children"))
	require.NoError(t, err)
	require.Empty(t, string(children), "none is left, not even a dead one")
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(parent), "fd"))
	require.NoError(t, err)
	require.Len(t, files, 4, "its own three and the socket")
}

// When the server goes, however it goes, the parent takes its kernels with it.
func TestPK16TheParentKillsItsKernelsAtTheEnd(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 2})
	k := w.start()
	require.NoError(t, w.Close(t.Context()))
	var err error
	for err == nil {
		_, err = k.next()
	}
	var died *subprocess.ExitError
	require.ErrorAs(t, err, &died)
	require.Nil(t, w.start().ReadyMessage.Pool, "a closed pool has no kernels")
}
