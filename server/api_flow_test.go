package server_test

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
	"assay/server"
)

// flowPage is an answer of …/flow.
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

func (p flowPage) seqs() (seqs []int) {
	for _, entry := range p.Entries {
		seq, _ := entry["seq"].(float64)
		seqs = append(seqs, int(seq))
	}
	return seqs
}

// framed is a frame with its envelope, as the router would have read it.
func framed(tb testing.TB, hop trace.Hop, body string, more ...func(*trace.Entry)) trace.Entry {
	tb.Helper()
	env, err := protocol.NewDecoder().Envelope([]byte(body))
	require.NoError(tb, err)
	e := trace.Entry{Hop: hop, Envelope: env, Body: []byte(body)}
	for _, change := range more {
		change(&e)
	}
	return e
}

func noted(note trace.Note) func(*trace.Entry) { return func(e *trace.Entry) { e.Note = note } }
func causedBy(seq int64) func(*trace.Entry)    { return func(e *trace.Entry) { e.Cause = seq } }

func acted(tb testing.TB, params, name, tx string, more ...func(*trace.Entry)) trace.Entry {
	tb.Helper()
	return framed(tb, trace.AgentToServer, fmt.Sprintf(`{"type":"agent_action","action":%q,"params":{%s},"tx_id":%q}`, name, params, tx), more...)
}

func answered(tb testing.TB, tx string, more ...func(*trace.Entry)) trace.Entry {
	tb.Helper()
	return framed(tb, trace.ServerToAgent, fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":"success"}`, tx), more...)
}

// exchange is a little of everything: an action of the notebook, a run, one that
// the kernel answers, an event, and an action that nobody has answered.
func exchange(tb testing.TB) []trace.Entry {
	tb.Helper()
	return []trace.Entry{
		/* 1 */ framed(tb, trace.Session, `{"type":"holder","by":"server"}`),
		/* 2 */ acted(tb, `"position":0,"cell_type":"code","source":"1","auto_run":true`, "create_cell", "tx_1"),
		/* 3 */ framed(tb, trace.Notebook, `{"type":"notebook_event","event":"cell_created","cell":{"cell_id":"c1","cell_type":"code","source":"1","display_name":"","rev":1},"position":0}`),
		/* 4 */ answered(tb, "tx_1"),
		/* 5 */ framed(tb, trace.ServerToKernel, `{"type":"run_cell","cell_id":"c1","code":"1"}`),
		/* 6 */ framed(tb, trace.KernelToServer, `{"type":"start_cell","cell_id":"c1","run_sequencer":1}`),
		/* 7 */ framed(tb, trace.KernelToServer, `{"type":"cell_result","cell_id":"c1","run_sequencer":1,"status":"ok"}`),
		/* 8 */ acted(tb, `"code":"2"`, "execute_code", "tx_2", noted(trace.Intercepted)),
		/* 9 */ framed(tb, trace.ServerToKernel, `{"type":"execute_code","agent_tx_id":"eval_1","code":"2"}`, causedBy(8)),
		/* 10 */ framed(tb, trace.KernelToServer, `{"type":"execute_code_response","agent_tx_id":"eval_1","status":"success"}`),
		/* 11 */ answered(tb, "tx_2", causedBy(10)),
		/* 12 */ framed(tb, trace.AgentToServer, `{"type":"agent_event","channel":"ai","text":"well","metadata":{"type":"tick"}}`),
		/* 13 */ acted(tb, "", "get_context", "tx_3"),
	}
}

// flowed is the path of …/flow in place of …/trace.
func flowed(path string) string { return strings.TrimSuffix(path, "trace") + "flow" }

func TestAPIFlow(t *testing.T) {
	t.Parallel()
	l, path, _ := traced(t, written(t, exchange(t)...))
	var page flowPage
	l.get(t, flowed(path), &page)
	require.Len(t, page.Entries, 13)
	require.Equal(t, []any{nil, 13, 13, false, nil}, []any{nilOr(page.Next), int(page.Last), int(page.End), page.Complete, nilOr(page.Count)})
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
	l.get(t, flowed(path)+"?from=9&limit=1", &brief)
	require.Equal(t, []int{9}, brief.seqs())
	require.Equal(t, page.Requests["8"], brief.Requests["8"], "whole, also where the page has a part of it")
	require.Len(t, brief.Requests, 1)
}

// nilOr makes numbers comparable with nothing.
func nilOr(n *int64) any {
	if n == nil {
		return nil
	}
	return int(*n)
}

func TestAPIFlowPicks(t *testing.T) {
	t.Parallel()
	l, path, _ := traced(t, written(t, exchange(t)...))
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
		l.get(t, flowed(path)+"?"+query, &page)
		require.Equal(t, want.seqs, page.seqs(), query)
		require.Equal(t, []any{want.count, want.next, want.last}, []any{nilOr(page.Count), nilOr(page.Next), page.Last}, query)
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
		require.Contains(t, problem(t, l.ask(t, http.MethodGet, flowed(path)+"?"+query), http.StatusBadRequest, "bad_parameter"), problemText)
	}
}

// A trace that grows is read on, and ends when its attempt has a line: from then
// on what was not answered will not be.
func TestAPIFlowWhileItGrows(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(written(t, exchange(t)...), "\n")
	l := newLibrary(t)
	folder := l.run(t, "r", 1)
	name := l.attempt(t, folder, 1, map[string]string{"trace.jsonl": lines[0] + lines[1] + lines[2] + lines[3][:20]})
	path := "/api/runs/r/attempts/" + name + "/flow"
	var page flowPage
	l.get(t, path+"?tx=tx_1", &page)
	require.Equal(t, []int{2}, page.seqs())
	require.Equal(t, "unanswered", page.Requests["2"].State)
	require.EqualValues(t, 2, page.End)

	file := folder.Dir + "/attempts/" + name + "/trace.jsonl"
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
	page = flowPage{}
	l.get(t, path+"?from=2", &page)
	require.Len(t, page.Entries, 12)
	require.Equal(t, "answered", page.Requests["2"].State, "though it was asked before")
	require.False(t, page.Complete)
	page = flowPage{}
	l.get(t, path+"?late=1", &page)
	require.Empty(t, page.seqs(), "nobody knows yet whether it will be answered")

	record(t, folder, name, 1, runs.OutcomeCompleted, nil)
	page = flowPage{}
	l.get(t, path+"?late=1000", &page)
	require.Equal(t, []int{13}, page.seqs())
	require.True(t, page.Complete)
}

// Another trace in the place of the one that was read is read anew.
func TestAPIFlowOfAnotherFile(t *testing.T) {
	t.Parallel()
	l, path, file := traced(t, written(t, exchange(t)...))
	var page flowPage
	l.get(t, flowed(path), &page)
	require.EqualValues(t, 13, page.End)
	require.NoError(t, os.WriteFile(file, []byte(written(t, numbered(t, 40)...)), 0o600))
	page = flowPage{}
	l.get(t, flowed(path), &page)
	require.EqualValues(t, 40, page.End)
	require.Equal(t, "kernel_stdio", page.Entries[0]["type"])
	require.NoError(t, os.WriteFile(file, []byte("{}\n"), 0o600))
	problem(t, l.ask(t, http.MethodGet, flowed(path)), http.StatusInternalServerError, "unreadable")
	problem(t, l.ask(t, http.MethodGet, strings.Replace(path, "case-1", "none", 1)), http.StatusNotFound, "not_found")
}

// A trace that has just begun has a flow, and a notebook, of nothing.
func TestAPIFlowThatBegins(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", `{"type":"trace"`, strings.SplitAfter(written(t), "\n")[0]} {
		l, path, _ := traced(t, text)
		answer := l.ask(t, http.MethodGet, flowed(path))
		require.JSONEq(t, `{"entries":[],"requests":{},"next":null,"last":0,"end":0,"complete":false}`, answer.Body.String(), text)
		var at moment
		l.get(t, momentOf(path), &at)
		require.Zero(t, at.Seq)
		require.JSONEq(t, `[]`, string(at.Cells))
	}
}

// What cannot be read, and what is too long, spoils nothing else.
func TestAPIFlowOfHostileLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	lines := strings.SplitAfter(written(t, exchange(t)...), "\n")
	lines[3] = "no JSON\n"
	lines[6] = fmt.Sprintf(`{"seq":6,"t_ns":-5,"hop":%q,"type":%q,"action":7,"msg":{}}`, long, long) + "\n"
	lines[12] = fmt.Sprintf(`{"seq":-1,"t_ns":1,"hop":"agent>server","type":%q,"action":%q,"tx_id":%q,"conn":-3,"ref":99999999999,"cause":-1,"msg":[1]}`, long, long, long) + "\n"
	l, path, _ := traced(t, strings.Join(lines, ""))
	var page flowPage
	l.get(t, flowed(path), &page)
	require.Len(t, page.Entries, 13)
	require.Equal(t, map[string]any{"seq": 3.0, "t_ns": 0.0, "hop": "", "type": "", "bytes": 7.0, "label": "no entry of a trace"}, page.Entries[2])
	require.Equal(t, "no entry of a trace", page.Entries[5]["label"], "its action is a number")
	require.Equal(t, strings.Repeat("é", 128)+"…", page.Entries[11]["type"])
	require.EqualValues(t, 12, page.Entries[11]["seq"], "that of its line")
	require.Equal(t, "answered", page.Requests["2"].State)
}

// Those who come at once, for several traces, all get what is there.
func TestAPIFlowAtOnce(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	folder := l.run(t, "r", 1)
	var paths []string
	for n := 1; n <= 12; n++ { // more than are kept
		name := l.attempt(t, folder, n, map[string]string{"trace.jsonl": written(t, numbered(t, 100*n)...)})
		paths = append(paths, "/api/runs/r/attempts/"+name)
	}
	var all sync.WaitGroup
	for reader := range 4 {
		all.Go(func() {
			for i := range paths {
				n := (i*5 + reader) % len(paths)
				for name, want := range map[string]string{"flow": `"end":%d,`, "at": `"end":%d,`} {
					answer := l.ask(t, http.MethodGet, paths[n]+"/"+name)
					if text := answer.Body.String(); !strings.Contains(text, fmt.Sprintf(want, 100*(n+1))) {
						t.Errorf("%s of %d: %.200s", name, n, text)
					}
				}
			}
		})
	}
	all.Wait()
}

// Of many traces the last ones are kept, and of large ones fewer.
func TestHistoriesAreBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"12", "11", "10", "9", "8", "7", "6", "5"}, server.Histories(12, 0))
	require.Equal(t, []string{"12", "11"}, server.Histories(12, 200<<20))
	require.Equal(t, []string{"12"}, server.Histories(12, 1<<40), "one of any size")
}

// BenchmarkAPIFlow is a page of a long trace, as the first who asks, and after.
func BenchmarkAPIFlow(b *testing.B) {
	var entries []trace.Entry
	for n := range 100_000 / 8 {
		tx := fmt.Sprintf("tx_%d", n)
		entries = append(entries, acted(b, "", "get_context", tx), answered(b, tx))
		for i := range 6 {
			entries = append(entries, framed(b, trace.KernelToServer, fmt.Sprintf(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"%d some text that was printed\n"}`, i)))
		}
	}
	l, path, _ := traced(b, written(b, entries...))
	for _, query := range []string{"from=50000", "action=get_context&from=50000", "late=1000", "text=nothing", "streams=false&from=50000"} {
		b.Run("first/"+query, func(b *testing.B) {
			for b.Loop() {
				l.web = server.RunsHandler(l.dir, nil)
				require.Equal(b, http.StatusOK, l.ask(b, http.MethodGet, flowed(path)+"?"+query).Code)
			}
		})
		b.Run("then/"+query, func(b *testing.B) {
			for b.Loop() {
				require.Equal(b, http.StatusOK, l.ask(b, http.MethodGet, flowed(path)+"?"+query).Code)
			}
		})
	}
}
