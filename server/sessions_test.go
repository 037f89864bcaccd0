package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/trace"
	"assay/server"
	"assay/server/api"
)

// GET /api/sessions/{id} has the attempt in progress, then its result, and after the next
// session has started, the result of the attempt before.
func TestSessionHasItsAttempt(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	publisher := h.Server.PublishAttempts("default")
	address := strings.Replace(h.URL, "ws", "http", 1) + "/api/sessions/default"
	session := getJSON(t, address)
	require.Contains(t, session, "attempt")
	require.Nil(t, session["attempt"])

	publisher.AttemptStarting(server.AttemptInfo{CaseID: "a", Task: "sum <it>", Epoch: 2, Limits: runs.Limits{WallTimeoutS: 60, MaxTurns: 7}})
	attempt, ok := getJSON(t, address)["attempt"].(map[string]any)
	require.True(t, ok)
	limits, ok := attempt["limits"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, []any{"a", "sum <it>", 2.0, 60.0, 7.0}, []any{attempt["case_id"], attempt["task"], attempt["epoch"], limits["wall_s"], limits["turns"]})
	require.NotContains(t, attempt, "started")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600))
	publisher.OnTaskSent(at)
	attempt, ok = getJSON(t, address)["attempt"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "2026-03-04T04:06:07Z", attempt["started"])

	publishFailedAttempt(t, publisher, "a", `{"n":1}`)
	session = getJSON(t, address)
	require.Nil(t, session["attempt"])
	result, ok := session["result"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, []any{"eval_result", "a", "setup_error", map[string]any{"n": 1.0}}, []any{result["type"], result["case_id"], result["outcome"], result["answer"]})

	publisher.AttemptStarting(server.AttemptInfo{CaseID: "b"})
	session = getJSON(t, address)
	require.NotNil(t, session["attempt"])
	require.NotContains(t, session, "result", "the result is that of another attempt")
	require.NotContains(t, session, "previous", "that attempt's session is still the newest")
	list, ok := getJSON(t, strings.TrimSuffix(address, "/default"))["sessions"].([]any)
	require.True(t, ok)
	require.NotContains(t, list[0], "attempt", "only the detail has it")

	recording, err := trace.NewRecording(trace.NewJournal("default"), filepath.Join(t.TempDir(), "trace.jsonl"), nil)
	require.NoError(t, err)
	require.NoError(t, recording.Close())
	publisher.OnTrace(recording)
	publisher.OnSession(nil)
	previous, ok := getJSON(t, address)["previous"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, []any{"eval_result", "a"}, []any{previous["type"], previous["case_id"]})
	console := dialConsole(t, h.URL+"/run", runHello, nil)
	publisher.AttemptEnded(runs.Attempt{CaseID: "b"})
	ready := console.awaitItem(t, "ready", isMessageOfType("ready")).fields(t)
	require.Equal(t, []any{"b", recording.Path}, []any{ready["case_id"], ready["trace"]})

	publisher.Close()
	publisher.OnTaskSent(at) // after the attempt it does nothing
}

// The trace of a session that has ended and was removed can be read like that of a live
// one, and is complete.
func TestTraceOfARemovedSession(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{IdleTimeout: time.Nanosecond})
	view := dialConsole(t, n.URL+"/agent?session=s", viewHello, nil)
	view.awaitItem(t, "the notebook", isMessageOfType("notebook_state"))
	require.NoError(t, view.ws.CloseNow())
	address := strings.Replace(n.URL, "ws", "http", 1) + "/api/sessions/s"
	var flow map[string]any
	for flow["complete"] != true { // the session ends by its IdleTimeout
		flow = getJSON(t, address+"/flow")
	}
	newest, _ := flow["end"].(float64)
	require.Positive(t, newest)
	entries, _ := getJSON(t, address+fmt.Sprintf("/trace?from=%.0f", newest))["entries"].([]any)
	require.Len(t, entries, 1)
	require.Contains(t, fmt.Sprint(entries[0]), trace.HopSession)
	require.Equal(t, true, getJSON(t, address+"/at")["complete"])
}

// GET /api/cases lists the cases page by page, with tasks cut to 300 characters. Without
// PrepareCase it is a conflict.
func TestListCases(t *testing.T) {
	t.Parallel()
	var all []api.Case
	for i := range 12 {
		all = append(all, api.Case{Path: "cases.json", ID: fmt.Sprint(i), Task: strings.Repeat("é", 300+i), Tags: []string{"t"}})
	}
	all[3].Tags, all[0].Task = nil, "short"
	broken := errors.New("cases.json: it is broken")
	var listErr error
	prepare := func(string, string) (server.AttemptRunner, error) {
		return func(context.Context, *server.AttemptPublisher) error { return nil }, nil
	}
	h := newServerHarness(t, server.Config{PrepareCase: prepare, ListCases: func() ([]api.Case, error) { return all, listErr }})
	address := strings.Replace(h.URL, "ws", "http", 1) + "/api/cases"
	answer := getJSON(t, address)
	list, _ := answer["cases"].([]any)
	require.Len(t, list, 12)
	require.Equal(t, map[string]any{"path": "cases.json", "id": "0", "task": "short", "tags": []any{"t"}}, list[0])
	require.Equal(t, map[string]any{"path": "cases.json", "id": "3", "task": strings.Repeat("é", 300), "tags": []any{}}, list[3])
	require.Contains(t, answer, "next")
	require.Nil(t, answer["next"])

	page := getJSON(t, address+"?after=5&limit=2")
	require.Len(t, page["cases"], 2)
	require.EqualValues(t, 7, page["next"])
	for query, count := range map[string]int{"after=10&limit=2": 2, "after=11": 1, "after=12": 0, "after=99": 0} {
		page := getJSON(t, address+"?"+query)
		require.Len(t, page["cases"], count, query)
		require.Nil(t, page["next"], query)
	}
	require.Equal(t, "bad_parameter", getJSON(t, address+"?tag=t")["code"])
	listErr = broken
	require.Equal(t, map[string]any{"code": "unreadable", "text": broken.Error()}, getJSON(t, address))

	without := newServerHarness(t, server.Config{})
	require.Equal(t, "conflict", getJSON(t, strings.Replace(without.URL, "ws", "http", 1)+"/api/cases")["code"])
}

// GET …/at of a live session has the notebook that a view gets first; …/trace and …/flow
// work as for an attempt.
func TestTraceEndpointsOfALiveSession(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: h.pythonKernelConfig(t)})
	first := dialConsole(t, s.URL+"/agent", viewHello, nil)
	first.awaitItem(t, "the notebook", isMessageOfType("notebook_state"))
	made := s.agent.requestAction(t, "create_cell", params{"position": 0, "cell_type": "code", "source": "print('hello')\n6 * 7", "auto_run": true})
	s.agent.awaitResult(t, made.CellID)
	first.awaitItem(t, "its end", func(f frame) bool { return f.Type == "start_cell" && f.CellID == "" })
	state := dialConsole(t, s.URL+"/agent", viewHello, nil).awaitItem(t, "the notebook", isMessageOfType("notebook_state")).fields(t)

	base := strings.Replace(h.URL, "ws", "http", 1) + "/api/sessions/default"
	var at map[string]any
	for { // the trace file may be behind
		at = getJSON(t, base+fmt.Sprintf("/at?seq=%.0f", state["seq"]))
		if at["seq"] == state["seq"] {
			break
		}
	}
	require.Equal(t, false, at["complete"])
	maps.DeleteFunc(at, func(name string, _ any) bool {
		return slices.Contains([]string{"t_ns", "wall", "end", "complete"}, name)
	})
	require.Equal(t, state, at)

	page := getJSON(t, base+"/trace?hop=agent%3Eserver,notebook&type=agent_action,notebook_event&action=create_cell,cell_created&brief=true")
	var got []string
	list, _ := page["entries"].([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		require.NotContains(t, entry, "msg")
		got = append(got, fmt.Sprint(entry["hop"], " ", entry["action"]))
	}
	require.Equal(t, []string{"agent>server create_cell", "notebook cell_created"}, got)
	flow := getJSON(t, base+"/flow?action=create_cell&limit=1")
	require.EqualValues(t, 2, flow["count"])
	require.Contains(t, fmt.Sprint(flow["requests"]), "answered in")

	require.NoError(t, s.session.End(t.Context(), "over"))
	require.Equal(t, "not_found", getJSON(t, base[:len(base)-1]+"x/flow")["code"])
}

// getJSON sends a GET request and decodes the response, whatever its status.
func getJSON(t *testing.T, address string) (answer map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	return answer
}
