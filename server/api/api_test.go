package api_test

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
	"go.uber.org/goleak"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server/api"
	"assay/server/endpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is the API of the runs in a temporary folder.
type testServer struct {
	dir     string // of the runs; it does not exist before createRun
	handler http.Handler
}

func newTestServer(tb testing.TB) *testServer {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "runs")
	return &testServer{dir: dir, handler: api.NewTestHandler(dir, nil)}
}

// createRun creates the folder of a run that started on this day of January 2026
// and still goes on.
func (s *testServer) createRun(tb testing.TB, name string, day int) *runs.Writer {
	tb.Helper()
	folder, err := runs.Create(filepath.Join(s.dir, name), runs.Info{
		Started: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
		Config:  map[string]any{"agent": "noop <3"}, Host: runs.Host{HostName: "here", CPUs: 2},
	}, nil)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = folder.Close() })
	return folder
}

// createAttempt creates the folder of attempt n, with these files (name to content),
// and returns the folder's name.
func (s *testServer) createAttempt(tb testing.TB, folder *runs.Writer, n int, files map[string]string) string {
	tb.Helper()
	dir, rel, err := folder.MakeAttemptDir(n, fmt.Sprintf("case-%d", n), 1, 1)
	require.NoError(tb, err)
	for name, text := range files {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return filepath.Base(rel)
}

// recordAttempt appends the line of attempt n, in the folder of this name, to
// attempts.jsonl.
func recordAttempt(tb testing.TB, folder *runs.Writer, name string, n int, outcome runs.Outcome, passed *bool) {
	tb.Helper()
	require.NoError(tb, folder.AppendLine(runs.Attempt{
		Type: runs.TypeAttempt, Run: folder.Name, CaseID: fmt.Sprintf("case-%d", n), Epoch: 1, Try: 1,
		Outcome: outcome, Passed: passed, Trace: "attempts/" + name + "/trace.jsonl",
	}))
}

// request sends a request and returns the response. headers are names and values in
// turn.
func (s *testServer) request(tb testing.TB, method, path string, headers ...string) *httptest.ResponseRecorder {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, request)
	return answer
}

// getJSON sends a GET request, requires that it succeeds with a JSON response, and
// decodes that into into.
func (s *testServer) getJSON(tb testing.TB, path string, into any) {
	tb.Helper()
	answer := s.request(tb, http.MethodGet, path)
	require.Equal(tb, http.StatusOK, answer.Code, answer.Body.String())
	require.Equal(tb, "application/json", answer.Header().Get("Content-Type"))
	require.Equal(tb, "nosniff", answer.Header().Get("X-Content-Type-Options"))
	require.NoError(tb, json.Unmarshal(answer.Body.Bytes(), into), answer.Body.String())
}

// requireProblem requires that a response is a Problem with this status and code,
// and returns its text.
func requireProblem(tb testing.TB, answer *httptest.ResponseRecorder, status int, code string) string {
	tb.Helper()
	require.Equal(tb, status, answer.Code, answer.Body.String())
	require.Equal(tb, "application/json", answer.Header().Get("Content-Type"))
	require.Equal(tb, "nosniff", answer.Header().Get("X-Content-Type-Options"))
	var got endpoint.Problem
	decoder := json.NewDecoder(answer.Body)
	decoder.DisallowUnknownFields()
	require.NoError(tb, decoder.Decode(&got))
	require.Equal(tb, code, got.Code, got.Text)
	require.NotEmpty(tb, got.Text)
	return got.Text
}

// entrySeqs returns the numbers of the entries of a page.
func entrySeqs(tb testing.TB, page api.TracePage) (seqs []int64) {
	tb.Helper()
	for _, entry := range page.Entries {
		var recordAttempt trace.Record
		require.NoError(tb, json.Unmarshal(entry, &recordAttempt))
		seqs = append(seqs, recordAttempt.Seq)
	}
	return seqs
}

// traceText returns the text of a trace file with these entries, as the server
// writes it.
func traceText(tb testing.TB, entries ...trace.Entry) string {
	tb.Helper()
	journal := trace.NewJournal("s")
	var file bytes.Buffer
	writer := trace.NewWriter(journal, &file, nil)
	for _, entry := range entries {
		journal.Append(entry)
	}
	journal.Close()
	require.NoError(tb, writer.Run(tb.Context()))
	return file.String()
}

// numberedEntries returns n entries of kernel output; every tenth is an action of the
// agent instead.
func numberedEntries(tb testing.TB, n int) []trace.Entry {
	tb.Helper()
	entries := make([]trace.Entry, n)
	for i := range entries {
		entries[i] = trace.Entry{
			Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: "kernel_stdio", CellID: fmt.Sprintf("c%d", i%3)},
			Body: fmt.Appendf(nil, `{"type":"kernel_stdio","data":"<%d>"}`, i+1),
		}
		if (i+1)%10 == 0 {
			entries[i] = actionEntry(tb, "", "run_cell", fmt.Sprintf("tx_%d", i+1))
		}
	}
	return entries
}
