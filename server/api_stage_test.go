package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server"
)

// library is a folder of runs behind the API.
type library struct {
	dir string
	web http.Handler
}

func newLibrary(tb testing.TB) *library {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "runs")
	return &library{dir: dir, web: server.RunsHandler(dir, nil)}
}

// run makes a run that began on this day, and goes on.
func (l *library) run(tb testing.TB, name string, day int) *runs.Writer {
	tb.Helper()
	folder, err := runs.Create(filepath.Join(l.dir, name), runs.Info{
		Started: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
		Config:  map[string]any{"agent": "noop <3"}, Host: runs.Host{Name: "here", CPUs: 2},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = folder.Close() })
	return folder
}

// attempt makes the folder of an attempt, with files in it, and returns its name.
func (l *library) attempt(tb testing.TB, folder *runs.Writer, n int, files map[string]string) string {
	tb.Helper()
	dir, rel, err := folder.MakeAttemptDir(n, fmt.Sprintf("case-%d", n), 1, 1)
	require.NoError(tb, err)
	for name, text := range files {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return filepath.Base(rel)
}

// record writes the line of an attempt.
func record(tb testing.TB, folder *runs.Writer, name string, n int, outcome runs.Outcome, passed *bool) {
	tb.Helper()
	require.NoError(tb, folder.AppendLine(runs.Attempt{
		Type: runs.TypeAttempt, Run: folder.Name, CaseID: fmt.Sprintf("case-%d", n), Epoch: 1, Try: 1,
		Outcome: outcome, Passed: passed, Trace: "attempts/" + name + "/trace.jsonl",
	}))
}

// ask sends a request; header is of pairs.
func (l *library) ask(tb testing.TB, method, path string, header ...string) *httptest.ResponseRecorder {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	l.web.ServeHTTP(answer, request)
	return answer
}

// get reads an answer of JSON.
func (l *library) get(tb testing.TB, path string, into any) {
	tb.Helper()
	answer := l.ask(tb, http.MethodGet, path)
	require.Equal(tb, http.StatusOK, answer.Code, answer.Body.String())
	require.Equal(tb, "application/json", answer.Header().Get("Content-Type"))
	require.Equal(tb, "nosniff", answer.Header().Get("X-Content-Type-Options"))
	require.NoError(tb, json.Unmarshal(answer.Body.Bytes(), into), answer.Body.String())
}

// problem reads an answer that is a problem, and returns its text.
func problem(tb testing.TB, answer *httptest.ResponseRecorder, status int, code string) string {
	tb.Helper()
	require.Equal(tb, status, answer.Code, answer.Body.String())
	require.Equal(tb, "application/json", answer.Header().Get("Content-Type"))
	require.Equal(tb, "nosniff", answer.Header().Get("X-Content-Type-Options"))
	var got struct{ Code, Text string }
	decoder := json.NewDecoder(answer.Body)
	decoder.DisallowUnknownFields()
	require.NoError(tb, decoder.Decode(&got))
	require.Equal(tb, code, got.Code, got.Text)
	require.NotEmpty(tb, got.Text)
	return got.Text
}

// tracePage is an answer of …/trace.
type tracePage struct {
	Entries []json.RawMessage `json:"entries"`
	Next    *int64            `json:"next"`
	Last    int64             `json:"last"`
}

func (p tracePage) seqs(tb testing.TB) (seqs []int64) {
	tb.Helper()
	for _, entry := range p.Entries {
		var record trace.Record
		require.NoError(tb, json.Unmarshal(entry, &record))
		seqs = append(seqs, record.Seq)
	}
	return seqs
}

// written is a trace file of these frames, as the trace's own writer makes it.
func written(tb testing.TB, frames ...trace.Entry) string {
	tb.Helper()
	journal := trace.NewJournal("s")
	var file bytes.Buffer
	writer := trace.NewWriter(journal, &file)
	for _, entry := range frames {
		journal.Append(entry)
	}
	journal.Close()
	require.NoError(tb, writer.Run(tb.Context()))
	return file.String()
}

// numbered are n frames, of which every tenth is an action.
func numbered(tb testing.TB, n int) []trace.Entry {
	tb.Helper()
	frames := make([]trace.Entry, n)
	for i := range frames {
		frames[i] = trace.Entry{
			Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: "kernel_stdio", CellID: fmt.Sprintf("c%d", i%3)},
			Body: fmt.Appendf(nil, `{"type":"kernel_stdio","data":"<%d>"}`, i+1),
		}
		if (i+1)%10 == 0 {
			frames[i] = action(tb, "", "run_cell", fmt.Sprintf("tx_%d", i+1))
		}
	}
	return frames
}
