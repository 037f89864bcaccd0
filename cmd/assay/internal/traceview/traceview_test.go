package traceview_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/traceview"
	"assay/eval/runs"
	"assay/internal/trace"
	"assay/internal/trace/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// createRun creates a run folder named run in the current folder, with one ended attempt
// per case id, each with the trace file of one entry.
func createRun(t *testing.T, caseIDs ...string) {
	t.Helper()
	folder, err := runs.Create("run", runs.Info{}, nil)
	require.NoError(t, err)
	for i, id := range caseIDs {
		dir, rel, err := folder.MakeAttemptDir(i+1, id, 1, 1)
		require.NoError(t, err)
		writeTrace(t, filepath.Join(dir, "trace.jsonl"))
		require.NoError(t, folder.AppendLine(runs.Attempt{Type: "attempt", CaseID: id, Epoch: 1, Try: 1, Trace: filepath.Join(rel, "trace.jsonl")}))
	}
	require.NoError(t, folder.Close())
}

// writeTrace writes a trace with a request that was answered after 1 ms.
func writeTrace(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"trace","version":1,"session":"default","started":"2026-01-02T03:04:05Z"}
{"seq":1,"t_ns":1000000,"hop":"server>kernel","type":"globals_summary","tx_id":"eval_1","bytes":9,"msg":{}}
{"seq":2,"t_ns":2000000,"hop":"kernel>server","type":"globals_summary","tx_id":"eval_1","bytes":9,"msg":{}}
`), 0o600))
}

// A trace can be named by its file, its attempt, its run with one attempt, or its case.
func TestFindTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	createRun(t, "a", "b")
	require.NoError(t, os.Mkdir("empty", 0o700))
	for name, wantErr := range map[string]string{
		"run/attempts/0001-a-e1-t1/trace.jsonl": "",
		"run/attempts/0001-a-e1-t1":             "",
		"run#b":                                 "",
		"run":                                   "run: 2 attempts: name one, as RUN#CASE or by its folder: run/attempts/0001-a-e1-t1, run/attempts/0002-b-e1-t1",
		"run#c":                                 "run#c: there is no such attempt",
		"empty":                                 "empty: no trace.jsonl and no run.json: name a trace, or the folder of an attempt or of a run",
		"nowhere":                               "nowhere: no such file: want a trace, the folder of an attempt or a run, RUN#CASE, or the address of a server",
	} {
		target, err := traceview.FindTarget(t.Context(), name, "", "default")
		if wantErr != "" {
			require.Equal(t, exit.UsageError(errors.Unwrap(err)), err, name)
			require.EqualError(t, err, wantErr)
			continue
		}
		require.NoError(t, err)
		lines, err := target.Open(t.Context())
		require.NoError(t, err, name)
		line, err := lines.Next(t.Context())
		require.NoError(t, err)
		require.Contains(t, string(line), `"type":"trace"`)
		require.NoError(t, lines.Close())
	}
}

// The error about an ambiguous name lists at most three attempts.
func TestAmbiguousNameListsFewAttempts(t *testing.T) {
	t.Chdir(t.TempDir())
	createRun(t, "a", "b", "c", "d")
	_, err := traceview.FindTarget(t.Context(), "run", "", "default")
	require.EqualError(t, err, "run: 4 attempts: name one, as RUN#CASE or by its folder: run/attempts/0001-a-e1-t1, run/attempts/0002-b-e1-t1, run/attempts/0003-c-e1-t1, …")
}

// printTrace prints a trace with one answered request.
func printTrace(t *testing.T, printer traceview.Printer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	writeTrace(t, path)
	target, err := traceview.FindTarget(t.Context(), path, "", "default")
	require.NoError(t, err)
	require.NoError(t, flow.WalkFinished(t.Context(), target.Open, printer.Print))
	require.NoError(t, printer.Finish())
}

func TestPrinters(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printTrace(t, traceview.NewLinePrinter(&out, false, false))
	require.Equal(t, "+0.001 server>kernel globals_summary eval_1 9 B  answered in 1.0ms: kernel 1.0ms\n+0.002 kernel>server globals_summary eval_1 9 B\n", out.String())

	out.Reset()
	printTrace(t, traceview.NewJSONPrinter(&out))
	first, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	var line struct {
		Seq   int
		Delay flow.RequestDelay
	}
	require.NoError(t, json.Unmarshal(first, &line))
	require.Equal(t, 1, line.Seq)
	require.InDelta(t, 1, *line.Delay.TotalMS, 1e-9)

	out.Reset()
	printTrace(t, traceview.NewStatsPrinter(&out, false))
	require.Regexp(t, `(?m)^probe +globals_summary +1 +1.0ms +1.0ms +1.0ms +0 +0 +0 +kernel$`, out.String())
	require.Contains(t, out.String(), "\n\n2 frames\n")

	out.Reset()
	printTrace(t, traceview.NewStatsPrinter(&out, true))
	var summary flow.Summary
	require.NoError(t, json.Unmarshal(out.Bytes(), &summary))
	require.Equal(t, 2, summary.Frames)
}

func TestWithExitStatus(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]error{
		fs.ErrNotExist:                 exit.UsageError(fs.ErrNotExist),
		trace.ErrNotTrace:              exit.UsageError(trace.ErrNotTrace),
		fs.ErrPermission:               exit.BrokenError(fs.ErrPermission),
		exit.UsageError(fs.ErrInvalid): exit.UsageError(fs.ErrInvalid),
	} {
		require.Equal(t, want, traceview.WithExitStatus(err))
	}
}
