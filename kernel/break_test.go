package kernel_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/kernel"
)

// modules writes modules and returns an environment in which they are found.
func modules(t *testing.T, sources map[string]string) []string {
	t.Helper()
	folder := t.TempDir()
	for name, source := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".py"), []byte(source), 0o600))
	}
	return append(os.Environ(), "PYTHONPATH="+folder)
}

// A SIGCHLD that is ignored makes every command of a cell succeed.
func TestPK16AModuleThatHandlesSignalsIsLeftOut(t *testing.T) {
	t.Parallel()
	environ := modules(t, map[string]string{
		"childless": "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)",
		"restored":  "import signal\nsignal.signal(signal.SIGUSR1, signal.signal(signal.SIGUSR1, signal.SIG_IGN))",
	})
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1, Environ: environ, PreloadModules: []string{"childless", "restored"}})
	require.Contains(t, w.log.String(), "module=childless reason=\"while it is imported it sets a handler of a signal\"")
	require.NotContains(t, w.log.String(), "restored")
	k := w.start()
	require.NotNil(t, k.ReadyMessage.Pool)
	require.Equal(t, "7\n", k.printed("import subprocess\nprint(subprocess.run(['sh', '-c', 'exit 7']).returncode)"))
}

// A process that a module forks must not answer in the parent's place.
func TestPK16AModuleThatForksLeavesOneParent(t *testing.T) {
	t.Parallel()
	environ := modules(t, map[string]string{
		"forker": "import os\nPID = os.fork()\nif PID:\n    assert os.waitpid(PID, 0)[1] == 0",
	})
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 2, Environ: environ, PreloadModules: []string{"forker"}})
	for range 2 {
		require.Equal(t, "True\n", w.start().printed("import forker\nprint(forker.PID > 0)"))
	}
	require.Equal(t, kernel.PoolStats{ForkedKernels: 2, ParentsStarted: 1}, w.Stats())
}

func TestPK16AModuleThatExitsIsNamed(t *testing.T) {
	t.Parallel()
	environ := modules(t, map[string]string{"leaver": "import sys\nsys.exit('bye')"})
	sup := supervisor(t)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	_, err = kernel.NewPool(t.Context(), sup, kernel.PoolConfig{Python: python, MaxKernels: 1, Environ: environ, PreloadModules: []string{"leaver"}})
	require.ErrorContains(t, err, "cannot import leaver: SystemExit: bye")
}

// What kills the parent again and again does not keep the machine busy.
func TestPK16AParentThatDiesAtOnceIsReplacedInTime(t *testing.T) {
	t.Parallel()
	began := time.Now()
	environ := modules(t, map[string]string{"mortal": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.3)"})
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1, Environ: environ, PreloadModules: []string{"mortal"}})
	require.Eventually(t, func() bool { return w.Stats().ParentsStarted == 2 }, 20*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
}

func TestPK16ImportsHaveADeadline(t *testing.T) {
	t.Parallel()
	environ := modules(t, map[string]string{"endless": "while True: pass"})
	sup := supervisor(t)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	_, err = kernel.NewPool(t.Context(), sup, kernel.PoolConfig{Python: python, MaxKernels: 1, Environ: environ, PreloadModules: []string{"endless"}, ReadyTimeout: time.Second})
	require.EqualError(t, err, "start the pool: pool did not say ready within 1s")
}

// A kernel that cannot be made, for whatever reason, gives its place back.
func TestPK16ACancelledStartGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	impossible := &sandbox.Template{Rules: sandbox.Rules{Network: "nonsense"}}
	_, err := kernel.Start(ctx, w.sup, kernel.Config{Python: w.python, Pool: w.Pool, Sandbox: impossible, Workdir: t.TempDir(), Session: "s"})
	require.ErrorContains(t, err, "nonsense")
	require.NotNil(t, w.start().ReadyMessage.Pool)
	require.Equal(t, kernel.PoolStats{ForkedKernels: 1, ParentsStarted: 1}, w.Stats())
}

// A fork of a fork has left the socket already.
func TestAForkOfAForkIsQuiet(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	frames := k.run(strings.Join([]string{
		"import os",
		"if os.fork() == 0:",
		"    if os.fork() == 0: os._exit(0)",
		"    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))",
		"print(os.wait()[1])",
	}, "\n"))
	require.Equal(t, "0\n", text(frames, protocol.Stdout))
	require.Empty(t, text(frames, protocol.Stderr))
}

const deaf = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nprint('on', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"

// asks sends a run or a stop of the cell "a".
func (k *started) asks(kind string, code string) {
	k.t.Helper()
	command := protocol.CellCommand{Type: kind, CellID: "a"}
	if kind == protocol.TypeRunCell {
		command.Code = &code
	}
	body, err := json.Marshal(command)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// until reads on to the first frame that matches, and returns all up to it.
func (k *started) until(match func(frame) bool) []frame {
	k.t.Helper()
	for frames := []frame{}; ; {
		f, err := k.next()
		require.NoError(k.t, err)
		frames = append(frames, f)
		if match(f) {
			return frames
		}
	}
}

// That a cell is to run once more does not make its stuck run good.
func TestPK7AStuckCellThatIsToRunOnceMoreIsStuck(t *testing.T) {
	t.Parallel()
	stuck := make(chan string, 1)
	k := start(t, func(cfg *kernel.Config) {
		cfg.OnStuck = func(what string) bool {
			stuck <- what
			return true
		}
	})
	k.asks(protocol.TypeRunCell, deaf)
	k.until(func(f frame) bool { return f.Data == "on\n" })
	k.asks(protocol.TypeStopCell, "")
	k.asks(protocol.TypeRunCell, "print('again')")
	k.asks(protocol.TypeStopCell, "")
	for {
		f, err := k.next()
		if err != nil {
			require.ErrorContains(t, err, "has not stopped for 5s")
			break
		}
		require.NotEqual(t, protocol.TypeCellResult, f.Type, "nothing of the cell has ended")
	}
	require.Contains(t, <-stuck, `the cell "a" has not stopped`)
}

// A run that was asked for after the stop is not what was told to stop.
func TestPK7ACellRunsOnceMoreAfterItWasStopped(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	k.asks(protocol.TypeRunCell, "for _ in range(3): # an interrupt each second\n    try:\n        print('on', flush=True)\n        while True: pass\n    except KeyboardInterrupt: pass")
	k.until(func(f frame) bool { return f.Data == "on\n" })
	k.asks(protocol.TypeStopCell, "")
	k.asks(protocol.TypeRunCell, "print('again')")
	ended := func(f frame) bool { return f.Type == protocol.TypeCellResult }
	first := k.until(ended)
	require.Equal(t, protocol.StatusInterrupted, first[len(first)-1].Status)
	second := k.until(ended)
	require.Equal(t, "again\n", text(second, protocol.Stdout))
	require.Equal(t, protocol.StatusOK, second[len(second)-1].Status)
}

// Of a cell that runs and waits, one run ends after the other.
func TestPK7AStopOfACellThatRunsAndWaits(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	k.asks(protocol.TypeRunCell, "print('on', flush=True)\nwhile True: pass")
	k.until(func(f frame) bool { return f.Data == "on\n" })
	k.asks(protocol.TypeRunCell, "print('never')")
	k.asks(protocol.TypeStopCell, "")
	var kinds []string
	frames := k.until(func(f frame) bool { return f.Type == protocol.TypeStartCell && f.CellID == "" })
	for _, f := range frames {
		if f.Type == protocol.TypeStartCell || f.Type == protocol.TypeCellResult {
			kinds = append(kinds, strings.TrimSpace(f.Type+" "+f.Status))
		}
	}
	require.Equal(t, []string{"cell_result interrupted", "start_cell", "cell_result interrupted", "start_cell"}, kinds)
	require.NotContains(t, text(frames, protocol.Stdout), "never")
}
