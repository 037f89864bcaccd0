package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/server"
)

// A page is let in from our own address, plain or behind something that speaks
// TLS, and from the origins that were listed, as they were listed.
func TestOrigins(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{EvalSandbox: true, AllowedOrigins: []string{"http://localhost:5173", "chrome-extension://listed"}})
	ours := strings.TrimPrefix(h.url, "ws://")
	for origin, want := range map[string]int{
		"":                           http.StatusOK, // no page
		"http://" + ours:             http.StatusOK,
		"https://" + ours:            http.StatusOK,
		"http://localhost:5173":      http.StatusOK,
		"chrome-extension://listed":  http.StatusOK,
		"https://localhost:5173":     http.StatusForbidden,
		"chrome-extension://" + ours: http.StatusForbidden,
		"ftp://" + ours:              http.StatusForbidden,
		"file://" + ours:             http.StatusForbidden,
		"//" + ours:                  http.StatusForbidden,
		ours:                         http.StatusForbidden,
		"null":                       http.StatusForbidden,
		"http://" + ours + "0":       http.StatusForbidden,
		"http://" + ours + "/x":      http.StatusForbidden,
		"http://x@" + ours:           http.StatusForbidden,
		"http://localhost":           http.StatusForbidden,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ours+"/api/config", nil)
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
