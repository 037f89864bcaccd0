package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/server"
)

// A request whose body does not arrive in time fails, and an answer may take longer than that.
func TestBodyMustArriveInTime(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	web := httptest.NewServer(server.LimitBodyTime(timeout, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case <-r.Context().Done():
			http.Error(w, "the request was cancelled", http.StatusInternalServerError)
		case <-time.After(3 * timeout):
		}
	})))
	defer web.Close()
	send := func(request string) *http.Response {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", web.Listener.Addr().String())
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer
	}
	require.Equal(t, http.StatusBadRequest, send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345").StatusCode)
	require.Equal(t, http.StatusOK, send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345").StatusCode)
	require.Equal(t, http.StatusOK, send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").StatusCode)
}
