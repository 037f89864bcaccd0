package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server"
)

// runsHarness is a server with a folder of stored runs.
type runsHarness struct {
	*serverHarness
	dir string       // of the runs
	run *runs.Writer // the run r in it
}

func newRunsHarness(t *testing.T) *runsHarness {
	t.Helper()
	dir := t.TempDir()
	return &runsHarness{serverHarness: newServerHarness(t, server.Config{RunsDir: dir}), dir: dir, run: createRun(t, dir, "r")}
}

// watch connects to /watch with this query.
func (s *runsHarness) watch(t *testing.T, query string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), s.URL+"/watch?"+query, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// nextWatchMessage returns the next message of a watch.
func nextWatchMessage(t *testing.T, ws *websocket.Conn) string {
	t.Helper()
	_, body, err := ws.Read(t.Context())
	require.NoError(t, err)
	return string(body)
}

// The trace of a stored attempt can be watched while another program writes it, until the
// attempt has its line in attempts.jsonl. With bodies=false, entries come without messages.
func TestWatchAttempt(t *testing.T) {
	t.Parallel()
	s := newRunsHarness(t)
	lines := strings.SplitAfter(traceText(t, 13), "\n")
	name := createAttempt(t, s.run, 1, map[string]string{"trace.jsonl": lines[0] + lines[1] + lines[2] + lines[3][:20]})
	ws := s.watch(t, "run=r&from=2&attempt="+name)
	require.Equal(t, lines[0], nextWatchMessage(t, ws)+"\n")
	require.Equal(t, lines[2], nextWatchMessage(t, ws)+"\n")
	brief := s.watch(t, "run=r&bodies=false&attempt="+name)
	require.Equal(t, lines[0], nextWatchMessage(t, brief)+"\n")

	file, err := os.OpenFile(filepath.Join(s.run.Dir, "attempts", name, "trace.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = file.WriteString(lines[3][20:])
	require.NoError(t, err)
	require.Equal(t, lines[3], nextWatchMessage(t, ws)+"\n")
	_, err = file.WriteString(strings.Join(lines[4:], ""))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, s.run.AppendLine(runs.Attempt{Type: runs.TypeAttempt, Run: "r", CaseID: "case-1", Epoch: 1, Try: 1, Outcome: runs.OutcomeCompleted, Trace: "attempts/" + name + "/trace.jsonl"}))
	for _, want := range lines[4:14] {
		require.Equal(t, want, nextWatchMessage(t, ws)+"\n")
	}
	for n := range lines[1:14] {
		var entry, whole map[string]any
		require.NoError(t, json.Unmarshal([]byte(nextWatchMessage(t, brief)), &entry))
		require.NoError(t, json.Unmarshal([]byte(lines[n+1]), &whole))
		delete(whole, "msg")
		require.Equal(t, whole, entry)
	}
	for _, watcher := range []*websocket.Conn{ws, brief, s.watch(t, "run=r&from=14&attempt="+name)} {
		for err = nil; err == nil; {
			_, _, err = watcher.Read(t.Context())
		}
		require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), err)
	}
}

// The watch of an attempt without a line ends when its run is finished, with an error when
// the trace is removed or becomes shorter, and otherwise when the server stops.
func TestWatchUnfinishedAttempts(t *testing.T) {
	t.Parallel()
	s := newRunsHarness(t)
	unfinished := createAttempt(t, s.run, 1, map[string]string{"trace.jsonl": traceText(t, 0)})
	removed := createAttempt(t, s.run, 2, map[string]string{"trace.jsonl": traceText(t, 0)})
	truncated := createAttempt(t, s.run, 3, map[string]string{"trace.jsonl": traceText(t, 0)})
	other := createRun(t, s.dir, "other")
	waiting := createAttempt(t, other, 4, map[string]string{"trace.jsonl": traceText(t, 0)})
	watchers := map[string]*websocket.Conn{}
	for attempt, query := range map[string]string{unfinished: "run=r", removed: "run=r", truncated: "run=r", waiting: "run=other"} {
		watchers[query+attempt] = s.watch(t, query+"&attempt="+attempt)
		nextWatchMessage(t, watchers[query+attempt])
	}
	requireClosed := func(key string, code websocket.StatusCode) {
		_, _, err := watchers[key].Read(t.Context())
		require.Equal(t, code, websocket.CloseStatus(err), "%s: %v", key, err)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(s.run.Dir, "attempts", removed)))
	requireClosed("run=r"+removed, websocket.StatusInternalError)
	require.NoError(t, os.Truncate(filepath.Join(s.run.Dir, "attempts", truncated, "trace.jsonl"), 3))
	requireClosed("run=r"+truncated, websocket.StatusInternalError)
	require.NoError(t, s.run.AppendLine(map[string]any{"type": runs.TypeSummary}))
	requireClosed("run=r"+unfinished, websocket.StatusNormalClosure)
	s.Stop()
	requireClosed("run=other"+waiting, websocket.StatusGoingAway)
}

// Invalid parameters, and sessions, runs and attempts that do not exist, are refused before
// the upgrade to a WebSocket.
func TestWatchRefusals(t *testing.T) {
	t.Parallel()
	s := newRunsHarness(t)
	name := createAttempt(t, s.run, 1, nil)
	for query, want := range map[string]string{
		"run=r":                           "bad_parameter",
		"attempt=" + name:                 "bad_parameter",
		"session=a&run=r&attempt=" + name: "bad_parameter",
		"from=x":                          "bad_parameter",
		"bodies=no":                       "bad_parameter",
		"sesion=default":                  "bad_parameter",
		"session=none":                    "not_found",
		"run=none&attempt=a":              "not_found",
		"run=r&attempt=none":              "not_found",
		"run=r&attempt=" + name:           "not_found", // the attempt has no trace yet
		"run=r&attempt=..":                "not_found",
		"run=..&attempt=r":                "not_found",
	} {
		require.Equal(t, want, getJSON(t, strings.Replace(s.URL, "ws", "http", 1)+"/watch?"+query)["code"], query)
	}
	_, response, err := websocket.Dial(t.Context(), s.URL+"/watch?run=r&attempt=none", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

// createRun creates a run of this name in dir, which goes on until its folder is
// closed.
func createRun(tb testing.TB, dir, name string) *runs.Writer {
	tb.Helper()
	folder, err := runs.Create(filepath.Join(dir, name), runs.Info{Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Config: map[string]any{}}, nil)
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
	writer := trace.NewWriter(journal, &file, nil)
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
