//go:build bench

package bench_test

import (
	"fmt"
	"testing"
)

// measureKernels measures kernels beside ipykernel and beside the minimum that they
// consist of. -run TestBench/kernels/NAME runs a part of it.
func measureKernels(t *testing.T, r *report, p *program) {
	t.Helper()
	k := newKernelHarness(t, p)
	beside := [][]string{{"", "Assay p50", "p99", "aim", "beside it", "p50", "p99", "times as long", "spread"}}
	floors := [][]string{{"", "p50", "p99", "ratio", "spread", "aim"}}
	for _, measure := range []struct {
		name string
		of   func(t *testing.T) (beside, floors [][]string)
	}{
		{"start", k.measureKernelStarts},
		{"cells", k.measureCellRuns},
		{"summary", k.measureGlobalsSummaries},
		{"death", k.measureKernelDeaths},
		{"elisp", k.measureElispKernel},
	} {
		t.Run(measure.name, func(t *testing.T) {
			b, f := measure.of(t)
			beside, floors = append(beside, b...), append(floors, f...)
			t.Log(b, f)
		})
	}
	var printed, idle, runs [][]string
	t.Run("print", func(t *testing.T) { printed = k.measurePrinting(t) })
	t.Run("idle", func(t *testing.T) { idle = k.measureIdleKernels(t) })
	t.Run("pool", func(t *testing.T) { runs = k.measurePooledRuns(t) })
	r.addKernelTables(k, beside, floors)
	r.addPrintingMemoryAndPoolTables(printed, idle, runs)
}

// addKernelTables writes the tables of single kernels: the comparisons with Jupyter and
// the ratios to a floor.
func (r *report) addKernelTables(k *kernelHarness, beside, floors [][]string) {
	r.addSection("Kernels",
		fmt.Sprintf("The Python kernel and Debian's ipykernel, both with %s (Python %s). *jupyter_client* drives its kernel from Python,\n"+
			"`bench/jupyter.py`; *jupyter_server* as it comes, with its limits, is a process of its own, with a WebSocket to here. Ours is driven\n"+
			"from here, on its socket, without a fence; *console and server* is a console at `/run` of an `assay serve`, a process of its own,\n"+
			"with a fence, a trace and an agent that does nothing. A kernel is wanted: that is the start. A cell is done when its outputs and its\n"+
			"result, or its reply and the news that all is idle, have come. *times as long*: how many times Assay's time it is.",
			k.python.Executable, k.python.Version))
	r.addTable(beside...)
	r.WriteString("\n" + kernelTableNotes + "\n\n")
	r.addTable(floors...)
	r.WriteString("\n*bare loop*: `bench/minimal_kernel.py`, which reads a frame of JSON, executes its code, and answers with one; it has no outputs,\n" +
		"no threads and no stops. Ratios are to the first row of their kind.\n")
}

// kernelTableNotes explains the rows of the table of comparisons.
const kernelTableNotes = `*pool*: forked from a process which has imported nothing, or numpy and pandas; *soon after another*: right after it, while in the
other rows nothing was forked for 200 ms, after which Linux takes longer to put a process into a cgroup. *first text*: of a cell that
prints and then sleeps. *stopped*: from the stop to the end of the run. *summary*: of 50 names, of numbers or of lists of 1,000 numbers,
while "while True: pass" runs; ipykernel can tell nothing of its variables then, and is asked on its control channel, which has a
thread of its own, for its "kernel_info". *death*: from SIGKILL while a cell runs to the error that names it, to
"managed_process_exit", or to Jupyter's "restarting", which names nothing; jupyter_client leaves it to its caller to look.`

// addPrintingMemoryAndPoolTables writes the tables of large outputs, of idle kernels'
// memory, and of whole runs with and without a pool.
func (r *report) addPrintingMemoryAndPoolTables(printed, idle, runs [][]string) {
	r.WriteString("\nA cell prints 100 MiB, in pieces of 64 KiB or 100 B, with `--stdio-limit -1`: what comes, and until when. The median, the least\n" +
		"that came and the most memory of 3. The console does nothing but read; one for which 8 MiB wait is sent away.\n\n")
	r.addTable(printed...)
	fmt.Fprintf(r, "\nKernels that have imported numpy and pandas and do nothing: proportional memory (PSS). Where fewer than %d were measured\n"+
		"the sum is scaled up, which counts what they share once for each %d.\n\n", idleKernelCount, unpooledKernelCount)
	r.addTable(idle...)
	r.WriteString("\n`assay run testcases/examples --agent oracle -j 8`, 5 times each, in turns. One of the cases takes three seconds by itself, few import\n" +
		"pandas. CPU is that of the program and all its children.\n\n")
	r.addTable(runs...)
}

// sideBySideRow returns a row of the table that compares Assay with something else, with
// ratios of theirs to ours. If theirs has no rounds the row says "not measured".
func sideBySideRow(name, aim string, ours measurement, beside string, theirs measurement) []string {
	row := []string{name, ours.formatPercentile(50), ours.formatPercentile(99), aim, beside, "not measured", "", "", ""}
	if len(theirs.timesByRound) > 0 {
		row[5], row[6] = theirs.formatPercentile(50), theirs.formatPercentile(99)
		row[7], row[8] = compareRounds(theirs.percentileByRound(50), ours.percentileByRound(50))
	}
	return row
}

// oneSidedRow returns a row of the same table for something that only Assay has.
func oneSidedRow(name, aim string, ours measurement) []string {
	return []string{name, ours.formatPercentile(50), ours.formatPercentile(99), aim, "", "", "", "", ""}
}

// ratioRowWithAim returns a row of the table of ratios to a floor. Pass the floor as ours
// for the floor's own row.
func ratioRowWithAim(name, aim string, ours, floor measurement) []string {
	ratio, spread := compareRounds(ours.percentileByRound(50), floor.percentileByRound(50))
	return []string{name, ours.formatPercentile(50), ours.formatPercentile(99), ratio, spread, aim}
}
