package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/server/api"
)

// encodeQuery returns the query string with these parameters.
func encodeQuery(values map[string]string) string {
	query := url.Values{}
	for name, value := range values {
		query.Set(name, value)
	}
	return query.Encode()
}

// serveRequest returns the response of handler to a request.
func serveRequest(handler http.Handler, request *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// newTestServerWithTrace returns a server with one attempt whose trace file has this
// text, and the trace's path in the API and on disk.
func newTestServerWithTrace(tb testing.TB, text string) (s *testServer, path, file string) {
	tb.Helper()
	s = newTestServer(tb)
	folder := s.createRun(tb, "r", 1)
	name := s.createAttempt(tb, folder, 1, map[string]string{"trace.jsonl": text})
	return s, "/api/runs/r/attempts/" + name + "/trace", filepath.Join(folder.Dir, "attempts", name, "trace.jsonl")
}

func TestTracePagesOfAGrowingTrace(t *testing.T) {
	t.Parallel()
	whole := traceText(t, numberedEntries(t, 25)...)
	lines := strings.SplitAfter(whole, "\n")
	s, path, file := newTestServerWithTrace(t, strings.Join(lines[:13], "")+lines[13][:40]) // header, 12 entries, a cut one
	var got []int64
	var bodies []string
	for next, grown := int64(1), false; ; {
		var page api.TracePage
		s.getJSON(t, fmt.Sprintf("%s?from=%d&limit=5", path, next), &page)
		got = append(got, entrySeqs(t, page)...)
		for _, entry := range page.Entries {
			bodies = append(bodies, string(entry)+"\n")
		}
		require.Equal(t, got[len(got)-1], page.LastLine)
		if next = page.LastLine + 1; page.Next != nil {
			require.Equal(t, next, *page.Next)
			continue
		}
		if grown {
			break
		}
		grown = true
		require.Len(t, got, 12)
		require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
	}
	require.Len(t, got, 25)
	require.Equal(t, lines[1:26], bodies, "the lines as they are")
}

func TestTraceFilters(t *testing.T) {
	t.Parallel()
	s, path, _ := newTestServerWithTrace(t, traceText(t, numberedEntries(t, 30)...))
	for query, want := range map[string][]int64{
		"type=agent_action":                     {10, 20, 30},
		"hop=agent%3Eserver":                    {10, 20, 30},
		"action=run_cell&tx=tx_20":              {20},
		"cell=c1&limit=2":                       {2, 5},
		"cell=c1&limit=2&from=6":                {8, 11},
		"hop=kernel%3Eserver&type=agent_action": nil,
		"hop=":                                  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
		"from=31":                               nil,
		"from=9223372036854775807&limit=1":      nil,
		"from=29&token=whatever":                {29, 30},
	} {
		var page api.TracePage
		s.getJSON(t, path+"?"+query, &page)
		require.Equal(t, want, entrySeqs(t, page), query)
	}
}

// A trace file that has no complete line, or only the header, is an empty page.
func TestEmptyTrace(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", `{"type":"trace"`, strings.SplitAfter(traceText(t), "\n")[0]} {
		s, path, _ := newTestServerWithTrace(t, text)
		answer := s.request(t, http.MethodGet, path)
		require.JSONEq(t, `{"entries":[],"next":null,"last":0}`, answer.Body.String(), text)
	}
}

// A page ends before it exceeds maxPageBytes, but always has one entry; no entry is
// lost.
func TestTracePagesAreLimitedInSize(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	big := func(n int) string {
		return fmt.Sprintf(`{"seq":%d,"msg":%q}`, n, strings.Repeat("x", api.MaxPageBytes/2)) + "\n"
	}
	header := strings.SplitAfter(traceText(t), "\n")[0]
	s, path, _ := newTestServerWithTrace(t, header+big(1)+big(2)+big(3)+`{"seq":4}`+"\n"+`{"seq":5,"msg":"`+strings.Repeat("y", api.MaxPageBytes)+`"}`+"\n"+`{"seq":6}`+"\n")
	var pages [][]int64
	for next := int64(1); ; {
		body := s.request(t, http.MethodGet, fmt.Sprintf("%s?from=%d", path, next)).Body.Bytes()
		var seqs []int64
		for seq := range int64(7) { // decoding so much takes the race detector seconds
			if bytes.Contains(body, fmt.Appendf(nil, "{\"seq\":%d", seq)) {
				seqs = append(seqs, seq)
			}
		}
		pages = append(pages, seqs)
		var page api.TracePage
		require.NoError(t, json.Unmarshal(append([]byte(`{"a":[`), body[bytes.LastIndexByte(body, ']'):]...), &page))
		if page.Next == nil {
			break
		}
		next = *page.Next
	}
	require.Equal(t, [][]int64{{1}, {2}, {3, 4}, {5}, {6}}, pages)
}

// A request whose filter selects no entry stops after maxScannedBytes, and its empty
// page says where to continue.
func TestScanPerRequestIsLimited(t *testing.T) {
	t.Parallel()
	header := strings.SplitAfter(traceText(t), "\n")[0]
	s, path, name := newTestServerWithTrace(t, header)
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	const lines, each = 20, 16 << 20 // bytes, mostly holes of a sparse file
	for n := range lines {
		at := int64(len(header) + n*each)
		_, err = file.WriteAt([]byte(`{"hop":"notebook"}`), at)
		require.NoError(t, err)
		_, err = file.WriteAt([]byte("\n"), at+each-1)
		require.NoError(t, err)
	}
	_, err = file.WriteAt([]byte(`{"hop":"session"}`+"\n"), int64(len(header)+lines*each))
	require.NoError(t, err)
	require.NoError(t, file.Close())

	var page api.TracePage
	s.getJSON(t, path+"?hop=session", &page)
	require.Empty(t, page.Entries)
	require.EqualValues(t, 18, *page.Next, "the first line at which 256 MiB were passed")
	require.EqualValues(t, 17, page.LastLine)
	page = api.TracePage{}
	s.getJSON(t, path+"?hop=session&from=18", &page)
	require.Len(t, page.Entries, 1)
	require.Nil(t, page.Next)
	require.EqualValues(t, lines+1, page.LastLine)
}

// A page in the middle of a long trace allocates memory for the page only.
//
//nolint:paralleltest // it measures the allocations of the whole process
func TestTracePageReadsOnlyThePage(t *testing.T) {
	const lines = 200_000
	var text bytes.Buffer
	text.WriteString(strings.SplitAfter(traceText(t), "\n")[0])
	for n := 1; n <= lines; n++ {
		fmt.Fprintf(&text, `{"seq":%d,"t_ns":%d,"hop":"kernel>server","type":"kernel_stdio","bytes":200,"msg":{"type":"kernel_stdio","data":"%d some text that was printed"}}`+"\n", n, n, n)
	}
	s, path, _ := newTestServerWithTrace(t, text.String())
	t.Logf("a trace of %d MiB", text.Len()>>20)
	for _, query := range []string{"from=100000", "from=150000", "from=120000", "from=199990", "from=1&type=state"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer := s.request(t, http.MethodGet, path+"?"+query)
		runtime.ReadMemStats(&after)
		require.Equal(t, http.StatusOK, answer.Code)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), query)
	}
	var page api.TracePage
	s.getJSON(t, path+"?from=100000", &page)
	require.Len(t, page.Entries, 500)
	require.EqualValues(t, 100_000, entrySeqs(t, page)[0])
	require.EqualValues(t, 100_500, *page.Next)
}

// BenchmarkTracePage measures a page of a trace of a million entries: with the file's
// line index in memory ("indexed") and without it ("first").
func BenchmarkTracePage(b *testing.B) {
	const lines = 1_000_000
	var text bytes.Buffer
	text.WriteString(strings.SplitAfter(traceText(b), "\n")[0])
	for n := 1; n <= lines; n++ {
		fmt.Fprintf(&text, `{"seq":%d,"hop":"kernel>server","type":"kernel_stdio","msg":{"type":"kernel_stdio","data":%q}}`+"\n", n, strings.Repeat("z", 200))
	}
	s, path, _ := newTestServerWithTrace(b, text.String())
	for _, query := range []string{"from=500000", "from=990000&limit=5000", "from=1&type=state"} {
		b.Run("indexed/"+query, func(b *testing.B) {
			for b.Loop() {
				require.Equal(b, http.StatusOK, s.request(b, http.MethodGet, path+"?"+query).Code)
			}
		})
		b.Run("first/"+query, func(b *testing.B) {
			for b.Loop() {
				s.handler = api.NewTestHandler(s.dir, nil)
				require.Equal(b, http.StatusOK, s.request(b, http.MethodGet, path+"?"+query).Code)
			}
		})
	}
}
