package kernel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/kernel"
)

// uninterruptibleCode is Python code that prints "on" and then runs forever and cannot be
// interrupted.
const uninterruptibleCode = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nprint('on', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"

// sendRunOrStopCell sends a run_cell with this code or a stop_cell, as kind says, for the cell
// "a".
func (k *testKernel) sendRunOrStopCell(kind string, code string) {
	k.t.Helper()
	command := protocol.CellCommand{Type: kind, CellID: "a"}
	if kind == protocol.TypeRunCell {
		command.Code = &code
	}
	body, err := json.Marshal(command)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// readUntil reads frames until one for which match returns true, and returns all of them.
func (k *testKernel) readUntil(match func(frameFields) bool) []frameFields {
	k.t.Helper()
	for frames := []frameFields{}; ; {
		f, err := k.readFrame()
		require.NoError(k.t, err)
		frames = append(frames, f)
		if match(f) {
			return frames
		}
	}
}

// A run that does not stop counts as stuck even if its cell was queued again meanwhile.
func TestPK7StuckCellThatIsQueuedAgain(t *testing.T) {
	t.Parallel()
	stuck := make(chan string, 1)
	k := startKernel(t, func(cfg *kernel.Config) {
		cfg.OnStuck = func(what string) bool {
			stuck <- what
			return true
		}
	})
	k.sendRunOrStopCell(protocol.TypeRunCell, uninterruptibleCode)
	k.readUntil(func(f frameFields) bool { return f.Data == "on\n" })
	k.sendRunOrStopCell(protocol.TypeStopCell, "")
	k.sendRunOrStopCell(protocol.TypeRunCell, "print('again')")
	k.sendRunOrStopCell(protocol.TypeStopCell, "")
	for {
		f, err := k.readFrame()
		if err != nil {
			require.ErrorContains(t, err, "has not stopped for 5s")
			break
		}
		require.NotEqual(t, protocol.TypeCellResult, f.Type, "no run of the cell has ended")
	}
	require.Contains(t, <-stuck, `the cell "a" has not stopped`)
}

// A run of a cell that was requested after the stop_cell is not stopped.
func TestPK7CellRunsAgainAfterStop(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	k.sendRunOrStopCell(protocol.TypeRunCell, "for _ in range(3): # an interrupt each second\n    try:\n        print('on', flush=True)\n        while True: pass\n    except KeyboardInterrupt: pass")
	k.readUntil(func(f frameFields) bool { return f.Data == "on\n" })
	k.sendRunOrStopCell(protocol.TypeStopCell, "")
	k.sendRunOrStopCell(protocol.TypeRunCell, "print('again')")
	ended := func(f frameFields) bool { return f.Type == protocol.TypeCellResult }
	first := k.readUntil(ended)
	require.Equal(t, protocol.StatusInterrupted, first[len(first)-1].Status)
	second := k.readUntil(ended)
	require.Equal(t, "again\n", streamText(second, protocol.Stdout))
	require.Equal(t, protocol.StatusOK, second[len(second)-1].Status)
}

// Stopping a cell that runs and is also queued ends both runs as interrupted, in order.
func TestPK7StopOfCellThatRunsAndIsQueued(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	k.sendRunOrStopCell(protocol.TypeRunCell, "print('on', flush=True)\nwhile True: pass")
	k.readUntil(func(f frameFields) bool { return f.Data == "on\n" })
	k.sendRunOrStopCell(protocol.TypeRunCell, "print('never')")
	k.sendRunOrStopCell(protocol.TypeStopCell, "")
	var kinds []string
	frames := k.readUntil(func(f frameFields) bool { return f.Type == protocol.TypeStartCell && f.CellID == "" })
	for _, f := range frames {
		if f.Type == protocol.TypeStartCell || f.Type == protocol.TypeCellResult {
			kinds = append(kinds, strings.TrimSpace(f.Type+" "+f.Status))
		}
	}
	require.Equal(t, []string{"cell_result interrupted", "start_cell", "cell_result interrupted", "start_cell"}, kinds)
	require.NotContains(t, streamText(frames, protocol.Stdout), "never")
}
