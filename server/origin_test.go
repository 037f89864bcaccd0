package server_test

import (
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
	h := newServerHarness(t, server.Config{EvalSandbox: true, AllowedOrigins: []string{"http://localhost:5173", "chrome-extension://listed"}})
	host := strings.TrimPrefix(h.URL, "ws://")
	for origin, want := range map[string]int{
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
	} {
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
