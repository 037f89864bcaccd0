//go:build bench

package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// measureRuns measures `assay run` with many attempts.
func measureRuns(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	r.addSection("A run of many attempts",
		"`assay run -j 2` with the first cases of a file of 1,000; each attempt has its own kernel, agent and sandbox. *noop* submits\n"+
			"nothing; *oracle* creates and runs five cells and submits. CPU is that of the binary and all its children, as the operating\n"+
			"system counted it. Memory is the peak of the binary alone, which should not grow with the number of attempts. The last row is\n"+
			"the interpreter doing nothing, two at a time.")
	dir := t.TempDir()
	cases := writeCasesFile(t, dir, 1000)
	table := [][]string{{"agent", "attempts", "attempts/s", "CPU per attempt", "peak memory", "verdict"}}
	for _, run := range []struct {
		agent    string
		attempts int
	}{{"noop", 100}, {"noop", 200}, {"noop", 1000}, {"oracle", 100}} {
		number := strconv.Itoa(run.attempts)
		out := filepath.Join(dir, run.agent+number)
		took := p.runCommand(t, "run", cases, "--first", number, "--agent", run.agent, "-j", "2", "--quiet", "--out", out)
		t.Logf("%d attempts of %s: %s, %s", run.attempts, run.agent, formatDuration(took.wall), took.verdict)
		each := time.Duration(run.attempts)
		table = append(table, []string{
			run.agent, number, formatThreeDigits(float64(run.attempts) / took.wall.Seconds()),
			formatDuration(took.cpu / each), formatThreeDigits(float64(took.peakKiB)/1024) + " MiB", took.verdict,
		})
	}
	t.Log("measuring the bare interpreter")
	r.addTable(append(table, p.bareInterpreterRow(t, 200))...)
}

// bareInterpreterRow returns the row for n interpreters that do nothing, two at a time.
func (p *assayProgram) bareInterpreterRow(t *testing.T, n int) []string {
	t.Helper()
	const atOnce = 2
	var cpu atomic.Int64
	var both errgroup.Group
	both.SetLimit(atOnce)
	began := time.Now()
	for range n {
		both.Go(func() error {
			cmd := exec.CommandContext(t.Context(), p.python.Executable, "-c", "pass")
			if err := cmd.Run(); err != nil {
				return err
			}
			cpu.Add(int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()))
			return nil
		})
	}
	require.NoError(t, both.Wait())
	took := time.Since(began)
	return []string{
		"(`python3 -c pass`)", strconv.Itoa(n), formatThreeDigits(float64(n) / took.Seconds()),
		formatDuration(time.Duration(cpu.Load()) / time.Duration(n)), "", "",
	}
}

// writeCasesFile writes a JSON Lines file of n cases whose solutions have five cells, and
// returns its path.
func writeCasesFile(t *testing.T, dir string, n int) string {
	t.Helper()
	type object = map[string]any
	cells := []string{"a = 1", "b = a + 1", "c = [a, b]", "print(c)", "total = sum(c)\ntotal"}
	var text []byte
	for i := range n {
		line, err := json.Marshal(object{
			"id": fmt.Sprintf("case-%d", i), "task": "Add the numbers up. Answer {\"total\": n}.",
			"grader": object{"type": "exact", "config": object{"ground_truth": object{"total": 3}}},
			"oracle": object{"cells": cells, "answer": object{"total": 3}},
		})
		require.NoError(t, err)
		text = append(append(text, line...), '\n')
	}
	path := filepath.Join(dir, "cases.jsonl")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// measurePooledRuns returns the table of a run of the example cases with and without a
// pool.
func (k *kernelHarness) measurePooledRuns(t *testing.T) [][]string {
	t.Helper()
	const rounds = 5
	dir := t.TempDir()
	var wall, cpu [2][]time.Duration
	var verdict [2]string
	for i := range rounds + 1 {
		for with, args := range [][]string{nil, {"--pool", "8", "--preload", "pandas"}} {
			out := filepath.Join(dir, fmt.Sprintf("%d-%d", i, with))
			used := k.runCommand(t, append([]string{
				"run", filepath.Join("..", "testcases", "examples"), "--agent", "oracle", "--python", k.python.Executable,
				"-j", "8", "--quiet", "--out", out,
			}, args...)...)
			if i > 0 { // the first round is a warm-up
				wall[with], cpu[with], verdict[with] = append(wall[with], used.wall), append(cpu[with], used.cpu), used.verdict
			}
		}
	}
	table := [][]string{{"", "wall", "ratio", "spread", "CPU", "ratio", "spread", "verdict"}}
	for with, name := range []string{"every kernel starts cold", "`--pool 8 --preload pandas`"} {
		w, c := ratioRow(name, wall[0], wall[with]), ratioRow(name, cpu[0], cpu[with])
		table = append(table, []string{name, w[1], w[3], w[4], c[1], c[3], c[4], verdict[with]})
	}
	return table
}
