package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/trace"
	"assay/server"
)

// moment is an answer of …/at.
type moment struct {
	Type     string
	Seq, End int64
	TNS      int64 `json:"t_ns"`
	Wall     time.Time
	Complete bool
	Held     string
	Cells    json.RawMessage
	Runs     json.RawMessage
}

// momentOf is the path of …/at in place of …/trace.
func momentOf(path string) string { return strings.TrimSuffix(path, "trace") + "at" }

// working is n entries of a notebook at work: cells come, are edited, run and go.
func working(tb testing.TB, n int) []trace.Entry {
	tb.Helper()
	dice := rand.New(rand.NewPCG(1, 2)) // the same each time
	entries := []trace.Entry{framed(tb, trace.Session, `{"type":"holder","by":"server"}`)}
	add := func(hop trace.Hop, format string, args ...any) {
		entries = append(entries, framed(tb, hop, fmt.Sprintf(format, args...)))
	}
	for i := range 12 {
		add(trace.Notebook, `{"type":"notebook_event","event":"cell_created","cell":{"cell_id":"c%d","cell_type":"code","source":"%d","display_name":"","rev":1},"position":%d}`, i, i, i)
	}
	for run := 1; len(entries) < n; run++ {
		cell := dice.IntN(12)
		add(trace.Notebook, `{"type":"notebook_event","event":"cell_edited","cell_id":"c%d","source":"run %d","rev":%d}`, cell, run, run+1)
		add(trace.ServerToKernel, `{"type":"run_cell","cell_id":"c%d","code":"run %d"}`, cell, run)
		add(trace.KernelToServer, `{"type":"start_cell","cell_id":"c%d","run_sequencer":%d}`, cell, run)
		for range dice.IntN(60) {
			add(trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c%d","stream":"stdout","data":"%d\n"}`, cell, dice.Int64())
			add(trace.ServerToAgent, `{"type":"kernel_message","message":{}}`)
		}
		add(trace.KernelToServer, `{"type":"cell_output","cell_id":"c%d","run_sequencer":%d,"output":{"output_type":"display_data","data":{"text/plain":"%d"},"metadata":{}}}`, cell, run, run)
		add(trace.KernelToServer, `{"type":"cell_result","cell_id":"c%d","run_sequencer":%d,"status":"ok"}`, cell, run)
	}
	return entries[:n]
}

// folded is a trace's notebook after each of these entries, folded in one go.
func folded(tb testing.TB, text string, seqs []int64) map[int64]string {
	tb.Helper()
	fold, states := session.NewNotebookFold(), map[int64]string{}
	_, err := trace.Read(strings.NewReader(text), func(r trace.Record) error {
		fold.Add(r)
		if slices.Contains(seqs, r.Seq) {
			state, err := json.Marshal(fold.State())
			require.NoError(tb, err)
			states[r.Seq] = string(state)
		}
		return nil
	})
	require.NoError(tb, err)
	return states
}

// The notebook at any moment is what a fold of the entries up to it comes to, in
// whatever order moments are asked for.
func TestAPIAt(t *testing.T) {
	t.Parallel()
	const n = 13_000
	text := written(t, working(t, n)...)
	seqs := []int64{1, 2, 13, 1999, 2000, 2001, 4000, 12_999, n}
	for range 40 {
		seqs = append(seqs, rand.Int64N(n)+1)
	}
	want := folded(t, text, seqs)
	l, path, _ := traced(t, text)
	rand.Shuffle(len(seqs), func(i, j int) { seqs[i], seqs[j] = seqs[j], seqs[i] })
	for _, seq := range slices.Concat(seqs, seqs[:5]) {
		var at moment
		l.get(t, fmt.Sprintf("%s?seq=%d", momentOf(path), seq), &at)
		require.Equal(t, []any{"notebook_state", seq, int64(n), false, ""}, []any{at.Type, at.Seq, at.End, at.Complete, at.Held})
		require.JSONEq(t, want[seq], fmt.Sprintf(`{"cells":%s,"runs":%s}`, at.Cells, at.Runs), "%d of %v", seq, seqs)
	}
	var at, beyond moment
	l.get(t, momentOf(path), &at)
	l.get(t, momentOf(path)+"?seq=9223372036854775807", &beyond)
	require.EqualValues(t, n, at.Seq)
	require.Equal(t, at, beyond)
	records := map[int64]trace.Record{}
	_, err := trace.Read(strings.NewReader(text), func(r trace.Record) error { records[r.Seq] = r; return nil })
	require.NoError(t, err)
	require.Equal(t, records[n].TNS, at.TNS)
	require.WithinDuration(t, records[n].Wall, at.Wall, time.Second)
	l.get(t, momentOf(path)+"?seq=0", &at)
	require.JSONEq(t, `[]`, string(at.Cells))
	problem(t, l.ask(t, http.MethodGet, momentOf(path)+"?seq=-1"), http.StatusBadRequest, "bad_parameter")
	problem(t, l.ask(t, http.MethodGet, momentOf(path)+"?at=1"), http.StatusBadRequest, "bad_parameter")
}

// However long a trace, and however much its lines bring, the places from which
// its moments are folded stay few, and are near enough.
func TestPastIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entries   int64
		bytes     int
		most, far int64 // points, and entries between them
	}{
		"a few":       {10_000, 100, 5, 2000},
		"large lines": {1000, 512 << 10, 128, 8},
		"many":        {1_500_000, 20, 128, 32_000},
		"huge lines":  {300, 200 << 20, 128, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			past := server.NewPast()
			past.Note(tc.entries, tc.bytes)
			require.LessOrEqual(t, past.Len(), int(tc.most))
			for _, seq := range []int64{tc.entries / 3, tc.entries / 2, tc.entries} {
				at := past.Before(seq)
				require.LessOrEqual(t, at, seq)
				require.LessOrEqual(t, seq-at, tc.far, "%d", seq)
			}
		})
	}
}

// What a view is told of a live session, and what the API says of its trace, is
// the same; a session's trace and flow are had as an attempt's are.
func TestAPIOfALiveSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: h.python(t)})
	first := dial(t, s.url+"/agent", viewHello, nil)
	first.await(t, "the notebook", ofType("notebook_state"))
	made := s.agent.do(t, "create_cell", params{"position": 0, "cell_type": "code", "source": "print('hello')\n6 * 7", "auto_run": true})
	s.agent.result(t, made.CellID)
	first.await(t, "its end", func(f frame) bool { return f.Type == "start_cell" && f.CellID == "" })
	told := dial(t, s.url+"/agent", viewHello, nil).await(t, "the notebook", ofType("notebook_state")).fields(t)

	base := strings.Replace(h.url, "ws", "http", 1) + "/api/sessions/default"
	var at map[string]any
	for { // the file is a moment behind
		at = getJSON(t, base+fmt.Sprintf("/at?seq=%.0f", told["seq"]))
		if at["seq"] == told["seq"] {
			break
		}
	}
	require.Equal(t, false, at["complete"])
	maps.DeleteFunc(at, func(name string, _ any) bool {
		return slices.Contains([]string{"t_ns", "wall", "end", "complete"}, name)
	})
	require.Equal(t, told, at)

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

	require.NoError(t, s.live.End(t.Context(), "over"))
	require.Equal(t, "not_found", getJSON(t, base[:len(base)-1]+"x/flow")["code"])
}

// Of a notebook that a console holds it is told who does, and what is known.
func TestAPIAtOfAHeldNotebook(t *testing.T) {
	t.Parallel()
	l, path, _ := traced(t, written(t,
		framed(t, trace.Session, `{"type":"holder","by":"console","conn":1}`, func(e *trace.Entry) { e.Conn = 1 }),
		acted(t, `"position":0,"cell_type":"code","source":"1"`, "create_cell", "tx_1"),
		framed(t, trace.ConsoleToServer, `{"type":"agent_action_response","tx_id":"tx_1","status":"success","cell_id":"a"}`),
	))
	var at moment
	l.get(t, momentOf(path), &at)
	require.Equal(t, "console", at.Held)
	require.JSONEq(t, `[{"cell_id":"a","cell_type":"code","source":"1","display_name":"","rev":1}]`, string(at.Cells))
}

// getJSON asks a real server, which may refuse.
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
