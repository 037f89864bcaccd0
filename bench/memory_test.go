//go:build bench

package bench_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/kernel"
)

// measureIdleMemory measures the memory of idle sessions and of idle consoles.
func measureIdleMemory(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	const consoles = 5000
	table := [][]string{{"", "count", "heap each", "stacks each", "both each", "aim", "goroutines each", "held", "time until a frame reaches all"}}
	table = append(table, measureIdleSessions(t, p, 500))
	for _, one := range []struct{ endpoint, hello string }{{"run", runHello}, {"agent", viewHello}} {
		table = append(table, measureIdleConsoles(t, p, one.endpoint, one.hello, consoles))
	}
	r.addSection("Memory of idle sessions and consoles",
		"Heap and stack memory in use after a garbage collection, less what was in use without them. *session*: a live session with\n"+
			"its kernel and its agent and nobody connected, without the memory of these processes. *run*, *view*: consoles of one session,\n"+
			"at `/run` and at `/agent`; their own ends are in the same process, but use nothing except one socket each. A console is held\n"+
			"if it receives the next frame of the kernel.")
	r.addTable(table...)
}

// memoryUse is heap and stack memory in use, in bytes, and the number of goroutines.
type memoryUse struct{ heapBytes, stackBytes, goroutineCount float64 }

// readMemoryUse collects garbage and returns the memory in use by this process.
func readMemoryUse() memoryUse {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // a sync.Pool is emptied by the second collection
	runtime.ReadMemStats(&m)
	return memoryUse{float64(m.HeapInuse), float64(m.StackInuse), float64(runtime.NumGoroutine())}
}

// perUnitColumns returns the columns of the table for n sessions or consoles that were
// added since before: the differences divided by n.
func (m memoryUse) perUnitColumns(then memoryUse, n int) []string {
	kib := func(now, before float64) string { return formatThreeDigits((now-before)/float64(n)/1024) + " KiB" }
	return []string{
		strconv.Itoa(n), kib(m.heapBytes, then.heapBytes), kib(m.stackBytes, then.stackBytes), kib(m.heapBytes+m.stackBytes, then.heapBytes+then.stackBytes),
		"100 KiB", formatThreeDigits((m.goroutineCount - then.goroutineCount) / float64(n)),
	}
}

// measureIdleSessions returns the row of n live sessions to which nobody is connected.
func measureIdleSessions(t *testing.T, p *assayProgram, n int) (row []string) {
	t.Helper()
	t.Run("sessions", func(t *testing.T) {
		startLiveServer(t, p, 1) // what a process allocates once does not count
		before := readMemoryUse()
		h := startLiveServer(t, p, n)
		row = append([]string{"session"}, readMemoryUse().perUnitColumns(before, n)...)
		for i := range n {
			require.True(t, h.session(i).IsKernelAlive())
		}
		row = append(row, strconv.Itoa(n), "")
		t.Log(row)
	})
	return row
}

// measureIdleConsoles returns the row of n consoles of one session at /endpoint, and
// checks that each receives a frame of the kernel.
func measureIdleConsoles(t *testing.T, p *assayProgram, endpoint, hello string, n int) (row []string) {
	t.Helper()
	t.Run(endpoint, func(t *testing.T) {
		h := startLiveServer(t, p, 1)
		path := "/" + endpoint + "?session=0"
		first := connectPassiveConsole(t, h.address, path, hello)
		_, err := first.readMessage()
		require.NoError(t, err)
		before := readMemoryUse()
		all := make([]passiveConsole, n)
		for i := range all {
			all[i] = connectPassiveConsole(t, h.address, path, hello)
		}
		for _, console := range all {
			_, err := console.readMessage() // the first message of the server
			require.NoError(t, err)
		}
		row = append([]string{map[string]string{"run": "run", "agent": "view"}[endpoint]}, readMemoryUse().perUnitColumns(before, n)...)
		kernel := h.session(0).kernel.openConn(t)
		began := time.Now()
		require.NoError(t, kernel.Write([]byte(`{"type":"start_cell","cell_id":"c","run_sequencer":1}`)))
		held := 0
		for _, console := range all {
			require.NoError(t, console.SetReadDeadline(began.Add(30*time.Second)))
			if body, err := console.readMessage(); err == nil && hasFrameType(body, protocol.TypeStartCell) {
				held++
			}
		}
		row = append(row, fmt.Sprintf("%d of %d", held, n), formatDuration(time.Since(began)))
		t.Log(row)
	})
	return row
}

// hasFrameType reports whether body is a valid frame of a type.
func hasFrameType(body []byte, kind string) bool {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	return err == nil && env.Type == kind
}

// idleKernelCount is the number of kernels that the table gives a sum for. Of kernels that
// do not share memory only unpooledKernelCount are measured, and the sum is scaled up.
const (
	idleKernelCount     = 50
	unpooledKernelCount = 10
)

// measureIdleKernels returns the table of the memory of kernels that have imported numpy
// and pandas and do nothing.
func (k *kernelHarness) measureIdleKernels(t *testing.T) [][]string {
	t.Helper()
	table := [][]string{{"", "kernels", "each", fmt.Sprintf("sum for %d", idleKernelCount), "aim"}}
	row := func(name, aim string, kernels int, kibibytes int64) {
		all := kibibytes * idleKernelCount / int64(kernels)
		table = append(table, []string{
			name, strconv.Itoa(kernels), formatThreeDigits(float64(kibibytes)/1024/float64(kernels)) + " MiB", formatThreeDigits(float64(all)/1024) + " MiB", aim,
		})
		t.Log(table[len(table)-1])
	}
	t.Run("pool", func(t *testing.T) {
		row("pooled, with the parent process", "300 MiB", idleKernelCount, k.pooledKernelsKiB(t))
	})
	t.Run("cold", func(t *testing.T) { row("started cold", "", unpooledKernelCount, k.coldKernelsKiB(t)) })
	if k.jupyterAvailable {
		t.Run("ipykernel", func(t *testing.T) { row("ipykernel", "", unpooledKernelCount, ipykernelsKiB(t)) })
	}
	return table
}

// pooledKernelsKiB returns the proportional memory of idleKernelCount pooled kernels and
// of the pool's parent process, in KiB.
func (k *kernelHarness) pooledKernelsKiB(t *testing.T) int64 {
	t.Helper()
	warm := k.newPool(t, idleKernelCount, "numpy", "pandas")
	processes := make([]int, idleKernelCount)
	parent := 0
	for i := range processes {
		one := k.startKernel(t, kernel.Config{Pool: warm})
		defer one.stop(t)
		one.timeToResult(importNumpyPandasCode)
		processes[i], parent = one.kernel.PID(), one.kernel.ReadyMessage.Pool.ParentPID
	}
	return proportionalMemoryKiB(t, append(processes, parent)...)
}

// coldKernelsKiB returns the proportional memory of unpooledKernelCount kernels started
// without a pool, in KiB.
func (k *kernelHarness) coldKernelsKiB(t *testing.T) int64 {
	t.Helper()
	processes := make([]int, unpooledKernelCount)
	for i := range processes {
		one := k.startKernel(t, kernel.Config{})
		defer one.stop(t)
		one.timeToResult(importNumpyPandasCode)
		processes[i] = one.kernel.PID()
	}
	return proportionalMemoryKiB(t, processes...)
}

// ipykernelsKiB returns the proportional memory of unpooledKernelCount ipykernels, in
// KiB.
func ipykernelsKiB(t *testing.T) int64 {
	t.Helper()
	driven := newJupyterClient(t)
	processes := make([]int, unpooledKernelCount)
	for i := range processes {
		driven.startKernel(importNumpyPandasCode)
		processes[i] = driven.kernelPID()
	}
	return proportionalMemoryKiB(t, processes...)
}

// proportionalMemoryKiB returns the sum of the processes' proportional memory (PSS) in KiB: a
// page that several processes share counts for each in proportion.
func proportionalMemoryKiB(t *testing.T, processes ...int) (sum int64) {
	t.Helper()
	for _, pid := range processes {
		var kibibytes int64
		_, err := fmt.Sscan(valueInFile(t, fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"), &kibibytes)
		require.NoError(t, err)
		sum += kibibytes
	}
	return sum
}
