package server_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/trace"
)

// A text is found in what messages carry, however their sender has written it,
// and in their names, whatever its case.
func TestAPIFlowPicksByText(t *testing.T) {
	t.Parallel()
	entries := append(exchange(t),
		/* 14 */ framed(t, trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1","stream":"stderr","data":"KeyError: \"Größe\"\nB"}`),
		/* 15 */ framed(t, trace.KernelToServer, `{"type":"kernel_stdio","active_cell":"c1","stream":"stderr","data":"KeyError: gr\u00f6\u00DFe \ud83d\ude00"}`),
		/* 16 */ framed(t, trace.ServerToAgent, `{"type":"agent_status"}`, func(e *trace.Entry) { e.Ref, e.Body = 15, nil }),
	)
	l, path, _ := traced(t, written(t, entries...))
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
		l.get(t, flowed(path)+"?"+query, &page)
		require.Equal(t, want, page.seqs(), query)
	}
}

// What is added to a trace is searched too, and what was found before stays.
func TestAPIFlowPicksByTextWhileItGrows(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(written(t, exchange(t)...), "\n")
	l, path, file := traced(t, strings.Join(lines[:9], ""))
	text := func(text string) []int {
		var page flowPage
		l.get(t, flowed(path)+"?text="+text, &page)
		return page.seqs()
	}
	require.Equal(t, []int{8}, text("execute_code"))
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
	require.Equal(t, []int{8, 9, 10}, text("execute_code"))
	for _, other := range []string{"a", "b", "c", "d", "e", "f"} { // more than are remembered
		text(other)
	}
	require.Equal(t, []int{8, 9, 10}, text("execute_code"))
}

// The pieces of replies can be left out, and it is told how many they are.
func TestAPIFlowWithoutStreams(t *testing.T) {
	t.Parallel()
	piece := framed(t, trace.AgentToServer, `{"type":"agent_stream_delta","delta":"x"}`)
	odd := framed(t, trace.AgentToServer, `{"type":"agent_stream_delta","delta":"x"}`, noted(trace.Tamper))
	entries := append(exchange(t)[:4], piece, piece, acted(t, "", "get_context", "tx_9"), piece, odd)
	l, path, _ := traced(t, written(t, entries...))
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
		l.get(t, flowed(path)+"?"+query, &page)
		require.Equal(t, want.seqs, page.seqs(), query)
		require.Equal(t, []any{want.count, want.hidden}, []any{nilOr(page.Count), nilOr(page.Hidden)}, query)
	}
	query := framed(t, trace.ServerToAgent, `{"type":"agent_query","query":"x","request_id":"r"}`)
	l, path, _ = traced(t, written(t, query, piece, piece))
	var page flowPage
	l.get(t, flowed(path)+"?streams=false&from=2", &page)
	require.Empty(t, page.Entries)
	require.Equal(t, "answered", page.Requests["1"].State, "by a piece that is not shown")
	require.Contains(t, problem(t, l.ask(t, http.MethodGet, flowed(path)+"?streams=no"), http.StatusBadRequest, "bad_parameter"), "streams=no")
}
