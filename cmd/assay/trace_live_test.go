package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// liveSession is a server with one session, "default", that wants the token
// "secret". Its trace has two entries, a third once watched, and then ends.
func liveSession(t *testing.T) (address string) {
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
				return // it has seen enough
			}
		}
		_ = ws.Close(websocket.StatusNormalClosure, "the session has ended")
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web.URL
}

// traceOf runs assay trace and returns what it printed, and its exit status.
func traceOf(t *testing.T, args ...string) (out, errOut string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "assay", append([]string{"trace"}, args...)...)
	cmd.Env = append(os.Environ(), "ASSAY_TOKEN=secret")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		require.NoError(t, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func TestTraceOfALiveSession(t *testing.T) {
	t.Parallel()
	address := liveSession(t)

	out, _, status := traceOf(t, address)
	require.Equal(t, "+0.001 server>kernel globals_summary eval_1 9 B  answered in 1.0ms: kernel 1.0ms\n"+
		"+0.002 kernel>server globals_summary eval_1 9 B\n", out, "what is there")
	require.Zero(t, status)
	out, _, status = traceOf(t, address+"/?session=default", "--follow")
	require.Equal(t, "+0.001 server>kernel globals_summary eval_1 9 B\n"+
		"+0.002 kernel>server globals_summary eval_1 9 B  answered in 1.0ms: kernel 1.0ms\n"+
		"+0.003 session state ended 9 B\n", out, "until the session ends")
	require.Zero(t, status)

	const hint = " (the token is --token or ASSAY_TOKEN, the session ?session=ID in the address)\n"
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{address, "--token", "x"}, "assay: " + address + ": wrong token" + hint},
		{[]string{address, "--token", "x", "--follow"}, "assay: " + address + ": wrong token" + hint},
		{[]string{address + "?session=y"}, "assay: " + address + "?session=y: there is no session y" + hint},
	} {
		out, errOut, status := traceOf(t, tc.args...)
		require.Empty(t, out)
		require.Equal(t, tc.want, errOut)
		require.Equal(t, exitUsage, status)
	}
}

// A connection that is lost is not the end of a session.
func TestTraceOfALostSession(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			_ = ws.Write(context.WithoutCancel(r.Context()), websocket.MessageText, []byte(`{"type":"trace","version":1}`))
			_ = ws.CloseNow()
		}
	}))
	_, errOut, status := traceOf(t, web.URL, "--follow")
	require.Contains(t, errOut, web.URL+" cannot be reached any more: ")
	require.Equal(t, exitBroken, status)
	web.Close()
	for _, follow := range [][]string{{}, {"--follow"}} {
		_, errOut, status = traceOf(t, append(follow, web.URL)...)
		require.Equal(t, "assay: "+web.URL+" cannot be reached: no server is listening there (assay serve serves sessions)\n", errOut)
		require.Equal(t, exitBroken, status)
		require.Equal(t, 1, strings.Count(errOut, "\n"))
	}
}
