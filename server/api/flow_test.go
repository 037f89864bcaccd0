package api_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server/api"
)

// flowPage is a response of …/flow.
type flowPage struct {
	Entries  []map[string]any
	Requests map[string]struct {
		Action, State, Text, Slowest string
		Seqs                         []int64
	}
	Count     *int64
	Next      *int64
	Last, End int64
	Complete  bool
}

// seqs returns the numbers of the entries.
func (p flowPage) seqs() (seqs []int) {
	for _, entry := range p.Entries {
		seq, _ := entry["seq"].(float64)
		seqs = append(seqs, int(seq))
	}
	return seqs
}

// frameEntry returns the entry of a frame, with the envelope of its body, after more
// have changed it.
func frameEntry(tb testing.TB, hop trace.Hop, body string, more ...func(*trace.Entry)) trace.Entry {
	tb.Helper()
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
	require.NoError(tb, err)
	e := trace.Entry{Hop: hop, Envelope: env, Body: []byte(body)}
	for _, change := range more {
		change(&e)
	}
	return e
}

// withNote returns a function that sets the note of an entry, for frameEntry.
func withNote(note trace.Note) func(*trace.Entry) { return func(e *trace.Entry) { e.Note = note } }

// withCauseSeq returns a function that sets the number of the entry that caused an entry, for
// frameEntry.
func withCauseSeq(seq int64) func(*trace.Entry) { return func(e *trace.Entry) { e.CauseSeq = seq } }

// actionEntry returns the entry of an action of the agent; params are the members of
// its params object.
func actionEntry(tb testing.TB, params, name, tx string, more ...func(*trace.Entry)) trace.Entry {
	tb.Helper()
	return frameEntry(tb, trace.AgentToServer, fmt.Sprintf(`{"type":"agent_action","action":%q,"params":{%s},"tx_id":%q}`, name, params, tx), more...)
}

// answerEntry returns the entry of the answer to an action.
func answerEntry(tb testing.TB, tx string, more ...func(*trace.Entry)) trace.Entry {
	tb.Helper()
	return frameEntry(tb, trace.ServerToAgent, fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":"success"}`, tx), more...)
}

// sampleEntries returns 13 entries: an action that the notebook answers, a cell run,
// an action that the kernel answers, an event of the agent, and an unanswered
// action.
func sampleEntries(tb testing.TB) []trace.Entry {
	tb.Helper()
	return []trace.Entry{
		/* 1 */ frameEntry(tb, trace.HopSession, `{"type":"holder","by":"server"}`),
		/* 2 */ actionEntry(tb, `"position":0,"cell_type":"code","source":"1","auto_run":true`, "create_cell", "tx_1"),
		/* 3 */ frameEntry(tb, trace.HopNotebook, `{"type":"notebook_event","event":"cell_created","cell":{"cell_id":"c1","cell_type":"code","source":"1","display_name":"","rev":1},"position":0}`),
		/* 4 */ answerEntry(tb, "tx_1"),
		/* 5 */ frameEntry(tb, trace.ServerToKernel, `{"type":"run_cell","cell_id":"c1","code":"1"}`),
		/* 6 */ frameEntry(tb, trace.KernelToServer, `{"type":"start_cell","cell_id":"c1","run_sequencer":1}`),
		/* 7 */ frameEntry(tb, trace.KernelToServer, `{"type":"cell_result","cell_id":"c1","run_sequencer":1,"status":"ok"}`),
		/* 8 */ actionEntry(tb, `"code":"2"`, "execute_code", "tx_2", withNote(trace.NoteIntercepted)),
		/* 9 */ frameEntry(tb, trace.ServerToKernel, `{"type":"execute_code","agent_tx_id":"eval_1","code":"2"}`, withCauseSeq(8)),
		/* 10 */ frameEntry(tb, trace.KernelToServer, `{"type":"execute_code_response","agent_tx_id":"eval_1","status":"success"}`),
		/* 11 */ answerEntry(tb, "tx_2", withCauseSeq(10)),
		/* 12 */ frameEntry(tb, trace.AgentToServer, `{"type":"agent_event","channel":"ai","text":"well","metadata":{"type":"tick"}}`),
		/* 13 */ actionEntry(tb, "", "get_context", "tx_3"),
	}
}

// flowPathOfTracePath returns the path of …/flow for that of …/trace.
func flowPathOfTracePath(path string) string { return strings.TrimSuffix(path, "trace") + "flow" }

func TestFlow(t *testing.T) {
	t.Parallel()
	s, path, _ := newTestServerWithTrace(t, traceText(t, sampleEntries(t)...))
	var page flowPage
	s.getJSON(t, flowPathOfTracePath(path), &page)
	require.Len(t, page.Entries, 13)
	require.Equal(t, []any{nil, 13, 13, false, nil}, []any{intOrNil(page.Next), int(page.Last), int(page.End), page.Complete, intOrNil(page.Count)})
	first := page.Entries[7]
	require.Positive(t, first["t_ns"])
	delete(first, "t_ns")
	require.Equal(t, map[string]any{
		"seq": 8.0, "hop": "agent>server", "type": "agent_action", "action": "execute_code", "tx_id": "tx_2",
		"bytes": 84.0, "note": "intercepted", "requests": []any{8.0},
	}, first)
	require.Equal(t, "tick", page.Entries[11]["label"])
	require.Equal(t, "server", page.Entries[0]["label"])
	require.EqualValues(t, 10, page.Entries[10]["cause"])
	require.NotContains(t, page.Entries[11], "requests")

	of := map[string][]int64{}
	for first, request := range page.Requests {
		of[first+" "+request.Action+" "+request.State] = request.Seqs
	}
	require.Equal(t, map[string][]int64{
		"2 create_cell answered": {2, 0, 0, 4, 0}, "5 run_cell answered": {5, 5, 6, 7, 0},
		"8 execute_code answered": {8, 9, 10, 11, 0}, "13 get_context unanswered": {13, 0, 0, 0, 0},
	}, of)
	require.Regexp(t, `^answered in \d+\.\dms: server \d+\.\dms, kernel \d+\.\dms, server \d+\.\dms$`, page.Requests["8"].Text)
	require.Equal(t, "unanswered: notebook", page.Requests["13"].Text)

	var brief flowPage
	s.getJSON(t, flowPathOfTracePath(path)+"?from=9&limit=1", &brief)
	require.Equal(t, []int{9}, brief.seqs())
	require.Equal(t, page.Requests["8"], brief.Requests["8"], "requests are complete even if the page has only some of their entries")
	require.Len(t, brief.Requests, 1)
}

// intOrNil returns *n as an int, or nil, for comparisons.
func intOrNil(n *int64) any {
	if n == nil {
		return nil
	}
	return int(*n)
}

func TestFlowFilters(t *testing.T) {
	t.Parallel()
	s, path, _ := newTestServerWithTrace(t, traceText(t, sampleEntries(t)...))
	for query, want := range map[string]struct {
		seqs        []int
		count, next any
		last        int64
	}{
		"tx=tx_2":                         {[]int{8, 9, 10, 11}, 4, nil, 13},
		"tx=eval_1":                       {[]int{8, 9, 10, 11}, 4, nil, 13},
		"tx=eval_%E2%80%A6":               {[]int{8, 9, 10, 11}, 4, nil, 13},
		"tx=tx_2&hop=kernel%3Eserver":     {[]int{10}, 1, nil, 13},
		"action=run_cell":                 {[]int{5, 6, 7}, 3, nil, 13},
		"cell=c1&limit=2":                 {[]int{5, 6}, 3, 7, 6},
		"cell=c1&limit=2&from=6":          {[]int{6, 7}, 3, nil, 13},
		"cell=c1&limit=1&skip=1":          {[]int{6}, 3, 7, 6},
		"cell=c1&skip=9":                  {nil, 3, nil, 13},
		"late=100000":                     {nil, 0, nil, 13},
		"tx=none":                         {nil, 0, nil, 13},
		"hop=&tx=&late=0&skip=2&limit=2":  {[]int{3, 4}, nil, 5, 4},
		"from=13":                         {[]int{13}, nil, nil, 13},
		"from=14":                         {nil, nil, nil, 13},
		"from=9223372036854775807&skip=2": {nil, nil, nil, 9223372036854775806},
	} {
		var page flowPage
		s.getJSON(t, flowPathOfTracePath(path)+"?"+query, &page)
		require.Equal(t, want.seqs, page.seqs(), query)
		require.Equal(t, []any{want.count, want.next, want.last}, []any{intOrNil(page.Count), intOrNil(page.Next), page.Last}, query)
	}
	for query, problemText := range map[string]string{
		"hop=agent":                "hop=agent: want one of ",
		"late=-1":                  "late=-1: want a whole number",
		"limit=5001":               "limit=5001",
		"from=0":                   "from=0",
		"type=state":               `unknown parameter "type"`,
		"tx=a&tx=b":                "tx is given 2 times",
		"skip=1e3":                 "skip=1e3",
		"late=1000000000000000000": "late=",
	} {
		require.Contains(t, requireProblem(t, s.request(t, http.MethodGet, flowPathOfTracePath(path)+"?"+query), http.StatusBadRequest, "bad_parameter"), problemText)
	}
}

// Each request sees what was appended to the trace since the last one. The trace is
// complete once its attempt has a line; from then on unanswered requests count as
// late.
func TestFlowOfAGrowingTrace(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(traceText(t, sampleEntries(t)...), "\n")
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	name := s.createAttempt(t, folder, 1, map[string]string{"trace.jsonl": lines[0] + lines[1] + lines[2] + lines[3][:20]})
	path := "/api/runs/r/attempts/" + name + "/flow"
	var page flowPage
	s.getJSON(t, path+"?tx=tx_1", &page)
	require.Equal(t, []int{2}, page.seqs())
	require.Equal(t, "unanswered", page.Requests["2"].State)
	require.EqualValues(t, 2, page.End)

	file := folder.Dir + "/attempts/" + name + "/trace.jsonl"
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
	page = flowPage{}
	s.getJSON(t, path+"?from=2", &page)
	require.Len(t, page.Entries, 12)
	require.Equal(t, "answered", page.Requests["2"].State, "the request was cached as unanswered")
	require.False(t, page.Complete)
	page = flowPage{}
	s.getJSON(t, path+"?late=1", &page)
	require.Empty(t, page.seqs(), "it may still be answered")

	recordAttempt(t, folder, name, 1, runs.OutcomeCompleted, nil)
	page = flowPage{}
	s.getJSON(t, path+"?late=1000", &page)
	require.Equal(t, []int{13}, page.seqs())
	require.True(t, page.Complete)
}

// A trace file that was replaced by another is read again from its beginning.
func TestFlowAfterTheFileWasReplaced(t *testing.T) {
	t.Parallel()
	s, path, file := newTestServerWithTrace(t, traceText(t, sampleEntries(t)...))
	var page flowPage
	s.getJSON(t, flowPathOfTracePath(path), &page)
	require.EqualValues(t, 13, page.End)
	require.NoError(t, os.WriteFile(file, []byte(traceText(t, numberedEntries(t, 40)...)), 0o600))
	page = flowPage{}
	s.getJSON(t, flowPathOfTracePath(path), &page)
	require.EqualValues(t, 40, page.End)
	require.Equal(t, "kernel_stdio", page.Entries[0]["type"])
	require.NoError(t, os.WriteFile(file, []byte("{}\n"), 0o600))
	requireProblem(t, s.request(t, http.MethodGet, flowPathOfTracePath(path)), http.StatusInternalServerError, "unreadable")
	requireProblem(t, s.request(t, http.MethodGet, strings.Replace(path, "case-1", "none", 1)), http.StatusNotFound, "not_found")
}

// A trace without entries has an empty flow and an empty notebook.
func TestFlowAndNotebookOfAnEmptyTrace(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", `{"type":"trace"`, strings.SplitAfter(traceText(t), "\n")[0]} {
		s, path, _ := newTestServerWithTrace(t, text)
		answer := s.request(t, http.MethodGet, flowPathOfTracePath(path))
		require.JSONEq(t, `{"entries":[],"requests":{},"next":null,"last":0,"end":0,"complete":false,"model_calls":0}`, answer.Body.String(), text)
		var at notebookAt
		s.getJSON(t, notebookAtPath(path), &at)
		require.Zero(t, at.Seq)
		require.JSONEq(t, `[]`, string(at.Cells))
	}
}

// Lines that cannot be parsed and names that are too long do not affect the other
// entries.
func TestFlowOfDamagedLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	lines := strings.SplitAfter(traceText(t, sampleEntries(t)...), "\n")
	lines[3] = "no JSON\n"
	lines[6] = fmt.Sprintf(`{"seq":6,"t_ns":-5,"hop":%q,"type":%q,"action":7,"msg":{}}`, long, long) + "\n"
	lines[12] = fmt.Sprintf(`{"seq":-1,"t_ns":1,"hop":"agent>server","type":%q,"action":%q,"tx_id":%q,"conn":-3,"ref":99999999999,"cause":-1,"msg":[1]}`, long, long, long) + "\n"
	s, path, _ := newTestServerWithTrace(t, strings.Join(lines, ""))
	var page flowPage
	s.getJSON(t, flowPathOfTracePath(path), &page)
	require.Len(t, page.Entries, 13)
	require.Equal(t, map[string]any{"seq": 3.0, "t_ns": 0.0, "hop": "", "type": "", "bytes": 7.0, "label": "no entry of a trace"}, page.Entries[2])
	require.Equal(t, "no entry of a trace", page.Entries[5]["label"], "the action is a number")
	require.Equal(t, strings.Repeat("é", 128)+"…", page.Entries[11]["type"])
	require.EqualValues(t, 12, page.Entries[11]["seq"], "the number of the line")
	require.Equal(t, "answered", page.Requests["2"].State)
}

// Concurrent requests for more traces than the cache keeps are all answered
// correctly.
func TestConcurrentRequestsForManyTraces(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	var paths []string
	for n := 1; n <= 12; n++ { // more than the cache keeps
		name := s.createAttempt(t, folder, n, map[string]string{"trace.jsonl": traceText(t, numberedEntries(t, 100*n)...)})
		paths = append(paths, "/api/runs/r/attempts/"+name)
	}
	var all sync.WaitGroup
	for reader := range 4 {
		all.Go(func() {
			for i := range paths {
				n := (i*5 + reader) % len(paths)
				for name, want := range map[string]string{"flow": `"end":%d,`, "at": `"end":%d,`} {
					answer := s.request(t, http.MethodGet, paths[n]+"/"+name)
					if text := answer.Body.String(); !strings.Contains(text, fmt.Sprintf(want, 100*(n+1))) {
						t.Errorf("%s of %d: %.200s", name, n, text)
					}
				}
			}
		})
	}
	all.Wait()
}

// The cache keeps the 8 traces used last, fewer if they are large, and always one.
func TestTraceCacheIsBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"12", "11", "10", "9", "8", "7", "6", "5"}, api.CachedTraceKeys(12, 0))
	require.Equal(t, []string{"12", "11"}, api.CachedTraceKeys(12, 200<<20))
	require.Equal(t, []string{"12"}, api.CachedTraceKeys(12, 1<<40), "one trace of any size")
}

// BenchmarkFlow measures a page of a trace of 100,000 entries: the first request,
// which reads the whole trace ("first"), and later ones ("cached").
func BenchmarkFlow(b *testing.B) {
	var entries []trace.Entry
	for n := range 100_000 / 8 {
		tx := fmt.Sprintf("tx_%d", n)
		entries = append(entries, actionEntry(b, "", "get_context", tx), answerEntry(b, tx))
		for i := range 6 {
			entries = append(entries, frameEntry(b, trace.KernelToServer, fmt.Sprintf(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"%d some text that was printed\n"}`, i)))
		}
	}
	s, path, _ := newTestServerWithTrace(b, traceText(b, entries...))
	for _, query := range []string{"from=50000", "action=get_context&from=50000", "late=1000", "text=nothing", "streams=false&from=50000"} {
		b.Run("first/"+query, func(b *testing.B) {
			for b.Loop() {
				s.handler = api.NewTestHandler(s.dir, nil)
				require.Equal(b, http.StatusOK, s.request(b, http.MethodGet, flowPathOfTracePath(path)+"?"+query).Code)
			}
		})
		b.Run("cached/"+query, func(b *testing.B) {
			for b.Loop() {
				require.Equal(b, http.StatusOK, s.request(b, http.MethodGet, flowPathOfTracePath(path)+"?"+query).Code)
			}
		})
	}
}
