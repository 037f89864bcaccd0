package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAttemptFiles(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	const page = "<html><script>alert(1)</script></html>"
	path := "/api/runs/r/attempts/" + s.createAttempt(t, folder, 1, map[string]string{
		"state.json": `{"a":1}`, "notebook.ipynb": `{"cells":[]}`, "conversation.jsonl": "{}\n", "stderr.txt": page,
		"page.html": page, "noext": page, "a b.TXT": "text", ".hidden": "h", "empty.json": "",
	})
	for name, want := range map[string]struct{ kind, text string }{
		"/state":                    {"application/json", `{"a":1}`},
		"/notebook":                 {"application/json", `{"cells":[]}`},
		"/conversation":             {"text/plain; charset=utf-8", "{}\n"},
		"/stderr":                   {"text/plain; charset=utf-8", page},
		"/files/state.json":         {"application/json", `{"a":1}`},
		"/files/page.html":          {"application/octet-stream", page},
		"/files/noext":              {"application/octet-stream", page},
		"/files/a%20b.TXT":          {"text/plain; charset=utf-8", "text"},
		"/files/.hidden":            {"application/octet-stream", "h"},
		"/files/empty.json":         {"application/json", ""},
		"/files/stderr.txt?token=x": {"text/plain; charset=utf-8", page},
	} {
		answer := s.request(t, http.MethodGet, path+name)
		require.Equal(t, http.StatusOK, answer.Code, name)
		require.Equal(t, want.text, answer.Body.String(), name)
		require.Equal(t, want.kind, answer.Header().Get("Content-Type"), name)
		require.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"), name)
		require.Equal(t, "no-store", answer.Header().Get("Cache-Control"), name)
		disposition := ""
		if name[:6] == "/files" {
			disposition = "attachment"
		}
		require.Equal(t, disposition, answer.Header().Get("Content-Disposition"), name)
	}
}

func TestAttemptFileRanges(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	path := "/api/runs/r/attempts/" + s.createAttempt(t, folder, 1, map[string]string{"stderr.txt": "0123456789"})
	for asked, want := range map[string]struct{ text, contentRange string }{
		"bytes=2-4": {"234", "bytes 2-4/10"},
		"bytes=7-":  {"789", "bytes 7-9/10"},
		"bytes=-1":  {"9", "bytes 9-9/10"},
	} {
		answer := s.request(t, http.MethodGet, path+"/stderr", "Range", asked)
		require.Equal(t, http.StatusPartialContent, answer.Code)
		require.Equal(t, want.text, answer.Body.String())
		require.Equal(t, want.contentRange, answer.Header().Get("Content-Range"))
	}
	for _, asked := range []string{"bytes=10-", "bytes=x", "lines=1-2"} {
		answer := s.request(t, http.MethodGet, path+"/files/stderr.txt", "Range", asked)
		requireProblem(t, answer, http.StatusRequestedRangeNotSatisfiable, "requested_range_not_satisfiable")
		require.Empty(t, answer.Header().Get("Content-Disposition"))
	}
	requireProblem(t, s.request(t, http.MethodGet, path+"/stderr", "If-Match", `"a"`), http.StatusPreconditionFailed, "precondition_failed")
	head := s.request(t, http.MethodHead, path+"/stderr")
	require.Equal(t, "10", head.Header().Get("Content-Length"))
	require.Empty(t, head.Body.String())
}
