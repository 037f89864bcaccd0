//go:build bench

package bench_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
)

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

// wallOf is how long a command takes that must succeed.
func wallOf(t *testing.T, name string, args ...string) time.Duration {
	t.Helper()
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	took := time.Since(began)
	require.NoError(t, err, "%s", out)
	return took
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
