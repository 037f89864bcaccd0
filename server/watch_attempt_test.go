package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/server"
)

// runsHarness is a server with a folder of stored runs.
type runsHarness struct {
	*house
	dir string       // of the runs
	run *runs.Writer // the run r in it
}

func newRunsHarness(t *testing.T) *runsHarness {
	t.Helper()
	dir := t.TempDir()
	return &runsHarness{house: newHouse(t, server.Config{RunsDir: dir}), dir: dir, run: createRun(t, dir, "r")}
}

// watch connects to /watch with this query.
func (s *runsHarness) watch(t *testing.T, query string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), s.url+"/watch?"+query, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// nextLine returns the next message of a watch.
func nextLine(t *testing.T, ws *websocket.Conn) string {
	t.Helper()
	_, body, err := ws.Read(t.Context())
	require.NoError(t, err)
	return string(body)
}

// An attempt is watched as its trace grows, whoever writes it, until it has its
// line.
func TestWatchAttempt(t *testing.T) {
	t.Parallel()
	s := newRunsHarness(t)
	lines := strings.SplitAfter(traceText(t, 13), "\n")
	name := createAttempt(t, s.run, 1, map[string]string{"trace.jsonl": lines[0] + lines[1] + lines[2] + lines[3][:20]})
	ws := s.watch(t, "run=r&from=2&attempt="+name)
	require.Equal(t, lines[0], nextLine(t, ws)+"\n")
	require.Equal(t, lines[2], nextLine(t, ws)+"\n")
	brief := s.watch(t, "run=r&bodies=false&attempt="+name)
	require.Equal(t, lines[0], nextLine(t, brief)+"\n")

	file, err := os.OpenFile(filepath.Join(s.run.Dir, "attempts", name, "trace.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = file.WriteString(lines[3][20:])
	require.NoError(t, err)
	require.Equal(t, lines[3], nextLine(t, ws)+"\n")
	_, err = file.WriteString(strings.Join(lines[4:], ""))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, s.run.AppendLine(runs.Attempt{Type: runs.TypeAttempt, Run: "r", CaseID: "case-1", Epoch: 1, Try: 1, Outcome: runs.OutcomeCompleted, Trace: "attempts/" + name + "/trace.jsonl"}))
	for _, want := range lines[4:14] {
		require.Equal(t, want, nextLine(t, ws)+"\n")
	}
	for n := range lines[1:14] {
		var entry, whole map[string]any
		require.NoError(t, json.Unmarshal([]byte(nextLine(t, brief)), &entry))
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

// An attempt without a line is over when its run is; one of a run that goes on is
// waited for until the server stops, or its folder is gone.
func TestWatchAttemptThatIsLost(t *testing.T) {
	t.Parallel()
	s := newRunsHarness(t)
	lost := createAttempt(t, s.run, 1, map[string]string{"trace.jsonl": traceText(t, 0)})
	gone := createAttempt(t, s.run, 2, map[string]string{"trace.jsonl": traceText(t, 0)})
	cut := createAttempt(t, s.run, 3, map[string]string{"trace.jsonl": traceText(t, 0)})
	other := createRun(t, s.dir, "other")
	waits := createAttempt(t, other, 4, map[string]string{"trace.jsonl": traceText(t, 0)})
	watchers := map[string]*websocket.Conn{}
	for path, query := range map[string]string{lost: "run=r", gone: "run=r", cut: "run=r", waits: "run=other"} {
		watchers[query+path] = s.watch(t, query+"&attempt="+path)
		nextLine(t, watchers[query+path])
	}
	ends := func(key string, code websocket.StatusCode) {
		_, _, err := watchers[key].Read(t.Context())
		require.Equal(t, code, websocket.CloseStatus(err), "%s: %v", key, err)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(s.run.Dir, "attempts", gone)))
	ends("run=r"+gone, websocket.StatusInternalError)
	require.NoError(t, os.Truncate(filepath.Join(s.run.Dir, "attempts", cut, "trace.jsonl"), 3))
	ends("run=r"+cut, websocket.StatusInternalError)
	require.NoError(t, s.run.AppendLine(map[string]any{"type": runs.TypeSummary}))
	ends("run=r"+lost, websocket.StatusNormalClosure)
	s.stop()
	ends("run=other"+waits, websocket.StatusGoingAway)
}

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
		"run=r&attempt=" + name:           "not_found", // it has no trace yet
		"run=r&attempt=..":                "not_found",
		"run=..&attempt=r":                "not_found",
	} {
		require.Equal(t, want, getJSON(t, strings.Replace(s.url, "ws", "http", 1)+"/watch?"+query)["code"], query)
	}
	_, response, err := websocket.Dial(t.Context(), s.url+"/watch?run=r&attempt=none", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}
