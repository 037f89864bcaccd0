package api_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/trace"
)

// A text is found in messages, whichever JSON escapes their sender used, and in
// types, actions and ids, whatever the case of its letters.
func TestFlowTextSearch(t *testing.T) {
	t.Parallel()
	entries := append(sampleEntries(t),
		/* 14 */ frameEntry(t, trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1","stream":"stderr","data":"KeyError: \"Größe\"\nB"}`),
		/* 15 */ frameEntry(t, trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1","stream":"stderr","data":"KeyError: gr\u00f6\u00DFe \ud83d\ude00"}`),
		/* 16 */ frameEntry(t, trace.ServerToAgent, `{"type":"agent_status"}`, func(e *trace.Entry) { e.RefSeq, e.Body = 15, nil }),
	)
	s, path, _ := newTestServerWithTrace(t, traceText(t, entries...))
	for query, want := range map[string][]int{
		"text=keyerror":                       {14, 15, 16},
		"text=gr%C3%B6%C3%9Fe":                {14, 15, 16},
		"text=%F0%9F%98%80":                   {15, 16},
		"text=%22Gr%C3%B6%C3%9Fe%22%0AB":      {14},
		"text=keyerror&hop=server%3Eagent":    {16},
		"text=TX_2":                           {8, 11},
		"text=TICK":                           {12},
		"text=intercepted":                    {8},
		"text=create_cell&action=run_cell":    nil,
		"text=seq":                            {6, 7},
		"text=keyerror&skip=1&limit=1":        {15},
		"text=":                               {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		"text=" + strings.Repeat("long", 500): nil,
	} {
		var page flowPage
		s.getJSON(t, flowPathOfTracePath(path)+"?"+query, &page)
		require.Equal(t, want, page.seqs(), query)
	}
}

// A repeated search also finds entries appended since, and keeps the earlier hits.
func TestFlowTextSearchInAGrowingTrace(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(traceText(t, sampleEntries(t)...), "\n")
	s, path, file := newTestServerWithTrace(t, strings.Join(lines[:9], ""))
	text := func(text string) []int {
		var page flowPage
		s.getJSON(t, flowPathOfTracePath(path)+"?text="+text, &page)
		return page.seqs()
	}
	require.Equal(t, []int{8}, text("execute_code"))
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
	require.Equal(t, []int{8, 9, 10}, text("execute_code"))
	for _, other := range []string{"a", "b", "c", "d", "e", "f"} { // more searches than the cache keeps
		text(other)
	}
	require.Equal(t, []int{8, 9, 10}, text("execute_code"))
}

// With streams=false the pieces of streamed replies are left out and counted in
// hidden, except those with a note.
func TestFlowWithoutStreams(t *testing.T) {
	t.Parallel()
	piece := frameEntry(t, trace.AgentToServer, `{"type":"agent_stream_delta","delta":"x"}`)
	odd := frameEntry(t, trace.AgentToServer, `{"type":"agent_stream_delta","delta":"x"}`, withNote(trace.NoteTamper))
	entries := append(sampleEntries(t)[:4], piece, piece, actionEntry(t, "", "get_context", "tx_9"), piece, odd)
	s, path, _ := newTestServerWithTrace(t, traceText(t, entries...))
	for query, want := range map[string]struct {
		seqs          []int
		count, hidden any
	}{
		"streams=false":                    {[]int{1, 2, 3, 4, 7, 9}, 6, 3},
		"streams=false&from=5":             {[]int{7, 9}, 6, 3},
		"streams=false&action=get_context": {[]int{7}, 1, 0},
		"streams=false&hop=agent%3Eserver": {[]int{2, 7, 9}, 3, 3},
		"streams=true":                     {[]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, nil, nil},
		"streams=true&hop=notebook":        {[]int{3}, 1, nil},
	} {
		var page struct {
			flowPage
			Hidden *int64
		}
		s.getJSON(t, flowPathOfTracePath(path)+"?"+query, &page)
		require.Equal(t, want.seqs, page.seqs(), query)
		require.Equal(t, []any{want.count, want.hidden}, []any{intOrNil(page.Count), intOrNil(page.Hidden)}, query)
	}
	query := frameEntry(t, trace.ServerToAgent, `{"type":"agent_query","query":"x","request_id":"r"}`)
	s, path, _ = newTestServerWithTrace(t, traceText(t, query, piece, piece))
	var page flowPage
	s.getJSON(t, flowPathOfTracePath(path)+"?streams=false&from=2", &page)
	require.Empty(t, page.Entries)
	require.Equal(t, "answered", page.Requests["1"].State, "by a hidden entry")
	require.Contains(t, requireProblem(t, s.request(t, http.MethodGet, flowPathOfTracePath(path)+"?streams=no"), http.StatusBadRequest, "bad_parameter"), "streams=no")
}
