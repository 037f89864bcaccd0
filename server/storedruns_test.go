package server_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// createRun creates a run of this name in dir, which goes on until its folder is
// closed.
func createRun(tb testing.TB, dir, name string) *runs.Writer {
	tb.Helper()
	folder, err := runs.Create(filepath.Join(dir, name), runs.Info{Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Config: map[string]any{}})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = folder.Close() })
	return folder
}

// createAttempt creates the folder of attempt n, with these files (name to content),
// and returns the folder's name.
func createAttempt(tb testing.TB, run *runs.Writer, n int, files map[string]string) string {
	tb.Helper()
	dir, path, err := run.MakeAttemptDir(n, fmt.Sprintf("case-%d", n), 1, 1)
	require.NoError(tb, err)
	for name, text := range files {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return filepath.Base(path)
}

// traceText returns the text of a trace file with n entries of kernel output.
func traceText(tb testing.TB, n int) string {
	tb.Helper()
	journal := trace.NewJournal("s")
	var file bytes.Buffer
	writer := trace.NewWriter(journal, &file)
	for i := range n {
		journal.Append(trace.Entry{
			Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: protocol.TypeKernelStdio},
			Body: fmt.Appendf(nil, `{"type":"kernel_stdio","data":"%d"}`, i),
		})
	}
	journal.Close()
	require.NoError(tb, writer.Run(tb.Context()))
	return file.String()
}
