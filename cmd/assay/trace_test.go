package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/exit"
)

// assay trace prints the trace of a live session so far, or with --follow until the session ends.
func TestServe_Trace(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: testToken, args: []string{"--session-idle", "1s"}})
	c := s.connectView(t, "one")
	c.queryAgent("run_cell('1')")
	c.agent.awaitItem(t, "the end of the work", isAgentDone)
	target := s.url + "/?session=one"

	out, errOut, status := runTraceCommand(t, s.token, target)
	require.Zero(t, status, errOut)
	require.Empty(t, errOut)
	require.Regexp(t, `(?m)^\+\d+\.\d{3} agent>server agent_action create_cell tx_1 \d+ B  answered in \d+\.\dms: notebook \d+\.\dms$`, out)
	require.Regexp(t, `(?m)^\+\d+\.\d{3} session state ready \d+ B$`, out)
	out, errOut, status = runTraceCommand(t, s.token, target, "--action", "create_cell", "--hop", "agent>server", "--format", "json")
	require.Zero(t, status, errOut)
	require.Equal(t, 1, strings.Count(out, "\n"), out)

	for _, follow := range [][]string{{}, {"--follow"}} {
		_, errOut, status = runTraceCommand(t, s.token, append(follow, s.url+"/?session=nowhere")...)
		require.Equal(t, exit.StatusUsage, status)
		require.Contains(t, errOut, `there is no session "nowhere"`)
		_, errOut, status = runTraceCommand(t, "x", append(follow, target)...)
		require.Equal(t, exit.StatusUsage, status)
		require.Contains(t, errOut, "token")
	}

	follow := exec.CommandContext(context.WithoutCancel(t.Context()), "assay", "trace", target, "--follow")
	follow.Env = append(os.Environ(), "ASSAY_TOKEN="+testToken)
	pipe, err := follow.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, follow.Start())
	lines := newInbox[string]()
	go func() {
		in := bufio.NewReader(pipe)
		lines.readItemsFrom(func() (string, error) { return in.ReadString('\n') })
	}()
	line := func(text string) func(string) bool {
		return func(line string) bool { return strings.Contains(line, text) }
	}
	lines.awaitItem(t, "an earlier entry", line("agent>server agent_action create_cell tx_1"))
	c.queryAgent("run_cell('2')")
	lines.awaitItem(t, "a later entry", line("agent>server agent_action create_cell tx_2"))
	c.disconnect()
	lines.awaitItem(t, "the end of the session", line("session state ended"))
	require.ErrorContains(t, lines.awaitError(t), "EOF")
	require.NoError(t, follow.Wait())
	s.stop(t)
}

// assay trace --late lists the request that timed out because the kernel was busy, and names the
// kernel as the cause.
func TestServe_TraceNamesSlowKernel(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	c := s.connectView(t, "default")
	c.queryAgent(`
cell = start_cell("import ctypes\nctypes.PyDLL(None).system(b'echo holds the lock; exec sleep 9')")
receive(has_type("agent_query"))                      # the cell holds the interpreter lock now
held = start_action("request_globals_summary")
assert do_action("get_context")["status"] == "success"
late = await_response(held)
assert "the kernel did not answer" in late["error"], late
receive_from_cell("cell_result", cell)
assert do_action("request_globals_summary")["status"] == "success"
`)
	c.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "holds the lock"))
	c.queryAgent("pass")
	c.agent.awaitItem(t, "the end of the work", isAgentDone)
	require.Empty(t, c.agent.itemsMatching(hasType("agent_error")))
	out, errOut, status := runTraceCommand(t, s.token, s.url, "--late", "5000")
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^\+\d+\.\d{3} agent>server agent_action request_globals_summary tx_2 \d+ B  timed out after 8\.\d{3}s: kernel \(its reply came \S+s late\)$`, out)
	require.NotContains(t, out, "get_context")
	s.stop(t)
}

// startFakeServer starts a server with the session "default" and the token "secret", and returns
// its address. The trace of the session has two entries, and for watchers a third, which is the
// last.
func startFakeServer(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"code":"unauthorized","text":"wrong token"}`)
		case r.PathValue("id") != "default":
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintf(w, `{"code":"not_found","text":"there is no session %s"}`, r.PathValue("id"))
		default:
			_, _ = fmt.Fprint(w, `{"seq":2}`)
		}
	})
	mux.HandleFunc("GET /watch", func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			_ = ws.Close(websocket.StatusPolicyViolation, "wrong token")
			return
		}
		ctx := context.WithoutCancel(r.Context())
		for _, line := range []string{
			`{"type":"trace","version":1,"session":"default","started":"2026-01-02T03:04:05Z"}`,
			`{"seq":1,"t_ns":1000000,"hop":"server>kernel","type":"globals_summary","tx_id":"eval_1","bytes":9,"msg":{}}`,
			`{"seq":2,"t_ns":2000000,"hop":"kernel>server","type":"globals_summary","tx_id":"eval_1","bytes":9,"msg":{}}`,
			`{"seq":3,"t_ns":3000000,"hop":"session","type":"state","bytes":9,"msg":{"state":"ended"}}`,
		} {
			if ws.Write(ctx, websocket.MessageText, []byte(line)) != nil {
				return // the watcher has closed the connection
			}
		}
		_ = ws.Close(websocket.StatusNormalClosure, "the session has ended")
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web.URL
}

// runTraceCommand runs assay trace with the token in ASSAY_TOKEN, and returns its standard output,
// standard error and exit status.
func runTraceCommand(t *testing.T, token string, args ...string) (out, errOut string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "assay", append([]string{"trace"}, args...)...)
	cmd.Env = append(os.Environ(), "ASSAY_TOKEN="+token)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		require.NoError(t, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func TestTrace_LiveSession(t *testing.T) {
	t.Parallel()
	address := startFakeServer(t)

	out, _, status := runTraceCommand(t, "secret", address)
	require.Equal(t, "+0.001 server>kernel globals_summary eval_1 9 B  answered in 1.0ms: kernel 1.0ms\n"+
		"+0.002 kernel>server globals_summary eval_1 9 B\n", out, "the entries so far")
	require.Zero(t, status)
	out, _, status = runTraceCommand(t, "secret", address+"/?session=default", "--follow")
	require.Equal(t, "+0.001 server>kernel globals_summary eval_1 9 B\n"+
		"+0.002 kernel>server globals_summary eval_1 9 B  answered in 1.0ms: kernel 1.0ms\n"+
		"+0.003 session state ended 9 B\n", out, "all entries until the session ends")
	require.Zero(t, status)

	wrong := writeFile(t, filepath.Join(t.TempDir(), "token"), "x\n")
	const hint = " (the token is --token-file or ASSAY_TOKEN, the session ?session=ID in the address)\n"
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{address, "--token-file", wrong}, "assay: " + address + ": wrong token" + hint},
		{[]string{address, "--token-file", wrong, "--follow"}, "assay: " + address + ": wrong token" + hint},
		{[]string{address + "?session=y"}, "assay: " + address + "?session=y: there is no session y" + hint},
	} {
		out, errOut, status := runTraceCommand(t, "secret", tc.args...)
		require.Empty(t, out)
		require.Equal(t, tc.want, errOut)
		require.Equal(t, exit.StatusUsage, status)
	}
}

// assay trace fails if the connection is lost, or if no server listens.
func TestTrace_LostConnection(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			_ = ws.Write(context.WithoutCancel(r.Context()), websocket.MessageText, []byte(`{"type":"trace","version":1}`))
			_ = ws.CloseNow()
		}
	}))
	_, errOut, status := runTraceCommand(t, "secret", web.URL, "--follow")
	require.Contains(t, errOut, web.URL+" cannot be reached any more: ")
	require.Equal(t, exit.StatusBroken, status)
	web.Close()
	for _, follow := range [][]string{{}, {"--follow"}} {
		_, errOut, status = runTraceCommand(t, "secret", append(follow, web.URL)...)
		require.Equal(t, "assay: "+web.URL+" cannot be reached: no server is listening there (assay serve serves sessions)\n", errOut)
		require.Equal(t, exit.StatusBroken, status)
		require.Equal(t, 1, strings.Count(errOut, "\n"))
	}
}
