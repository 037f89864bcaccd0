package builtin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

// startStrict runs the agent with tools on the real client, over HTTP, against
// the strict server, which plays the script. The test fails if it answers 400.
func startStrict(t *testing.T, cfg builtin.Config, lines ...string) *peer {
	t.Helper()
	script, err := script.Parse("script.jsonl", []byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	var refused atomic.Int64
	mock := mockapi.New(script, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w}
		mock.ServeHTTP(seen, r)
		if seen.status == http.StatusBadRequest {
			refused.Add(1)
		}
	}))
	t.Cleanup(func() {
		server.Close()
		require.Zero(t, refused.Load(), "the server refused requests")
	})
	cfg.Model, err = open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	return start(t, builtin.Run, cfg)
}

// statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
