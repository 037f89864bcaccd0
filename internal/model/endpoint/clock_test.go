package endpoint_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model/endpoint"
)

func TestReplayClockShowsTheTimeOfTheNewestAnswer(t *testing.T) {
	t.Parallel()
	header := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(endpoint.TimeHeader, header) }))
	t.Cleanup(server.Close)
	clock := endpoint.NewReplayClock("2026-01-02T03:04:05.006Z")
	client := &http.Client{Transport: clock}
	ask := func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	ask()
	require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), clock.Now())
	header = "2026-01-02T03:04:09Z"
	ask()
	require.Equal(t, time.Date(2026, 1, 2, 3, 4, 9, 0, time.UTC), clock.Now())
	require.Nil(t, endpoint.NewReplayClock(""))
}
