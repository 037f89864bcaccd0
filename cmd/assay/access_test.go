package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

const testToken = "token-of-the-test"

// With a token, every path but /healthz, /readyz and /api/config requires it. The server writes
// the token to no file and to no log.
func TestEH8_TokenRequired(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: testToken})
	first := s.connectView(t, "default")
	first.queryAgent("run_cell('1')")
	first.agent.awaitItem(t, "the end of the work", isAgentDone)

	protected := []string{"/api/sessions", "/api/sessions/default", "/api/runs", "/metrics", "/watch"}
	for _, path := range protected {
		for _, wrong := range []string{"", "?token=x", "?token=" + testToken[1:]} {
			status, body := s.get(t, path+wrong)
			require.Equal(t, http.StatusUnauthorized, status, path+wrong)
			require.Contains(t, body, `"code":"unauthorized"`)
		}
	}
	for _, path := range protected[:4] {
		for _, header := range [][]string{{path + "?token=" + testToken}, {path, "Authorization", "Bearer " + testToken}} {
			status, _ := s.get(t, header[0], header[1:]...)
			require.Equal(t, http.StatusOK, status, header)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/api/config"} {
		status, _ := s.get(t, path)
		require.Equal(t, http.StatusOK, status, path)
	}
	for path, first := range map[string]jsonObject{
		"/run":           {"token": "x"},
		"/run?session=a": {"notebook_id": "n"},
		"/agent":         {"type": "init", "session_id": 1, "role": "view"},
		"/agent?token=x": {"type": "init", "session_id": 1, "role": "view"},
	} {
		w := s.dial(t, path, nil)
		w.send(first)
		closed := w.awaitClose(t)
		require.Equal(t, websocket.StatusPolicyViolation, closed.Code, path)
		require.Equal(t, "wrong token", closed.Reason)
	}
	for path, header := range map[string][]string{"/run?token=" + testToken: nil, "/run": {"Authorization", "Bearer " + testToken}} {
		w := s.dial(t, path, nil, header...)
		w.send(jsonObject{"notebook_id": "n"})
		w.awaitItem(t, "ready", hasType("ready"))
	}
	s.dial(t, "/watch?token="+testToken, nil).awaitItem(t, "the trace", hasType("trace"))
	_, sessions := s.get(t, "/api/sessions?token="+testToken)
	require.NotContains(t, sessions, `"id":"a"`, "a refused console must not start a session")
	s.stop(t)
	s.requireNeverWritten(t, testToken)
}

// requireNeverWritten requires that word is neither in the server's standard error nor in a file
// below its folder.
func (s *serveProcess) requireNeverWritten(t *testing.T, word string) {
	t.Helper()
	lines, _, _ := s.stderr.snapshot()
	require.NotContains(t, strings.Join(lines, ""), word)
	files := 0
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), word, path)
		files++
		return err
	}))
	require.Greater(t, files, 1, "the agent and at least one trace")
}

// With EVAL_SANDBOX=1 only /run requires the token, every console is an owner, and requests
// from pages of other sites or with another Host are refused.
func TestEH8_EvalSandboxMode(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	w := s.dial(t, "/run", nil)
	w.send(jsonObject{"token": "x"})
	require.Equal(t, websocket.StatusPolicyViolation, w.awaitClose(t).Code)
	agent := s.dial(t, "/agent", nil)
	agent.send(jsonObject{"type": "init", "session_id": 1, "role": "view"})
	agent.awaitItem(t, "the notebook", hasType("notebook_state"))
	for _, path := range []string{"/api/sessions", "/api/runs", "/metrics"} {
		status, _ := s.get(t, path)
		require.Equal(t, http.StatusOK, status, path)
	}
	s.dial(t, "/watch", nil).awaitItem(t, "the trace", hasType("trace"))

	// Every console owns the session.
	first, second := s.connectView(t, "default"), s.connectView(t, "default")
	require.True(t, first.ready.Owner)
	require.True(t, second.ready.Owner)
	second.runNewCell(t, 0, "1")
	second.agent.awaitItem(t, "the end of the run", hasType("cell_result"))

	// Pages of other sites are refused, and so are foreign host names (DNS rebinding).
	for header, problem := range map[string]string{
		"Origin http://evil.example": "pages of http://evil.example may not use this server; --origin lists those that may",
		"Host evil.example":          "this server is for localhost, not for evil.example",
	} {
		name, value, _ := strings.Cut(header, " ")
		for _, path := range []string{"/run", "/agent", "/watch", "/api/sessions", "/healthz"} {
			status, body := s.get(t, path, name, value)
			require.Equal(t, http.StatusForbidden, status, "%s %s", path, header)
			require.Contains(t, body, problem)
		}
	}
	for _, origin := range []string{s.url, "http://localhost:65535"} {
		status, _ := s.get(t, "/api/sessions", "Origin", origin)
		require.Equal(t, http.StatusOK, status, "pages of servers on this machine are allowed: %s", origin)
	}
	s.stop(t)
	s.requireNeverWritten(t, s.token)
}

// By default the server listens on loopback for IPv4 and IPv6, at the same port, because localhost may
// mean either.
func TestServe_ListensOnIPv6Loopback(t *testing.T) {
	t.Parallel()
	probe, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	require.NoError(t, probe.Close())
	s := startServe(t, serveConfig{args: []string{"--addr", "localhost:0", "--headless"}})
	s.url = "http://[::1]" + s.url[strings.LastIndex(s.url, ":"):]
	status, _ := s.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)
	w := s.dial(t, "/run", nil)
	w.send(jsonObject{"token": s.token})
	w.awaitItem(t, "ready", hasType("ready"))
	s.stop(t)
}

// Pages that --origin lists are allowed. With --allow-remote every Host is allowed, as the token
// protects the server.
func TestServe_Origins(t *testing.T) {
	t.Parallel()
	listed := startServe(t, serveConfig{args: []string{"--origin", "http://localhost:5173", "--headless"}})
	w := listed.dial(t, "/run", nil, "Origin", "http://localhost:5173")
	w.send(jsonObject{"token": listed.token})
	w.awaitItem(t, "ready", hasType("ready"))
	_, _, err := websocket.Dial(t.Context(), listed.url+"/run", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://other.example"}}}) //nolint:bodyclose // Dial closes it
	require.ErrorContains(t, err, "403")
	listed.stop(t)

	remote := startServe(t, serveConfig{token: testToken, args: []string{"--addr", "0.0.0.0:0", "--allow-remote"}})
	remote.url = "http://127.0.0.1" + remote.url[strings.LastIndex(remote.url, ":"):]
	status, _ := remote.get(t, "/api/sessions?token="+testToken, "Host", "assay.example")
	require.Equal(t, http.StatusOK, status, "any Host is allowed with the token")
	status, _ = remote.get(t, "/api/sessions", "Host", "assay.example")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = remote.get(t, "/api/sessions?token="+testToken, "Host", "assay.example", "Origin", "http://evil.example")
	require.Equal(t, http.StatusForbidden, status)
	remote.stop(t)
}

// The first console owns the session, and only the owner may change it. When the owner
// disconnects, the console that connected next becomes the owner and receives ready again. A
// console that reconnects gets its old rank.
func TestEH8_SessionOwner(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: testToken})
	first, second, third := s.connectView(t, "default"), s.connectView(t, "default"), s.connectView(t, "default")
	require.Equal(t, []bool{true, false, false}, []bool{first.ready.Owner, second.ready.Owner, third.ready.Owner})
	cell := first.runNewCell(t, 0, "x = 1")
	second.agent.awaitItem(t, "the end of the run", hasTypeAndCell("cell_result", cell))

	second.run.send(jsonObject{"type": "globals_summary"})
	second.run.awaitItem(t, "a summary", hasTypeAndText("globals_summary", `"x"`))
	refused := second.doAction(t, "edit_cell", jsonObject{"cell_id": cell, "source": "x = 2"})
	require.Equal(t, "not_session_owner_error", refused.Type)
	second.queryAgent("run_cell('x = 3')")
	second.agent.awaitNthItem(t, 2, "a refusal", hasType("not_session_owner_error"))
	for n, kind := range []string{"run_cell", "stop_cell", "dispose_cell", "set_widget_value", "execute_code", "managed_process_restart"} {
		second.run.send(jsonObject{"type": kind, "cell_id": cell, "code": "x = 4", "data": jsonObject{}, "name": "kernel"})
		require.Contains(t, second.run.awaitNthItem(t, n+1, "a refusal", hasType("not_session_owner_error")).body, kind+": another console owns this session")
	}
	require.Equal(t, "x = 1", third.shownCells(t)[0].Source)

	first.disconnect()
	require.True(t, second.run.awaitNthItem(t, 2, "ready again", hasType("ready")).Owner)
	require.Equal(t, "success", second.doAction(t, "edit_cell", jsonObject{"cell_id": cell, "source": "x = 2"}).Status)
	require.Len(t, third.run.itemsMatching(hasType("ready")), 1, "the third console is no owner before and after")

	returned := s.connect(t, consoleOptions{connectionIndex: first.ready.Connection})
	require.True(t, returned.ready.Owner, "it connected first")
	awaitCondition(t, "the second console still owns the session", func() bool {
		ready := second.run.itemsMatching(hasType("ready"))
		return !ready[len(ready)-1].Owner
	})
	s.stop(t)
}

// Neither the agent nor code in the kernel has the token in its environment.
func TestServe_TokenIsHiddenFromAgent(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: testToken})
	c := s.connectView(t, "default")
	c.queryAgent(`assert "` + testToken[1:] + `" not in str(dict(os.environ)), "the token"
assert "` + testToken[1:] + `" not in run_cell("import os\nprint(dict(os.environ))")["logs"]`)
	c.agent.awaitItem(t, "the end of the work", isAgentDone)
	require.Empty(t, c.agent.itemsMatching(hasType("agent_error")))
	s.stop(t)
}

// Code in a kernel or an agent cannot reach the server, in either mode, over TCP: not by an
// address of this machine, not from a process that has left its group, not with the token. Each
// connection is counted.
func TestServer_RefusesItsOwnChildren(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", testToken} {
		s := startServe(t, serveConfig{token: token, args: []string{"--network", "on"}})
		c := s.connectView(t, "default")
		code := `import os, subprocess, sys
program = """
import sys, urllib.request
try:
    print('LEAK', urllib.request.urlopen(sys.argv[1] + '/api/sessions?token=' + sys.argv[2], timeout=60).read())
except Exception as error:
    print('REFUSED', error)
"""
arguments = [sys.executable, '-c', program, '` + s.url + `', '` + s.token + `']
subprocess.run(arguments)
subprocess.run(arguments, start_new_session=True)
print('END')`
		c.runNewCell(t, 0, code)
		c.agent.awaitItem(t, "the end of the code", hasTypeAndText("kernel_stdio", "END"))
		_, printed := s.get(t, "/api/sessions/default/trace?type=kernel_stdio&token="+s.token)
		require.Equal(t, 2, strings.Count(printed, "REFUSED"), printed)
		require.NotContains(t, printed, "LEAK")

		c.queryAgent(`import subprocess, sys
print(subprocess.run([sys.executable, '-c', "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])", '` + s.url + `/healthz']).returncode, file=sys.stderr)`)
		c.agent.awaitItem(t, "the end of the work", isAgentDone)
		_, forbidden := s.get(t, "/api/sessions/default/trace?type=forbidden&token="+s.token)
		require.Equal(t, 2, strings.Count(forbidden, `"child":"kernel"`), forbidden)
		require.Equal(t, 1, strings.Count(forbidden, `"child":"agent"`), forbidden)
		require.Equal(t, 3, strings.Count(forbidden, `"note":"tamper"`), forbidden)
		s.stop(t)
	}
}
