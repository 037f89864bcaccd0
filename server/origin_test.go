package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/server"
)

// Requests of web pages are accepted from the server's own origin, over HTTP and (through
// a proxy) HTTPS, and from the listed origins exactly as they are listed.
func TestOrigins(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer // complete when a request was answered, since these come one by one
	h := newServerHarness(t, server.Config{
		Token: "secret", AllowedOrigins: []string{"http://localhost:5173", "chrome-extension://listed"},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	host := strings.TrimPrefix(h.URL, "ws://")
	requireOrigins(t, host, map[string]int{
		"":                           http.StatusOK, // not from a page
		"http://" + host:             http.StatusOK,
		"https://" + host:            http.StatusOK,
		"http://localhost:5173":      http.StatusOK,
		"chrome-extension://listed":  http.StatusOK,
		"https://localhost:5173":     http.StatusForbidden,
		"chrome-extension://" + host: http.StatusForbidden,
		"ftp://" + host:              http.StatusForbidden,
		"file://" + host:             http.StatusForbidden,
		"//" + host:                  http.StatusForbidden,
		host:                         http.StatusForbidden,
		"null":                       http.StatusForbidden,
		"http://" + host + "0":       http.StatusForbidden,
		"http://" + host + "/x":      http.StatusForbidden,
		"http://x@" + host:           http.StatusForbidden,
		"http://localhost":           http.StatusForbidden,
	})
	requireOrigins(t, host, map[string]int{"null": http.StatusForbidden})
	require.Equal(t, 1, strings.Count(log.String(), `--origin ORIGIN" origin=null`), "each origin is logged once: %s", log.String())
}

// With EVAL_SANDBOX=1, pages of any server on this machine are accepted.
func TestOriginsInEvalSandbox(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{EvalSandbox: true})
	requireOrigins(t, strings.TrimPrefix(h.URL, "ws://"), map[string]int{
		"http://localhost:5173":        http.StatusOK,
		"https://localhost":            http.StatusOK,
		"http://127.0.0.1:3000":        http.StatusOK,
		"http://[::1]:3000":            http.StatusOK,
		"http://localhost.example":     http.StatusForbidden,
		"http://example.com":           http.StatusForbidden,
		"http://localhost@example.com": http.StatusForbidden,
		"http://x@localhost":           http.StatusForbidden,
		"http://localhost/x":           http.StatusForbidden,
		"chrome-extension://localhost": http.StatusForbidden,
		"null":                         http.StatusForbidden,
		"file://":                      http.StatusForbidden,
	})
}

// requireOrigins requires that the server at host answers requests of pages with these origins with these
// status codes.
func requireOrigins(t *testing.T, host string, statusByOrigin map[string]int) {
	t.Helper()
	for origin, want := range statusByOrigin {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/api/config", nil)
		require.NoError(t, err)
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, origin)
	}
	http.DefaultClient.CloseIdleConnections()
}
