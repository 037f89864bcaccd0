package server_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/trace"
	"assay/server"
)

// A session says what attempt goes on in it, since when, and how it ended, until
// another begins.
func TestSessionTellsOfItsAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	show := h.web.Show("default")
	address := strings.Replace(h.url, "ws", "http", 1) + "/api/sessions/default"
	session := getJSON(t, address)
	require.Contains(t, session, "attempt")
	require.Nil(t, session["attempt"])

	show.Begin(server.AttemptInfo{CaseID: "a", Task: "sum <it>", Epoch: 2, Limits: runs.Limits{WallS: 60, Turns: 7}})
	attempt, ok := getJSON(t, address)["attempt"].(map[string]any)
	require.True(t, ok)
	limits, ok := attempt["limits"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, []any{"a", "sum <it>", 2.0, 60.0, 7.0}, []any{attempt["case_id"], attempt["task"], attempt["epoch"], limits["wall_s"], limits["turns"]})
	require.NotContains(t, attempt, "started")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600))
	show.Asked(at)
	attempt, ok = getJSON(t, address)["attempt"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "2026-03-04T04:06:07Z", attempt["started"])

	end(t, show, "a", `{"n":1}`)
	session = getJSON(t, address)
	require.Nil(t, session["attempt"])
	result, ok := session["result"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, []any{"eval_result", "a", "setup_error", map[string]any{"n": 1.0}}, []any{result["type"], result["case_id"], result["outcome"], result["answer"]})

	show.Begin(server.AttemptInfo{CaseID: "b"})
	session = getJSON(t, address)
	require.NotNil(t, session["attempt"])
	require.NotContains(t, session, "result", "it is of the one before")
	require.NotContains(t, session, "previous", "that one is still seen")
	list, ok := getJSON(t, strings.TrimSuffix(address, "/default"))["sessions"].([]any)
	require.True(t, ok)
	require.NotContains(t, list[0], "attempt", "the list is short")

	recording, err := trace.NewRecording(trace.NewJournal("default"), filepath.Join(t.TempDir(), "trace.jsonl"))
	require.NoError(t, err)
	require.NoError(t, recording.Close())
	show.Observe(recording)
	show.Attach(nil)
	previous, ok := getJSON(t, address)["previous"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, []any{"eval_result", "a"}, []any{previous["type"], previous["case_id"]})
	console := dial(t, h.url+"/run", runHello, nil)
	show.Verdict(runs.Attempt{CaseID: "b"})
	ready := console.await(t, "ready", ofType("ready")).fields(t)
	require.Equal(t, []any{"b", recording.Path}, []any{ready["case_id"], ready["trace"]})

	show.End()
	show.Asked(at) // of an attempt that is over: nothing
}

// A trace that is left of a session is had as that of a live one, and is whole.
func TestTraceOfASessionThatIsGone(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{Idle: time.Nanosecond})
	view := dial(t, n.url+"/agent?session=s", viewHello, nil)
	view.await(t, "the notebook", ofType("notebook_state"))
	require.NoError(t, view.ws.CloseNow())
	address := strings.Replace(n.url, "ws", "http", 1) + "/api/sessions/s"
	var flow map[string]any
	for flow["complete"] != true { // it ends when nobody needs it
		flow = getJSON(t, address+"/flow")
	}
	newest, _ := flow["end"].(float64)
	require.Positive(t, newest)
	entries, _ := getJSON(t, address+fmt.Sprintf("/trace?from=%.0f", newest))["entries"].([]any)
	require.Len(t, entries, 1)
	require.Contains(t, fmt.Sprint(entries[0]), trace.Session)
	require.Equal(t, true, getJSON(t, address+"/at")["complete"])
}

func TestCasesThatMayBeAttached(t *testing.T) {
	t.Parallel()
	var all []server.CaseListed
	for i := range 12 {
		all = append(all, server.CaseListed{Path: "cases.json", ID: fmt.Sprint(i), Task: strings.Repeat("é", 300+i), Tags: []string{"t"}})
	}
	all[3].Tags, all[0].Task = nil, "short"
	broken := errors.New("cases.json: it is broken")
	var fails error
	nothing := func(string, string) (server.Attempts, error) {
		return func(context.Context, *server.AttemptPublisher) error { return nil }, nil
	}
	h := newHouse(t, server.Config{Case: nothing, Cases: func() ([]server.CaseListed, error) { return all, fails }})
	address := strings.Replace(h.url, "ws", "http", 1) + "/api/cases"
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
	fails = broken
	require.Equal(t, map[string]any{"code": "unreadable", "text": broken.Error()}, getJSON(t, address))

	without := newHouse(t, server.Config{})
	require.Equal(t, "conflict", getJSON(t, strings.Replace(without.url, "ws", "http", 1)+"/api/cases")["code"])
}
