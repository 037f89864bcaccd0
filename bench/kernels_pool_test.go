//go:build bench

package bench_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// measurePooledRuns measures a run of the example cases with and without a pool.
func (k *kit) measurePooledRuns(t *testing.T) [][]string {
	t.Helper()
	const rounds = 5
	dir := t.TempDir()
	var wall, cpu [2][]time.Duration
	var verdict [2]string
	for i := range rounds + 1 {
		for with, args := range [][]string{nil, {"--pool", "8", "--preload", "pandas"}} {
			out := filepath.Join(dir, fmt.Sprintf("%d-%d", i, with))
			used := k.run(t, append([]string{
				"run", filepath.Join("..", "testcases", "examples"), "--agent", "oracle", "--python", k.python.Executable,
				"-j", "8", "--quiet", "--out", out,
			}, args...)...)
			if i > 0 { // the first warms up
				wall[with], cpu[with], verdict[with] = append(wall[with], used.wall), append(cpu[with], used.cpu), used.verdict
			}
		}
	}
	table := [][]string{{"", "wall", "ratio", "spread", "CPU", "ratio", "spread", "verdict"}}
	for with, name := range []string{"every kernel starts cold", "`--pool 8 --preload pandas`"} {
		w, c := compared(name, wall[0], wall[with]), compared(name, cpu[0], cpu[with])
		table = append(table, []string{name, w[1], w[3], w[4], c[1], c[3], c[4], verdict[with]})
	}
	return table
}
