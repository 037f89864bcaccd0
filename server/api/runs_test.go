package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// runPage is a response of /api/runs.
type runPage struct {
	Runs []struct {
		Name    string
		Started string
		Config  map[string]any
		Host    runs.Host
		Summary *runs.Counts
		Problem string
	}
	Next *string
}

func TestListRunsInAMissingFolder(t *testing.T) {
	t.Parallel()
	answer := newTestServer(t).request(t, http.MethodGet, "/api/runs")
	require.Equal(t, http.StatusOK, answer.Code)
	require.JSONEq(t, `{"runs":[],"next":null}`, answer.Body.String())
}

func TestListRuns(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for day, name := range []string{"one", "two", "three", "with space & <b>", "five"} {
		s.createRun(t, name, day+1)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "no run"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "five", "run.json"), []byte("{"), 0o600))
	var names []string
	for path := "/api/runs?limit=2"; ; {
		var page runPage
		s.getJSON(t, path, &page)
		for _, run := range page.Runs {
			names = append(names, run.Name)
			if run.Name == "five" {
				require.Contains(t, run.Problem, "run.json")
				continue
			}
			require.Equal(t, "noop <3", run.Config["agent"])
			require.Equal(t, "here", run.Host.HostName)
			require.Equal(t, runs.StateRunning, run.Summary.State)
			require.Equal(t, []any{0, false}, []any{run.Summary.Attempts, run.Summary.Finished})
			require.Contains(t, run.Started, "2026-01-")
		}
		if page.Next == nil {
			break
		}
		request := encodeQuery(map[string]string{"limit": "2", "after": *page.Next})
		path = "/api/runs?" + request
	}
	require.Equal(t, []string{"with space & <b>", "three", "two", "one", "five"}, names)
}

func TestGetRun(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	yes := true
	done := s.createAttempt(t, folder, 1, nil)
	recordAttempt(t, folder, done, 1, runs.OutcomeCompleted, &yes)
	running := s.createAttempt(t, folder, 2, nil)
	var got map[string]any
	s.getJSON(t, "/api/runs/r", &got)
	host, ok := got["host"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "here", host["name"])
	delete(got, "host")
	summary, ok := got["summary"].(map[string]any)
	require.True(t, ok)
	require.Positive(t, summary["duration_ms"])
	delete(summary, "duration_ms")
	require.Equal(t, map[string]any{
		"name": "r", "type": "run", "version": 1.0, "run": "r", "started": "2026-01-01T00:00:00Z",
		"config": map[string]any{"agent": "noop <3"}, "running": []any{running},
		"summary": map[string]any{
			"state": "running", "attempts": 1.0, "passed": 1.0, "failed": 0.0, "grading_errors": 0.0, "ungraded": 0.0, "infrastructure": 0.0, "skipped": 0.0, "finished": false,
			"by_outcome": map[string]any{"completed": 1.0}, "pass_rate": 1.0, "cost_usd": nil,
		},
	}, got)
}

func TestErrorResponses(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	name := s.createAttempt(t, folder, 1, map[string]string{"trace.jsonl": "{}\n", "stderr.txt": "x"})
	secret := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(folder.Dir, "attempts", name, "out.txt")))
	require.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(s.dir, "out")))
	const attempts = "/api/runs/r/attempts"
	attempt := attempts + "/" + name
	up := strings.Repeat("..%2f", 8) + strings.ReplaceAll(strings.TrimPrefix(secret, "/"), "/", "%2f")
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/api":                                     {404, "no_such_endpoint"},
		"/api/":                                    {404, "no_such_endpoint"},
		"/api/walks":                               {404, "no_such_endpoint"},
		"/api/runs/":                               {404, "no_such_endpoint"},
		attempt + "/chat":                          {404, "no_such_endpoint"},
		attempt + "/files":                         {404, "no_such_endpoint"},
		attempt + "/files/a/b":                     {404, "no_such_endpoint"},
		"/api/runs/other":                          {404, "not_found"},
		"/api/runs/other/attempts":                 {404, "not_found"},
		"/api/runs?after=other":                    {404, "not_found"},
		attempts + "/0009-x-e1-t1":                 {404, "not_found"},
		attempts + "/x":                            {404, "not_found"},
		attempts + "/0009-x-e1-t1/trace":           {404, "not_found"},
		attempt + "/state":                         {404, "not_found"},
		attempt + "/files/state.json":              {404, "not_found"},
		"/api/runs/%2e%2e":                         {404, "not_found"},
		"/api/runs/..%2fr":                         {404, "not_found"},
		"/api/runs/" + up:                          {404, "not_found"},
		"/api/runs/r%00":                           {404, "not_found"},
		attempts + "/..%2f" + name:                 {404, "not_found"},
		attempts + "/%2e%2e/files/run.json":        {404, "not_found"},
		attempt + "/files/..%2f..%2f..%2frun.json": {404, "not_found"},
		attempt + "/files/" + up:                   {404, "not_found"},
		attempt + "/files/%2fetc%2fpasswd":         {404, "not_found"},
		attempt + "/files/..%5crun.json":           {404, "not_found"},
		attempt + "/files/out.txt":                 {500, "unreadable"},
		"/api/runs/out":                            {500, "unreadable"},
		attempt + "/trace":                         {500, "unreadable"},
		"/api/runs?limit=0":                        {400, "bad_parameter"},
		"/api/runs?limit=501":                      {400, "bad_parameter"},
		"/api/runs?limit=":                         {400, "bad_parameter"},
		"/api/runs?limit=ten":                      {400, "bad_parameter"},
		"/api/runs?limit=1&limit=2":                {400, "bad_parameter"},
		"/api/runs?page=2":                         {400, "bad_parameter"},
		"/api/runs?limit=%zz":                      {400, "bad_parameter"},
		"/api/runs/r?x=1":                          {400, "bad_parameter"},
		attempts + "?passed=yes":                   {400, "bad_parameter"},
		attempts + "?after=-1":                     {400, "bad_parameter"},
		attempts + "?after=99999999999999999999":   {400, "bad_parameter"},
		attempt + "?x=1":                           {400, "bad_parameter"},
		attempt + "/trace?from=0":                  {400, "bad_parameter"},
		attempt + "/trace?limit=5001":              {400, "bad_parameter"},
		attempt + "/stderr?x=1":                    {400, "bad_parameter"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			answer := s.request(t, http.MethodGet, path)
			require.NotContains(t, answer.Body.String(), `"secret"`)
			require.Empty(t, answer.Header().Get("Content-Disposition"))
			requireProblem(t, answer, want.status, want.code)
		})
	}
}

func TestOnlyGetIsAllowed(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createRun(t, "r", 1)
	for _, path := range []string{"/api/runs", "/api/runs/r", "/api/runs/r/attempts", "/api/runs/r/attempts/x/files/y"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
			answer := s.request(t, method, path)
			require.Equal(t, "GET", answer.Header().Get("Allow"))
			require.Equal(t, path+" does not accept "+method+", only GET", requireProblem(t, answer, 405, "method_not_allowed"))
		}
	}
	require.Equal(t, http.StatusOK, s.request(t, http.MethodHead, "/api/runs").Code)
}

// Every endpoint accepts the parameter token, which package server checks.
func TestTokenParameterIsIgnored(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createRun(t, "r", 1)
	for _, path := range []string{"/api/runs", "/api/runs/r", "/api/runs/r/attempts"} {
		require.Equal(t, http.StatusOK, s.request(t, http.MethodGet, path+"?token=t").Code)
	}
}

// FuzzQuery requires that no query causes a status of 500 or more, or a response
// that is not JSON.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"limit=1&after=1", "limit=-1", "after=r", "passed=null&outcome=completed&case=c", "from=2&limit=1&hop=kernel>server",
		"type=kernel_stdio&tx=a&cell=b&action=c", "%", "a=b;c=d", "limit=1&limit=2", "from=9223372036854775807", "after=9223372036854775807",
	} {
		f.Add(query)
	}
	s := newTestServer(f)
	folder := s.createRun(f, "r", 1)
	name := s.createAttempt(f, folder, 1, map[string]string{"trace.jsonl": traceText(f, numberedEntries(f, 12)...), "stderr.txt": "x"})
	recordAttempt(f, folder, name, 1, runs.OutcomeCompleted, nil)
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/api/runs", "/api/runs/r", "/api/runs/r/attempts", "/api/runs/r/attempts/" + name, "/api/runs/r/attempts/" + name + "/trace"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			require.NoError(t, err)
			request.URL.RawQuery = query
			answer := serveRequest(s.handler, request)
			require.Less(t, answer.Code, 500, fmt.Sprint(path, "?", query, ": ", answer.Body))
			require.True(t, json.Valid(answer.Body.Bytes()), answer.Body.String())
		}
	})
}
