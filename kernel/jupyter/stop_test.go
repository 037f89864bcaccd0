package jupyter_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

func TestPK7PythonCellsStop(t *testing.T) {
	t.Parallel()
	begin := "open(FIFO, 'w').write('x')\n"
	for name, code := range map[string]string{
		"busy loop":  "while True: pass",
		"sleep":      "import time; time.sleep(1000)",
		"subprocess": "import subprocess; subprocess.run(['sleep', '1000'])",
		"await":      "import asyncio; await asyncio.sleep(1000)",
		"swallows":   "for _ in range(2):\n  try:\n    while True: pass\n  except KeyboardInterrupt: pass",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startPythonKernel(t)
			requireCellsStop(t, k, begin+code, "1")
		})
	}
}

func TestPK7RCellsStop(t *testing.T) {
	t.Parallel()
	begin := "local({f <- file(FIFO, 'w'); writeLines('x', f); close(f)})\n"
	for name, code := range map[string]string{
		"busy loop":  "repeat {}",
		"sleep":      "Sys.sleep(1000)",
		"subprocess": "system('sleep 1000')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startRKernel(t)
			requireCellsStop(t, k, begin+code, "1")
		})
	}
}

// requireCellsStop starts a busy cell and queues two more, stops all three, and requires that
// the kernel then still runs a cell. code, of the busy cell, must write to FIFO first; other
// is the code of the last cell.
func requireCellsStop(t *testing.T, k *testKernel, code, other string) {
	t.Helper()
	running := k.runBusyCell(code)
	waiting := k.sendCell("must_not_run <- 1")
	disposed := k.sendCell("must_not_run <- 2")
	k.sendMessage(protocol.TypeStopCell, messageFields{"cell_id": waiting})
	k.sendMessage(protocol.TypeDisposeCell, messageFields{"cell_id": disposed})
	for _, id := range []string{waiting, disposed} {
		k.awaitCellStart(id)
		dropped := k.readFrame()
		require.Equal(t, protocol.TypeCellResult, dropped.Type, "cell_result follows start_cell")
		require.Equal(t, id, *dropped.CellID)
		require.Equal(t, protocol.StatusInterrupted, dropped.Status)
		require.False(t, dropped.HasError)
	}
	k.sendMessage(protocol.TypeStopCell, messageFields{"cell_id": "none of that name"})
	k.sendMessage(protocol.TypeStopCell, messageFields{"cell_id": running})
	k.sendMessage(protocol.TypeStopCell, messageFields{"cell_id": running})
	stopped := k.awaitFrame(protocol.TypeCellResult)
	require.Equal(t, running, *stopped.CellID)
	require.Equal(t, protocol.StatusInterrupted, stopped.Status)
	require.Equal(t, protocol.StatusOK, lastFrame(k.runCell(other)).Status)
}

func TestStopWithInterruptMessage(t *testing.T) {
	t.Parallel()
	python := installedSpec(t, "python3")
	k := startKernel(t, writeKernelJSON(t, `{"argv": ["`+python.Executable+`", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "interrupt_mode": "message"}`))
	requireCellsStop(t, k, "open(FIFO, 'w').write('x')\nimport time\ntime.sleep(1000)", "1")
}

func TestExecuteCodeIsStoppedByItsID(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.sendMessage(protocol.TypeExecuteCode, messageFields{"agent_tx_id": "first", "code": "print('so far')\nimport time; time.sleep(1000)"})
	k.sendMessage(protocol.TypeExecuteCode, messageFields{"agent_tx_id": "second", "code": "1"})
	k.sendMessage(protocol.TypeStopCell, messageFields{"agent_tx_id": "second"})
	second := k.awaitFrame(protocol.TypeExecuteCodeResponse)
	require.Equal(t, "second", second.AgentTxID)
	require.Equal(t, protocol.StatusInterrupted, second.Status)
	k.sendMessage(protocol.TypeStopCell, messageFields{"agent_tx_id": "first"})
	first := k.awaitFrame(protocol.TypeExecuteCodeResponse)
	require.Equal(t, "first", first.AgentTxID)
	require.Equal(t, protocol.StatusInterrupted, first.Status)
}

// ipykernel sends no execute_reply if an interrupt comes while it prepares to run the code. Here a
// cell prepares such an interrupt of the next run, during which further ones have no effect.
func TestRunWithoutReplyEnds(t *testing.T) {
	t.Parallel()
	const interruptNextRun = `import signal
kernel = get_ipython().kernel
def interrupted(*args, **kwargs):
    del kernel.do_execute
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    open("begun", "w").write("x")
    raise KeyboardInterrupt
kernel.do_execute = interrupted`
	for _, isStopped := range []bool{true, false} {
		t.Run(fmt.Sprintf("stopped=%v", isStopped), func(t *testing.T) {
			t.Parallel()
			k := startPythonKernel(t)
			begun := filepath.Join(k.workdir, "begun")
			require.NoError(t, unix.Mkfifo(begun, 0o600))
			require.Equal(t, protocol.StatusOK, lastFrame(k.runCell(interruptNextRun)).Status)
			k.sendMessage(protocol.TypeExecuteCode, messageFields{"agent_tx_id": "a", "code": "1"})
			_, err := os.ReadFile(begun) // waits for the writer
			require.NoError(t, err)
			if isStopped {
				k.sendMessage(protocol.TypeStopCell, messageFields{"agent_tx_id": "a"})
			}
			require.Equal(t, protocol.StatusInterrupted, k.awaitFrame(protocol.TypeExecuteCodeResponse).Status)
			require.Equal(t, protocol.StatusOK, lastFrame(k.runCell("1")).Status)
			if !isStopped {
				require.Eventually(t, func() bool {
					return strings.Contains(k.printedText(), "did not reply to a run: it counts as interrupted")
				}, testTimeout, 10*time.Millisecond)
			}
		})
	}
}

// writeKernelJSON writes content as the kernel.json of a kernelspec named "made" and returns
// the file's path.
func writeKernelJSON(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "share", "jupyter", "kernels", "Made", "kernel.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
