//go:build bench

package bench_test

import (
	"fmt"
	"testing"
)

// measureKernels compares kernels with ipykernel and with the minimum that they
// consist of. -run TestBench/kernels/NAME runs a part of it.
func measureKernels(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	k := newKernelHarness(t, p)
	comparisons := [][]string{{"", "Assay p50", "p99", "aim", "compared with", "p50", "p99", "times as long", "spread"}}
	floors := [][]string{{"", "p50", "p99", "ratio", "spread", "aim"}}
	for _, measurement := range []struct {
		name    string
		measure func(t *testing.T) (comparisons, floors [][]string)
	}{
		{"start", k.measureKernelStarts},
		{"cells", k.measureCellRuns},
		{"summary", k.measureGlobalsSummaries},
		{"death", k.measureKernelDeaths},
		{"elisp", k.measureElispKernel},
	} {
		t.Run(measurement.name, func(t *testing.T) {
			b, f := measurement.measure(t)
			comparisons, floors = append(comparisons, b...), append(floors, f...)
			t.Log(b, f)
		})
	}
	var printed, idle, runs [][]string
	t.Run("print", func(t *testing.T) { printed = k.measurePrinting(t) })
	t.Run("idle", func(t *testing.T) { idle = k.measureIdleKernels(t) })
	t.Run("pool", func(t *testing.T) { runs = k.measurePooledRuns(t) })
	r.addKernelTables(k, comparisons, floors)
	r.addPrintingMemoryAndPoolTables(printed, idle, runs)
}

// addKernelTables writes the tables of single kernels: the comparisons with Jupyter and
// the ratios to a floor.
func (r *report) addKernelTables(k *kernelHarness, comparisons, floors [][]string) {
	r.addSection("Kernels",
		fmt.Sprintf("The Python kernel and Debian's ipykernel, both with %s (Python %s). *jupyter_client* drives its kernel from\n"+
			"Python, `bench/jupyter.py`. *jupyter_server* is a Jupyter server with its default limits, a separate process with a WebSocket\n"+
			"to the benchmark. Assay's kernel is driven by the benchmark, on its socket and without a sandbox; *console and server* is a\n"+
			"console at `/run` of a separate `assay serve`, with a sandbox, a trace and an agent that does nothing. A start begins when\n"+
			"the kernel is requested. A cell is done when its outputs and its result have arrived, or, with Jupyter, its reply and the\n"+
			"status idle. *times as long* is the other time divided by Assay's.",
			k.python.Executable, k.python.Version))
	r.addTable(comparisons...)
	r.WriteString("\n" + kernelTableNotes + "\n\n")
	r.addTable(floors...)
	r.WriteString("\n*minimal kernel*: `bench/minimal_kernel.py`, which reads a JSON frame, executes its code and answers with a frame; it has no\n" +
		"outputs, no threads and no interrupts. Ratios are to the first row of their group.\n")
}

// kernelTableNotes explains the rows of the table of comparisons.
const kernelTableNotes = `*pool*: forked from a process that has imported nothing, or numpy and pandas. *soon after another*: forked right after another kernel; in
the other rows nothing was forked for 200 ms, after which Linux takes longer to put a process into a cgroup. *first text*: of a cell
that prints and then sleeps. *interrupted*: from the request to stop to the end of the run. *summary*: of 50 names that hold numbers or
lists of 1,000 numbers, while "while True: pass" runs; ipykernel cannot describe its variables then, and is asked for its "kernel_info"
on its control channel, which has its own thread. *death*: from SIGKILL while a cell runs to the error that names the signal, to
"managed_process_exit", or to Jupyter's "restarting", which names no cause; jupyter_client leaves the check to its caller.`

// addPrintingMemoryAndPoolTables writes the tables of large outputs, of idle kernels'
// memory, and of whole runs with and without a pool.
func (r *report) addPrintingMemoryAndPoolTables(printed, idle, runs [][]string) {
	r.WriteString("\nA cell prints 100 MiB, in pieces of 64 KiB or 100 B, with `--stdio-limit -1`: how long that takes and how much arrives. Of 3\n" +
		"runs: the median time, the least that arrived and the most memory. The console only reads; a console is disconnected when 8\n" +
		"MiB wait for it.\n\n")
	r.addTable(printed...)
	fmt.Fprintf(r, "\nIdle kernels that have imported numpy and pandas: proportional memory (PSS). Where fewer than %d were measured the sum is\n"+
		"scaled up, which counts what they share once for every %d.\n\n", idleKernelCount, unpooledKernelCount)
	r.addTable(idle...)
	r.WriteString("\n`assay run testcases/examples --agent oracle -j 8`, 5 times each, in turns. One of the cases takes three seconds by itself;\n" +
		"few import pandas. CPU is that of the binary and all its children.\n\n")
	r.addTable(runs...)
}

// comparisonRow returns a row of the table that compares Assay with something else, with
// ratios of theirs to ours. If theirs has no rounds the row says "not measured".
func comparisonRow(name, aim string, ours measurement, comparedWith string, theirs measurement) []string {
	row := []string{name, ours.formatPercentile(50), ours.formatPercentile(99), aim, comparedWith, "not measured", "", "", ""}
	if len(theirs.timesByRound) > 0 {
		row[5], row[6] = theirs.formatPercentile(50), theirs.formatPercentile(99)
		row[7], row[8] = compareRounds(theirs.percentileByRound(50), ours.percentileByRound(50))
	}
	return row
}

// assayOnlyRow returns a row of the same table for something that only Assay has.
func assayOnlyRow(name, aim string, ours measurement) []string {
	return []string{name, ours.formatPercentile(50), ours.formatPercentile(99), aim, "", "", "", "", ""}
}

// ratioRowWithAim returns a row of the table of ratios to a floor. Pass the floor as ours
// for the floor's own row.
func ratioRowWithAim(name, aim string, ours, floor measurement) []string {
	ratio, spread := compareRounds(ours.percentileByRound(50), floor.percentileByRound(50))
	return []string{name, ours.formatPercentile(50), ours.formatPercentile(99), ratio, spread, aim}
}
