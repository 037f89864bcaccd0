package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/trace"
	"assay/server/api"
)

// notebookAt is a response of …/at, with the notebook undecoded.
type notebookAt struct {
	Type     string
	Seq, End int64
	TNS      int64 `json:"t_ns"`
	Wall     time.Time
	Complete bool
	Held     string
	Cells    json.RawMessage
	Runs     json.RawMessage
}

// notebookAtPath returns the path of …/at for that of …/trace.
func notebookAtPath(path string) string { return strings.TrimSuffix(path, "trace") + "at" }

// notebookEntries returns n entries of a session in which 12 cells are created,
// edited and run. They are the same at each call.
func notebookEntries(tb testing.TB, n int) []trace.Entry {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	entries := []trace.Entry{frameEntry(tb, trace.HopSession, `{"type":"holder","by":"server"}`)}
	add := func(hop trace.Hop, format string, args ...any) {
		entries = append(entries, frameEntry(tb, hop, fmt.Sprintf(format, args...)))
	}
	for i := range 12 {
		add(trace.HopNotebook, `{"type":"notebook_event","event":"cell_created","cell":{"cell_id":"c%d","cell_type":"code","source":"%d","display_name":"","rev":1},"position":%d}`, i, i, i)
	}
	for run := 1; len(entries) < n; run++ {
		cell := rng.IntN(12)
		add(trace.HopNotebook, `{"type":"notebook_event","event":"cell_edited","cell_id":"c%d","source":"run %d","rev":%d}`, cell, run, run+1)
		add(trace.ServerToKernel, `{"type":"run_cell","cell_id":"c%d","code":"run %d"}`, cell, run)
		add(trace.KernelToServer, `{"type":"start_cell","cell_id":"c%d","run_sequencer":%d}`, cell, run)
		for range rng.IntN(60) {
			add(trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c%d","stream":"stdout","data":"%d\n"}`, cell, rng.Int64())
			add(trace.ServerToAgent, `{"type":"kernel_message","message":{}}`)
		}
		add(trace.KernelToServer, `{"type":"cell_output","cell_id":"c%d","run_sequencer":%d,"output":{"output_type":"display_data","data":{"text/plain":"%d"},"metadata":{}}}`, cell, run, run)
		add(trace.KernelToServer, `{"type":"cell_result","cell_id":"c%d","run_sequencer":%d,"status":"ok"}`, cell, run)
	}
	return entries[:n]
}

// notebooksAfter returns the notebook after each of these entries of a trace, as JSON,
// computed by reading the trace once.
func notebooksAfter(tb testing.TB, text string, seqs []int64) map[int64]string {
	tb.Helper()
	fold, states := session.NewNotebookFold(), map[int64]string{}
	_, err := trace.ReadRecords(strings.NewReader(text), func(r trace.Record) error {
		fold.Apply(r)
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

// The notebook after any entry is what folding all entries up to it yields, in
// whatever order entries are requested.
func TestNotebookAt(t *testing.T) {
	t.Parallel()
	const n = 13_000
	text := traceText(t, notebookEntries(t, n)...)
	seqs := []int64{1, 2, 13, 1999, 2000, 2001, 4000, 12_999, n}
	for range 40 {
		seqs = append(seqs, rand.Int64N(n)+1)
	}
	want := notebooksAfter(t, text, seqs)
	s, path, _ := newTestServerWithTrace(t, text)
	rand.Shuffle(len(seqs), func(i, j int) { seqs[i], seqs[j] = seqs[j], seqs[i] })
	for _, seq := range slices.Concat(seqs, seqs[:5]) {
		var at notebookAt
		s.getJSON(t, fmt.Sprintf("%s?seq=%d", notebookAtPath(path), seq), &at)
		require.Equal(t, []any{"notebook_state", seq, int64(n), false, ""}, []any{at.Type, at.Seq, at.End, at.Complete, at.Held})
		require.JSONEq(t, want[seq], fmt.Sprintf(`{"cells":%s,"runs":%s}`, at.Cells, at.Runs), "%d of %v", seq, seqs)
	}
	var newest, beyond notebookAt
	s.getJSON(t, notebookAtPath(path), &newest)
	s.getJSON(t, notebookAtPath(path)+"?seq=9223372036854775807", &beyond)
	require.EqualValues(t, n, newest.Seq)
	require.Equal(t, newest, beyond)
	records := map[int64]trace.Record{}
	_, err := trace.ReadRecords(strings.NewReader(text), func(r trace.Record) error { records[r.Seq] = r; return nil })
	require.NoError(t, err)
	require.Equal(t, records[n].ElapsedNS, newest.TNS)
	require.WithinDuration(t, records[n].WallTime, newest.Wall, time.Second)
	var first notebookAt
	s.getJSON(t, notebookAtPath(path)+"?seq=0", &first)
	require.JSONEq(t, `[]`, string(first.Cells))
	requireProblem(t, s.request(t, http.MethodGet, notebookAtPath(path)+"?seq=-1"), http.StatusBadRequest, "bad_parameter")
	requireProblem(t, s.request(t, http.MethodGet, notebookAtPath(path)+"?at=1"), http.StatusBadRequest, "bad_parameter")
}

// However long a trace and its lines are, there are at most 128 snapshots, and the
// next one before any entry is near.
func TestSnapshotsAreBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entries   int64
		bytes     int
		maxLen    int   // snapshots
		maxBefore int64 // entries between the snapshot and the entry
	}{
		"a few":       {10_000, 100, 5, 2000},
		"large lines": {1000, 512 << 10, 128, 8},
		"many":        {1_500_000, 20, 128, 32_000},
		"huge lines":  {300, 200 << 20, 128, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshots := api.NewNotebookSnapshots()
			snapshots.OfferEntries(tc.entries, tc.bytes)
			require.LessOrEqual(t, snapshots.Len(), tc.maxLen)
			for _, seq := range []int64{tc.entries / 3, tc.entries / 2, tc.entries} {
				at := snapshots.AtOrBefore(seq)
				require.LessOrEqual(t, at, seq)
				require.LessOrEqual(t, seq-at, tc.maxBefore, "%d", seq)
			}
		})
	}
}

// If a console held the notebook, the response says so and has what the console's
// answers show.
func TestNotebookAtHeldByAConsole(t *testing.T) {
	t.Parallel()
	s, path, _ := newTestServerWithTrace(t, traceText(t,
		frameEntry(t, trace.HopSession, `{"type":"holder","by":"console","conn":1}`, func(e *trace.Entry) { e.ConsoleID = 1 }),
		actionEntry(t, `"position":0,"cell_type":"code","source":"1"`, "create_cell", "tx_1"),
		frameEntry(t, trace.ConsoleToServer, `{"type":"agent_action_response","tx_id":"tx_1","status":"success","cell_id":"a"}`),
	))
	var at notebookAt
	s.getJSON(t, notebookAtPath(path), &at)
	require.Equal(t, "console", at.Held)
	require.JSONEq(t, `[{"cell_id":"a","cell_type":"code","source":"1","display_name":"","rev":1}]`, string(at.Cells))
}
