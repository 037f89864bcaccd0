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

// measureIdle measures what sessions and consoles take that do nothing.
func measureIdle(t *testing.T, r *report, p *program) {
	t.Helper()
	const consoles = 5000
	table := [][]string{{"", "how many", "heap each", "stacks each", "together", "aim", "goroutines each", "held", "a line of output reaches all in"}}
	table = append(table, measureIdleSessions(t, p, 500))
	for _, one := range []struct{ endpoint, hello string }{{"run", runHello}, {"agent", viewHello}} {
		table = append(table, measureIdleConsoles(t, p, one.endpoint, one.hello, consoles))
	}
	r.section("Memory of what is idle",
		"Heap and stacks in use after a collection, with them less without them. *session*: a live one with its kernel and its agent, without\n"+
			"the memory of these processes, and nobody connected. *run*, *view*: consoles of one session, at `/run` and at `/agent`, whose own\n"+
			"ends are in the same process, but for a socket each nothing. They are held when each gets what the kernel then prints.")
	r.table(table...)
}

// usedMemory is heap and stacks in use, in bytes, and how many goroutines there are.
type usedMemory struct{ heap, stacks, goroutines float64 }

func memory() usedMemory {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools held is gone too
	runtime.ReadMemStats(&m)
	return usedMemory{float64(m.HeapInuse), float64(m.StackInuse), float64(runtime.NumGoroutine())}
}

// since is the part of a row that says what each of n takes that came since then.
func (m usedMemory) since(then usedMemory, n int) []string {
	kib := func(now, before float64) string { return digits((now-before)/float64(n)/1024) + " KiB" }
	return []string{
		strconv.Itoa(n), kib(m.heap, then.heap), kib(m.stacks, then.stacks), kib(m.heap+m.stacks, then.heap+then.stacks),
		"100 KiB", digits((m.goroutines - then.goroutines) / float64(n)),
	}
}

func measureIdleSessions(t *testing.T, p *program, n int) (row []string) {
	t.Helper()
	t.Run("sessions", func(t *testing.T) {
		newHouse(t, p, 1) // what there is once is not counted
		before := memory()
		h := newHouse(t, p, n)
		row = append([]string{"session"}, memory().since(before, n)...)
		for i := range n {
			require.True(t, h.session(i).IsKernelAlive())
		}
		row = append(row, strconv.Itoa(n), "")
		t.Log(row)
	})
	return row
}

func measureIdleConsoles(t *testing.T, p *program, endpoint, hello string, n int) (row []string) {
	t.Helper()
	t.Run(endpoint, func(t *testing.T) {
		h := newHouse(t, p, 1)
		path := "/" + endpoint + "?session=0"
		first := connect(t, h.at, path, hello)
		_, err := first.next()
		require.NoError(t, err)
		before := memory()
		all := make([]quiet, n)
		for i := range all {
			all[i] = connect(t, h.at, path, hello)
		}
		for _, console := range all {
			_, err := console.next() // what it is told first
			require.NoError(t, err)
		}
		row = append([]string{map[string]string{"run": "run", "agent": "view"}[endpoint]}, memory().since(before, n)...)
		kernel := h.session(0).kernel.borrow(t)
		began := time.Now()
		require.NoError(t, kernel.Write([]byte(`{"type":"start_cell","cell_id":"c","run_sequencer":1}`)))
		held := 0
		for _, console := range all {
			require.NoError(t, console.SetReadDeadline(began.Add(30*time.Second)))
			if body, err := console.next(); err == nil && isType(body, protocol.TypeStartCell) {
				held++
			}
		}
		row = append(row, fmt.Sprintf("%d of %d", held, n), show(time.Since(began)))
		t.Log(row)
	})
	return row
}

func isType(body []byte, kind string) bool {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	return err == nil && env.Type == kind
}

// idleKernels is how many are told of; those that are dear are fewer, and what
// they take is multiplied.
const (
	idleKernels = 50
	dearKernels = 10
)

// measureIdleKernels measures the memory of kernels that have imported numpy and
// pandas and do nothing.
func (k *kit) measureIdleKernels(t *testing.T) [][]string {
	t.Helper()
	table := [][]string{{"", "kernels", "each", fmt.Sprintf("%d of them", idleKernels), "aim"}}
	row := func(name, aim string, kernels int, kibibytes int64) {
		all := kibibytes * idleKernels / int64(kernels)
		table = append(table, []string{
			name, strconv.Itoa(kernels), digits(float64(kibibytes)/1024/float64(kernels)) + " MiB", digits(float64(all)/1024) + " MiB", aim,
		})
		t.Log(table[len(table)-1])
	}
	t.Run("pool", func(t *testing.T) { row("from the pool, with its parent", "300 MiB", idleKernels, k.pooledMemory(t)) })
	t.Run("cold", func(t *testing.T) { row("started cold", "", dearKernels, k.coldMemory(t)) })
	if k.beside {
		t.Run("ipykernel", func(t *testing.T) { row("ipykernel", "", dearKernels, ipykernelMemory(t)) })
	}
	return table
}

func (k *kit) pooledMemory(t *testing.T) int64 {
	t.Helper()
	warm := k.pool(t, idleKernels, "numpy", "pandas")
	processes := make([]int, idleKernels)
	parent := 0
	for i := range processes {
		one := k.start(t, kernel.Config{Pool: warm})
		defer one.stop(t)
		one.run(imports)
		processes[i], parent = one.kernel.PID(), one.kernel.ReadyMessage.Pool.ParentPID
	}
	return proportional(t, append(processes, parent)...)
}

func (k *kit) coldMemory(t *testing.T) int64 {
	t.Helper()
	processes := make([]int, dearKernels)
	for i := range processes {
		one := k.start(t, kernel.Config{})
		defer one.stop(t)
		one.run(imports)
		processes[i] = one.kernel.PID()
	}
	return proportional(t, processes...)
}

func ipykernelMemory(t *testing.T) int64 {
	t.Helper()
	driven := newJupyterClient(t)
	processes := make([]int, dearKernels)
	for i := range processes {
		driven.start(imports)
		processes[i] = driven.pid()
	}
	return proportional(t, processes...)
}

// proportional is the memory of processes in KiB, where what several share
// counts for each in proportion.
func proportional(t *testing.T, processes ...int) (sum int64) {
	t.Helper()
	for _, pid := range processes {
		var kibibytes int64
		_, err := fmt.Sscan(field(t, fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"), &kibibytes)
		require.NoError(t, err)
		sum += kibibytes
	}
	return sum
}
