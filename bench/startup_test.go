//go:build bench

package bench_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
)

// measureCommandStart measures how long the binary takes for commands that do nothing.
func measureCommandStart(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	const rounds = 30
	var floor, version, help []time.Duration
	for i := range rounds + 1 {
		a, b, c := timeCommand(t, "/bin/true"), timeCommand(t, p.path, "version"), timeCommand(t, p.path, "-h")
		if i > 0 { // the first round is a warm-up
			floor, version, help = append(floor, a), append(version, b), append(help, c)
		}
	}
	r.addSection("Start of the command", "Wall time of a process from start to end, with `/bin/true` as the floor, one after the other, 30 rounds.")
	r.addTable(
		[]string{"", "median", "p99", "ratio", "spread", "aim"},
		append(ratioRow("`/bin/true`", floor, floor), ""),
		append(ratioRow("`assay version`", floor, version), "20 ms"),
		append(ratioRow("`assay -h`", floor, help), "20 ms"),
	)
	t.Logf("version %s, help %s", formatDuration(median(version)), formatDuration(median(help)))
}

// measureStartToFirstResult measures the time from the start of an interpreter, a kernel,
// an attempt and a whole run to the first result.
func measureStartToFirstResult(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	const rounds = 30
	dir := t.TempDir()
	cases := writeCasesFile(t, dir, 1)
	took := make([][]time.Duration, 5)
	for i := range rounds + 1 {
		out := filepath.Join(dir, fmt.Sprintf("out-%d", i))
		now := []time.Duration{
			timeCommand(t, p.python.Executable, "-c", "pass"),
			timeCommand(t, p.python.Executable, "-S", "-c", "pass"),
			p.timeKernelStart(t),
			p.runCommand(t, "run", cases, "--agent", "oracle", "-j", "1", "--quiet", "--out", out).wall,
			timeOfFirstResult(t, out),
		}
		for k := range now {
			if i > 0 { // the first round is a warm-up
				took[k] = append(took[k], now[k])
			}
		}
	}
	r.addSection("Start to the first cell's result",
		fmt.Sprintf("The interpreter that the binary resolves, doing nothing; a kernel, from its start to the `cell_result` of its first cell; the\n"+
			"same within an attempt of `assay run` (`t_ns` of the trace's first `cell_result`); and the whole command with five cells and\n"+
			"a verdict, from start to end. One after the other, %d rounds; ratios are to `python3 -c pass` of the same round.", rounds))
	table := [][]string{{"", "median", "p99", "ratio", "spread"}}
	for _, row := range []struct {
		name string
		at   int
	}{
		{"`python3 -c pass`", 0},
		{"`python3 -S -c pass`", 1},
		{"kernel alone", 2},
		{"within an attempt", 4},
		{"`assay run` of one attempt", 3},
	} {
		table = append(table, ratioRow(row.name, took[0], took[row.at]))
		t.Logf("%s: %s", row.name, formatDuration(median(took[row.at])))
	}
	r.addTable(table...)
}

// ratioRow returns a row of median, p99, ratio and spread of what was measured round by
// round with a floor.
func ratioRow(name string, floor, took []time.Duration) []string {
	var c pairedMeasurement
	for i := range took {
		c.addRound(floor[i:i+1], took[i:i+1])
	}
	return []string{name, formatDuration(median(took)), formatDuration(percentile(took, 99)), c.formatRatio(), c.formatSpread()}
}

// timeKernelStart returns the time from starting a kernel to the result of its first
// cell. Stopping it does not count.
func (p *assayProgram) timeKernelStart(t *testing.T) time.Duration {
	t.Helper()
	workdir := t.TempDir()
	for _, name := range []string{"home", "tmp", "mpl"} {
		require.NoError(t, os.MkdirAll(filepath.Join(workdir, ".assay", name), 0o700))
	}
	began := time.Now()
	k, err := kernel.Start(t.Context(), p.supervisor, kernel.Config{
		Python: p.python, Workdir: workdir, Session: "bench", Environ: os.Environ(),
	})
	require.NoError(t, err)
	require.NoError(t, k.Write([]byte(`{"type":"run_cell","cell_id":"c","code":"1 + 1"}`)))
	for {
		frame, err := k.Read()
		require.NoError(t, err)
		env, err := protocol.NewEnvelopeDecoder().Decode(frame)
		require.NoError(t, err)
		if env.Type == protocol.TypeCellResult {
			require.Equal(t, protocol.StatusOK, env.Status)
			break
		}
	}
	took := time.Since(began)
	require.NoError(t, k.Stop(t.Context()))
	return took
}

// timeOfFirstResult returns when the first cell_result arrived in a run's only attempt,
// since the start of its trace.
func timeOfFirstResult(t *testing.T, out string) (at time.Duration) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(out, "attempts", "*", "trace.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	file, err := os.Open(files[0])
	require.NoError(t, err)
	defer file.Close()
	_, err = trace.ReadRecords(file, func(record trace.Record) error {
		if record.Hop == trace.KernelToServer && record.Type == protocol.TypeCellResult {
			at = time.Duration(record.ElapsedNS)
			return io.EOF
		}
		return nil
	})
	require.ErrorIs(t, err, io.EOF, "no cell_result in the trace")
	return at
}

// measureKernelStarts measures the time from starting a kernel to the result of its first
// cell. It returns rows for the table of comparisons and for the table of floors.
func (k *kernelHarness) measureKernelStarts(t *testing.T) (comparisons, floors [][]string) {
	t.Helper()
	bare, warm := k.newPool(t, 2), k.newPool(t, 2, "numpy", "pandas")
	rounds := k.jupyterStartRounds(t)
	rounds["served"] = k.startServer(t).newSessionRound(t)
	rounds["cold"] = k.kernelStartRound(t, kernel.Config{}, onePlusOneCode)
	rounds["cold confined"] = k.kernelStartRound(t, kernel.Config{Sandbox: k.sandboxTemplate}, onePlusOneCode)
	rounds["cold imports"] = k.kernelStartRound(t, kernel.Config{}, importNumpyPandasCode)
	rounds["bare"] = roundAfterRest(k.kernelStartRound(t, kernel.Config{Pool: bare}, onePlusOneCode))
	rounds["warm"] = roundAfterRest(k.kernelStartRound(t, kernel.Config{Pool: warm}, importNumpyPandasCode))
	rounds["warm confined"] = roundAfterRest(k.kernelStartRound(t, kernel.Config{Pool: warm, Sandbox: k.sandboxTemplate}, importNumpyPandasCode))
	rounds["bare soon"] = repeatedRound(k.kernelStartRound(t, kernel.Config{Pool: bare}, onePlusOneCode))
	rounds["warm soon"] = repeatedRound(k.kernelStartRound(t, kernel.Config{Pool: warm}, importNumpyPandasCode))
	rounds["warm confined soon"] = repeatedRound(k.kernelStartRound(t, kernel.Config{Pool: warm, Sandbox: k.sandboxTemplate}, importNumpyPandasCode))
	measured := measureNamedInTurns(15, rounds)
	comparisons = [][]string{
		comparisonRow("start to first result, cold", "60 ms", measured["cold"], "jupyter_client", measured["client"]),
		comparisonRow("the same, console and server", "", measured["served"], "jupyter_server", measured["web"]),
		comparisonRow("start to first result, pool", "5 ms", measured["bare"], "jupyter_client", measured["client"]),
		comparisonRow("the same, soon after another", "5 ms", measured["bare soon"], "jupyter_client", measured["client"]),
		comparisonRow("start with numpy and pandas, pool", "10 ms", measured["warm"], "jupyter_client", measured["client imports"]),
		comparisonRow("the same, soon after another", "10 ms", measured["warm soon"], "jupyter_client", measured["client imports"]),
	}
	floors = [][]string{
		ratioRowWithAim("start to first result, cold", "", measured["cold"], measured["cold"]),
		ratioRowWithAim("the same, sandboxed", "", measured["cold confined"], measured["cold"]),
		ratioRowWithAim("start with numpy and pandas, cold", "", measured["cold imports"], measured["cold imports"]),
		ratioRowWithAim("the same, pool", "", measured["warm"], measured["cold imports"]),
		ratioRowWithAim("the same, pool, sandboxed", "", measured["warm confined"], measured["cold imports"]),
		ratioRowWithAim("the same, pool, soon after another", "", measured["warm soon"], measured["cold imports"]),
		ratioRowWithAim("the same, pool, sandboxed, soon after another", "", measured["warm confined soon"], measured["cold imports"]),
	}
	return comparisons, floors
}

// jupyterStartRounds returns rounds that start an ipykernel through jupyter_client, with
// and without imports, and through a Jupyter server.
func (k *kernelHarness) jupyterStartRounds(t *testing.T) map[string]func() []time.Duration {
	t.Helper()
	if !k.jupyterAvailable {
		return map[string]func() []time.Duration{"client": unmeasurableRound, "client imports": unmeasurableRound, "web": unmeasurableRound}
	}
	jupyter, server := newJupyterClient(t), newJupyterServer(t)
	start := func(code string) func() []time.Duration {
		return func() []time.Duration {
			took := jupyter.startKernel(code)
			jupyter.stopKernel()
			return []time.Duration{took}
		}
	}
	web := func() []time.Duration {
		began := time.Now()
		one := server.startKernel(t)
		one.timeToResult(onePlusOneCode)
		took := time.Since(began)
		one.stop()
		return []time.Duration{took}
	}
	return map[string]func() []time.Duration{"client": start(onePlusOneCode), "client imports": start(importNumpyPandasCode), "web": web}
}

// kernelStartRound returns a round that starts a kernel and measures the time until code has
// run.
func (k *kernelHarness) kernelStartRound(t *testing.T, cfg kernel.Config, code string) func() []time.Duration {
	t.Helper()
	return func() []time.Duration {
		workdir := newKernelWorkdir(t)
		began := time.Now()
		one := k.startKernelIn(t, workdir, cfg)
		one.timeToResult(code)
		took := time.Since(began)
		one.stop(t)
		return []time.Duration{took}
	}
}

// roundAfterRest waits 200 ms before a round, so that the round before does not speed it up.
func roundAfterRest(round func() []time.Duration) func() []time.Duration {
	return func() []time.Duration {
		<-time.After(200 * time.Millisecond)
		return round()
	}
}

// repeatedRound runs a round six times in a row. The first does not count.
func repeatedRound(round func() []time.Duration) func() []time.Duration {
	return func() (times []time.Duration) {
		round()
		for range 5 {
			times = append(times, round()...)
		}
		return times
	}
}
