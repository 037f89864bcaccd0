//go:build bench

package bench_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/kernel"
)

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
