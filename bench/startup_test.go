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

// measureCommand measures what the program does before it does anything.
func measureCommand(t *testing.T, r *report, p *program) {
	t.Helper()
	const rounds = 30
	var floor, version, help []time.Duration
	for i := range rounds + 1 {
		a, b, c := wallOf(t, "/bin/true"), wallOf(t, p.path, "version"), wallOf(t, p.path, "-h")
		if i > 0 { // the first warms up
			floor, version, help = append(floor, a), append(version, b), append(help, c)
		}
	}
	r.section("The command itself", "Wall time of a process from start to end, with `/bin/true` as the floor, one after the other, 30 rounds.")
	r.table(
		[]string{"", "median", "p99", "ratio", "spread", "aim"},
		append(compared("`/bin/true`", floor, floor), ""),
		append(compared("`assay version`", floor, version), "20 ms"),
		append(compared("`assay -h`", floor, help), "20 ms"),
	)
	t.Logf("version %s, help %s", show(median(version)), show(median(help)))
}

// measureStart measures how long it takes until the first cell has run.
func measureStart(t *testing.T, r *report, p *program) {
	t.Helper()
	const rounds = 30
	dir := t.TempDir()
	cases := writeCases(t, dir, 1)
	took := make([][]time.Duration, 5)
	for i := range rounds + 1 {
		out := filepath.Join(dir, fmt.Sprintf("out-%d", i))
		now := []time.Duration{
			wallOf(t, p.python.Executable, "-c", "pass"),
			wallOf(t, p.python.Executable, "-S", "-c", "pass"),
			p.kernelAlone(t),
			p.run(t, "run", cases, "--agent", "oracle", "-j", "1", "--quiet", "--out", out).wall,
			firstResult(t, out),
		}
		for k := range now {
			if i > 0 { // the first warms up
				took[k] = append(took[k], now[k])
			}
		}
	}
	r.section("Start to the first cell's result",
		fmt.Sprintf("The bare interpreter that the program resolves; a kernel started and given one cell, up to its `cell_result`; the same within an\n"+
			"attempt of `assay run` (`t_ns` of the trace's first `cell_result`); and the whole command, of five cells and a verdict, from its\n"+
			"start to its end. One after the other, %d rounds; ratios are to `python3 -c pass` of the same round.", rounds))
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
		table = append(table, compared(row.name, took[0], took[row.at]))
		t.Logf("%s: %s", row.name, show(median(took[row.at])))
	}
	r.table(table...)
}

// compared is a row of what was measured round by round beside a floor.
func compared(name string, floor, took []time.Duration) []string {
	var c contest
	for i := range took {
		c.add(floor[i:i+1], took[i:i+1])
	}
	return []string{name, show(median(took)), show(percentile(took, 99)), c.ratio(), c.spread()}
}

// kernelAlone starts a kernel, has it run a cell, and stops it again, which is
// not counted.
func (p *program) kernelAlone(t *testing.T) time.Duration {
	t.Helper()
	sandbox := t.TempDir()
	for _, name := range []string{"home", "tmp", "mpl"} {
		require.NoError(t, os.MkdirAll(filepath.Join(sandbox, ".assay", name), 0o700))
	}
	began := time.Now()
	k, err := kernel.Start(t.Context(), p.supervisor, kernel.Config{
		Python: p.python, Workdir: sandbox, Session: "bench", Environ: os.Environ(),
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

// firstResult is when the only attempt of a run had its first cell_result.
func firstResult(t *testing.T, out string) (at time.Duration) {
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

// measureStarts measures how long it takes from wanting a kernel to the result
// of its first cell.
func (k *kit) measureStarts(t *testing.T) (beside, floors [][]string) {
	t.Helper()
	bare, warm := k.pool(t, 2), k.pool(t, 2, "numpy", "pandas")
	turn := k.jupyterBirths(t)
	turn["served"] = k.serve(t).birth(t)
	turn["cold"] = k.birth(t, kernel.Config{}, oneAndOne)
	turn["cold fenced"] = k.birth(t, kernel.Config{Sandbox: k.fence}, oneAndOne)
	turn["cold imports"] = k.birth(t, kernel.Config{}, imports)
	turn["bare"] = rested(k.birth(t, kernel.Config{Pool: bare}, oneAndOne))
	turn["warm"] = rested(k.birth(t, kernel.Config{Pool: warm}, imports))
	turn["warm fenced"] = rested(k.birth(t, kernel.Config{Pool: warm, Sandbox: k.fence}, imports))
	turn["bare soon"] = inARow(k.birth(t, kernel.Config{Pool: bare}, oneAndOne))
	turn["warm soon"] = inARow(k.birth(t, kernel.Config{Pool: warm}, imports))
	turn["warm fenced soon"] = inARow(k.birth(t, kernel.Config{Pool: warm, Sandbox: k.fence}, imports))
	of := namedInTurns(15, turn)
	beside = [][]string{
		rival("start to first result, cold", "60 ms", of["cold"], "jupyter_client", of["client"]),
		rival("the same, console and server", "", of["served"], "jupyter_server", of["web"]),
		rival("start to first result, pool", "5 ms", of["bare"], "jupyter_client", of["client"]),
		rival("the same, soon after another", "5 ms", of["bare soon"], "jupyter_client", of["client"]),
		rival("start with numpy and pandas, pool", "10 ms", of["warm"], "jupyter_client", of["client imports"]),
		rival("the same, soon after another", "10 ms", of["warm soon"], "jupyter_client", of["client imports"]),
	}
	floors = [][]string{
		above("start to first result, cold", "", of["cold"], of["cold"]),
		above("the same, behind the fence", "", of["cold fenced"], of["cold"]),
		above("start with numpy and pandas, cold", "", of["cold imports"], of["cold imports"]),
		above("the same, pool", "", of["warm"], of["cold imports"]),
		above("the same, pool, behind the fence", "", of["warm fenced"], of["cold imports"]),
		above("the same, pool, soon after another", "", of["warm soon"], of["cold imports"]),
		above("the same, pool, behind the fence, soon after another", "", of["warm fenced soon"], of["cold imports"]),
	}
	return beside, floors
}

// jupyterBirths are the turns of jupyter_client, without and with imports, and of
// Jupyter's server.
func (k *kit) jupyterBirths(t *testing.T) map[string]func() []time.Duration {
	t.Helper()
	if !k.beside {
		return map[string]func() []time.Duration{"client": absent, "client imports": absent, "web": absent}
	}
	jupyter, server := newJupyterClient(t), newJupyterServer(t)
	start := func(code string) func() []time.Duration {
		return func() []time.Duration {
			took := jupyter.start(code)
			jupyter.stop()
			return []time.Duration{took}
		}
	}
	web := func() []time.Duration {
		began := time.Now()
		one := server.start(t)
		one.run(oneAndOne)
		took := time.Since(began)
		one.stop()
		return []time.Duration{took}
	}
	return map[string]func() []time.Duration{"client": start(oneAndOne), "client imports": start(imports), "web": web}
}

// birth is a turn that starts a kernel and takes the time until code has run.
func (k *kit) birth(t *testing.T, cfg kernel.Config, code string) func() []time.Duration {
	t.Helper()
	return func() []time.Duration {
		sandbox := folder(t)
		began := time.Now()
		one := k.startIn(t, sandbox, cfg)
		one.run(code)
		took := time.Since(began)
		one.stop(t)
		return []time.Duration{took}
	}
}

// rested waits before a turn, so that it does not profit from the one before it.
func rested(turn func() []time.Duration) func() []time.Duration {
	return func() []time.Duration {
		<-time.After(200 * time.Millisecond)
		return turn()
	}
}

// inARow takes several turns for one, right after one that does not count.
func inARow(turn func() []time.Duration) func() []time.Duration {
	return func() (times []time.Duration) {
		turn()
		for range 5 {
			times = append(times, turn()...)
		}
		return times
	}
}
