//go:build bench

package bench_test

import (
	"fmt"
	"testing"
)

// measureKernels measures kernels beside ipykernel, and above what they are made
// of; with -run TestBench/kernels/NAME a part of that.
func measureKernels(t *testing.T, r *report, p *program) {
	t.Helper()
	k := newKit(t, p)
	beside := [][]string{{"", "Assay p50", "p99", "aim", "beside it", "p50", "p99", "times as long", "spread"}}
	floors := [][]string{{"", "p50", "p99", "ratio", "spread", "aim"}}
	for _, measure := range []struct {
		name string
		of   func(t *testing.T) (beside, floors [][]string)
	}{
		{"start", k.measureStarts},
		{"cells", k.measureCells},
		{"summary", k.measureSummaries},
		{"death", k.measureDeaths},
		{"elisp", k.measureElisp},
	} {
		t.Run(measure.name, func(t *testing.T) {
			b, f := measure.of(t)
			beside, floors = append(beside, b...), append(floors, f...)
			t.Log(b, f)
		})
	}
	var printed, idle, runs [][]string
	t.Run("print", func(t *testing.T) { printed = k.measurePrints(t) })
	t.Run("idle", func(t *testing.T) { idle = k.measureIdleKernels(t) })
	t.Run("pool", func(t *testing.T) { runs = k.measurePooledRuns(t) })
	r.kernels(k, beside, floors)
	r.kernelsOfMany(printed, idle, runs)
}

// kernels writes what was measured of one kernel at a time.
func (r *report) kernels(k *kit, beside, floors [][]string) {
	r.section("Kernels",
		fmt.Sprintf("The Python kernel and Debian's ipykernel, both with %s (Python %s). *jupyter_client* drives its kernel from Python,\n"+
			"`bench/jupyter.py`; *jupyter_server* as it comes, with its limits, is a process of its own, with a WebSocket to here. Ours is driven\n"+
			"from here, on its socket, without a fence; *console and server* is a console at `/run` of an `assay serve`, a process of its own,\n"+
			"with a fence, a trace and an agent that does nothing. A kernel is wanted: that is the start. A cell is done when its outputs and its\n"+
			"result, or its reply and the news that all is idle, have come. *times as long*: how many times Assay's time it is.",
			k.python.Executable, k.python.Version))
	r.table(beside...)
	r.WriteString("\n" + kernelTerms + "\n\n")
	r.table(floors...)
	r.WriteString("\n*bare loop*: `bench/minimal_kernel.py`, which reads a frame of JSON, executes its code, and answers with one; it has no outputs,\n" +
		"no threads and no stops. Ratios are to the first row of their kind.\n")
}

// kernelTerms explains the first table.
const kernelTerms = `*pool*: forked from a process which has imported nothing, or numpy and pandas; *soon after another*: right after it, while in the
other rows nothing was forked for 200 ms, after which Linux takes longer to put a process into a cgroup. *first text*: of a cell that
prints and then sleeps. *stopped*: from the stop to the end of the run. *summary*: of 50 names, of numbers or of lists of 1,000 numbers,
while "while True: pass" runs; ipykernel can tell nothing of its variables then, and is asked on its control channel, which has a
thread of its own, for its "kernel_info". *death*: from SIGKILL while a cell runs to the error that names it, to
"managed_process_exit", or to Jupyter's "restarting", which names nothing; jupyter_client leaves it to its caller to look.`

// kernelsOfMany writes what was measured of much text, of many kernels, and of
// whole runs.
func (r *report) kernelsOfMany(printed, idle, runs [][]string) {
	r.WriteString("\nA cell prints 100 MiB, in pieces of 64 KiB or 100 B, with `--stdio-limit -1`: what comes, and until when. The median, the least\n" +
		"that came and the most memory of 3. The console does nothing but read; one for which 8 MiB wait is sent away.\n\n")
	r.table(printed...)
	fmt.Fprintf(r, "\nKernels that have imported numpy and pandas and do nothing: proportional memory (PSS). Where fewer than %d were measured\n"+
		"the sum is scaled up, which counts what they share once for each %d.\n\n", idleKernels, dearKernels)
	r.table(idle...)
	r.WriteString("\n`assay run testcases/examples --agent oracle -j 8`, 5 times each, in turns. One of the cases takes three seconds by itself, few import\n" +
		"pandas. CPU is that of the program and all its children.\n\n")
	r.table(runs...)
}

// rival is a row of the table of what is measured beside something else.
func rival(name, aim string, ours series, beside string, theirs series) []string {
	row := []string{name, ours.show(50), ours.show(99), aim, beside, "not measured", "", "", ""}
	if len(theirs.rounds) > 0 {
		row[5], row[6] = theirs.show(50), theirs.show(99)
		row[7], row[8] = over(theirs.each(50), ours.each(50))
	}
	return row
}

// unrivalled is such a row of what nothing is measured beside.
func unrivalled(name, aim string, ours series) []string {
	return []string{name, ours.show(50), ours.show(99), aim, "", "", "", "", ""}
}

// above is a row of the table of what is measured above a floor, which may be
// the floor itself.
func above(name, aim string, ours, floor series) []string {
	ratio, spread := over(ours.each(50), floor.each(50))
	return []string{name, ours.show(50), ours.show(99), ratio, spread, aim}
}
