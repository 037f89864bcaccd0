package jupyter_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

func TestPK7PythonStops(t *testing.T) {
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
			k := startPython(t)
			stops(t, k, begin+code, "1")
		})
	}
}

func TestPK7RStops(t *testing.T) {
	t.Parallel()
	begin := "local({f <- file(FIFO, 'w'); writeLines('x', f); close(f)})\n"
	for name, code := range map[string]string{
		"busy loop":  "repeat {}",
		"sleep":      "Sys.sleep(1000)",
		"subprocess": "system('sleep 1000')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startR(t)
			stops(t, k, begin+code, "1")
		})
	}
}

// stops stops a cell that runs and one that waits, and runs another.
func stops(t *testing.T, k *started, code, other string) {
	t.Helper()
	running := k.busy(code)
	waiting := k.send("must_not_run <- 1")
	disposed := k.send("must_not_run <- 2")
	k.ask(protocol.TypeStopCell, fields{"cell_id": waiting})
	k.ask(protocol.TypeDisposeCell, fields{"cell_id": disposed})
	for _, id := range []string{waiting, disposed} {
		k.begun(id)
		dropped := k.next()
		require.Equal(t, protocol.TypeCellResult, dropped.Type, "in a row")
		require.Equal(t, id, *dropped.CellID)
		require.Equal(t, protocol.StatusInterrupted, dropped.Status)
		require.False(t, dropped.HasError)
	}
	k.ask(protocol.TypeStopCell, fields{"cell_id": "none of that name"})
	k.ask(protocol.TypeStopCell, fields{"cell_id": running})
	k.ask(protocol.TypeStopCell, fields{"cell_id": running})
	stopped := k.await(protocol.TypeCellResult)
	require.Equal(t, running, *stopped.CellID)
	require.Equal(t, protocol.StatusInterrupted, stopped.Status)
	require.Equal(t, protocol.StatusOK, last(k.run(other)).Status)
}

func TestStopByMessage(t *testing.T) {
	t.Parallel()
	python := installed(t, "python3")
	k := start(t, writeSpec(t, `{"argv": ["`+python.Executable+`", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "interrupt_mode": "message"}`))
	stops(t, k, "open(FIFO, 'w').write('x')\nimport time\ntime.sleep(1000)", "1")
}

func TestExecuteCodeIsStoppedByItsID(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	k.ask(protocol.TypeExecuteCode, fields{"agent_tx_id": "first", "code": "print('so far')\nimport time; time.sleep(1000)"})
	k.ask(protocol.TypeExecuteCode, fields{"agent_tx_id": "second", "code": "1"})
	k.ask(protocol.TypeStopCell, fields{"agent_tx_id": "second"})
	second := k.await(protocol.TypeExecuteCodeResponse)
	require.Equal(t, "second", second.AgentTxID)
	require.Equal(t, protocol.StatusInterrupted, second.Status)
	k.ask(protocol.TypeStopCell, fields{"agent_tx_id": "first"})
	first := k.await(protocol.TypeExecuteCodeResponse)
	require.Equal(t, "first", first.AgentTxID)
	require.Equal(t, protocol.StatusInterrupted, first.Status)
}

// writeSpec makes a kernelspec named "made".
func writeSpec(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "share", "jupyter", "kernels", "Made", "kernel.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
