package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/server"
)

// /mcp proxies a client to the agent of its session, without the headers that are meant
// for the server, and forwards events as they come.
func TestMCPProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	got := make(chan *http.Request, 1)
	next := make(chan string)
	agent := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r
		for text := range next {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	})}}
	agent.Start()
	t.Cleanup(agent.Close)

	web, err := server.New(server.Config{Token: "secret", MCPSocketPath: func(id string) string { return filepath.Join(dir, id) }})
	require.NoError(t, err)
	publisher := web.PublishAttempts("s")
	other := web.PublishAttempts("gone")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Run(ctx, listener) }()
	t.Cleanup(func() {
		publisher.Close()
		other.Close()
		cancel()
		require.NoError(t, <-ended)
	})
	request := func(session string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String()+"/mcp?session="+session, http.NoBody)
		require.NoError(t, err)
		for name, value := range map[string]string{
			"Authorization": "Bearer secret", "Cookie": "a=b", "Origin": "http://" + listener.Addr().String(),
			"Mcp-Session-Id": "m", "Mcp-Protocol-Version": "2025-06-18",
		} {
			request.Header.Set(name, value)
		}
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		response, err := (&http.Client{Transport: transport}).Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	require.Equal(t, http.StatusBadGateway, request("gone").StatusCode)
	require.Equal(t, http.StatusNotFound, request("never").StatusCode)

	go func() { next <- "first\n" }()
	response := request("s")
	proxied := <-got
	require.Equal(t, "/", proxied.URL.String())
	for _, name := range []string{"Authorization", "Cookie", "Origin"} {
		require.Empty(t, proxied.Header.Get(name), name)
	}
	require.Equal(t, "m", proxied.Header.Get("Mcp-Session-Id"))
	require.Equal(t, "2025-06-18", proxied.Header.Get("Mcp-Protocol-Version"))
	lines := bufio.NewReader(response.Body)
	for _, want := range []string{"first\n", "second\n"} {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
		if want == "first\n" {
			next <- "second\n"
		}
	}
	close(next)
	_, err = lines.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}
