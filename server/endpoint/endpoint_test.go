package endpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/server/endpoint"
)

// problemInResponse returns the status and problem of a response.
func problemInResponse(t *testing.T, response *httptest.ResponseRecorder) (status int, problem endpoint.Problem) {
	t.Helper()
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &problem))
	return response.Code, problem
}

// Handler answers each kind of error with its status and code, and logs only those that
// are neither the client's fault nor expected.
func TestHandlerAnswersErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		status int
		code   string
		logged bool
	}{
		"bad parameter": {endpoint.StatusErrorf(http.StatusBadRequest, "limit=%d", 0), 400, "bad_parameter", false},
		"conflict":      {endpoint.StatusErrorf(http.StatusConflict, "no cases"), 409, "conflict", false},
		"too long":      {fmt.Errorf("trace: %w", endpoint.StatusErrorf(http.StatusUnprocessableEntity, "long")), 422, "too_long", false},
		"not found":     {fmt.Errorf("run: %w", runs.ErrNotFound), 404, "not_found", false},
		"long name":     {syscall.ENAMETOOLONG, 404, "not_found", false},
		"other":         {errors.New("the disk is gone"), 500, "unreadable", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			handler := endpoint.Handler(slog.New(slog.NewTextHandler(&log, nil)), func(http.ResponseWriter, *http.Request) error { return tc.err })
			response := httptest.NewRecorder()
			handler(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil))
			status, problem := problemInResponse(t, response)
			require.Equal(t, tc.status, status)
			require.Equal(t, endpoint.Problem{Code: tc.code, Text: tc.err.Error()}, problem)
			require.Equal(t, tc.logged, log.Len() > 0, log.String())
		})
	}
}

// WriteProblem removes Content-Disposition, and derives the code from the status.
func TestWriteProblem(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]string{401: "unauthorized", 405: "method_not_allowed", 412: "precondition_failed", 502: "gone", 503: "not_ready"} {
		response := httptest.NewRecorder()
		response.Header().Set("Content-Disposition", "attachment")
		endpoint.WriteProblem(response, status, "text")
		got, problem := problemInResponse(t, response)
		require.Equal(t, status, got)
		require.Equal(t, endpoint.Problem{Code: code, Text: "text"}, problem)
		require.Empty(t, response.Header().Get("Content-Disposition"))
		require.Equal(t, "no-store", response.Header().Get("Cache-Control"))
		require.Equal(t, "nosniff", response.Header().Get("X-Content-Type-Options"))
	}
}

// WriteJSON answers a value that cannot be marshalled with status 500.
func TestWriteJSONOfAnInvalidValue(t *testing.T) {
	t.Parallel()
	response := httptest.NewRecorder()
	endpoint.WriteJSON(response, http.StatusOK, func() {})
	status, problem := problemInResponse(t, response)
	require.Equal(t, []any{500, "unreadable"}, []any{status, problem.Code})
}

// Parameters keeps the first error of a query, and returns fallbacks for parameters that
// the query lacks.
func TestParameters(t *testing.T) {
	t.Parallel()
	read := func(query string) (*endpoint.Parameters, []any) {
		p := endpoint.ReadParameters(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query, nil), "limit", "brief", "text")
		return p, []any{p.Number("limit", 50, 1, 100), p.OneOf("brief", "true", "false"), p.Text("text")}
	}
	p, values := read("token=secret&limit=7&brief=true&text=a%20b")
	require.NoError(t, p.Err())
	require.Equal(t, []any{int64(7), "true", "a b"}, values)
	p, values = read("")
	require.NoError(t, p.Err())
	require.Equal(t, []any{int64(50), "", ""}, values)
	for query, text := range map[string]string{
		"limit=0":         "limit=0: want a whole number from 1 to 100",
		"limit=101":       "limit=101: want a whole number from 1 to 100",
		"limit=":          "limit=: want a whole number from 1 to 100",
		"brief=yes":       "brief=yes: want one of true, false",
		"limit=1&limit=1": "limit is given 2 times",
		"page=1":          `unknown parameter "page": this endpoint has limit, brief, text, token`,
	} {
		p, _ := read(query)
		require.EqualError(t, p.Err(), text)
	}
	p, _ = read("limit=%zz")
	require.ErrorContains(t, p.Err(), "cannot parse the query")
}
