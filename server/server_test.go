package server_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/trace"
	"assay/server"
)

func TestNewRequiresAToken(t *testing.T) {
	t.Parallel()
	_, err := server.New(server.Config{})
	require.ErrorContains(t, err, "--token-file")
}

// A console whose first message is wrong is closed with a code and a reason.
func TestRejectedHellos(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{MaxFrameBytes: 64 << 10})
	h.startSession(t, session.Config{})
	for name, tc := range map[string]struct {
		path, first string
		code        websocket.StatusCode
		reason      string
	}{
		"wrong token":            {"/run", `{"token":"guess"}`, 1008, "wrong token"},
		"no token":               {"/run", `{}`, 1008, "wrong token"},
		"invalid JSON at /run":   {"/run", `hello`, 1008, "cannot parse the first message: invalid character 'h' looking for beginning of value"},
		"invalid JSON at /agent": {"/agent", `{"type":"init"`, 1008, "cannot parse the first message: unexpected end of JSON input"},
		"not an object":          {"/agent", `[1]`, 1008, "cannot parse the first message: json: cannot unmarshal array"},
		"unknown session":        {"/run?session=other", runHello, 1008, `there is no session "other"`},
		"unknown at /agent":      {"/agent?session=other", agentHello, 1008, `there is no session "other"`},
		"not an init":            {"/agent", `{"type":"agent_query","query":"go"}`, 1008, `the first message must be init, not "agent_query"`},
		"a long role":            {"/agent", `{"type":"init","session_id":1,"role":"` + strings.Repeat("é", 100) + `"}`, 1008, "unknown role \"éé"},
		"too large":              {"/run", `{"token":"` + strings.Repeat("x", 64<<10) + `"}`, 1009, "read limited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := dialConsole(t, h.URL+tc.path, tc.first, nil).awaitClose(t)
			require.Equal(t, tc.code, closed.Code)
			require.True(t, strings.HasPrefix(closed.Reason, tc.reason), closed.Reason)
			require.True(t, utf8.ValidString(closed.Reason), "%q", closed.Reason)
		})
	}
}

// A rejected console does not decide who holds the notebook: the next one can hold it.
func TestRejectedConsoleDoesNotDecideTheHolder(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	rejected := dialConsole(t, s.URL+"/agent", `{"type":"init","session_id":7,"role":"guest"}`, nil).awaitClose(t)
	require.Equal(t, websocket.StatusPolicyViolation, rejected.Code)
	newFakeHolder(t, s.URL)
	require.Equal(t, "success", s.agent.requestAction(t, "get_context", nil).Status)
}

// With Config.Token, both endpoints require the token: in the first message, the query or
// the Authorization header.
func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{Token: "secret"})
	s := h.startSession(t, session.Config{})
	for path, first := range map[string]string{
		"/run":                      runHello, // with the token of EvalSandbox
		"/agent":                    agentHello,
		"/agent?token=wrong":        agentHello,
		"/agent?token=secret&a=all": `{"type":"init","token":"wrong"}`,
	} {
		closed := dialConsole(t, h.URL+path, first, nil).awaitClose(t)
		require.Equal(t, websocket.StatusPolicyViolation, closed.Code, path)
		require.Equal(t, "wrong token", closed.Reason, path)
	}
	dialConsole(t, h.URL+"/run", `{"token":"secret"}`, nil).awaitItem(t, "ready", isMessageOfType("ready"))
	dialConsole(t, h.URL+"/agent", `{"type":"init","session_id":1,"token":"secret"}`, nil)
	s.awaitHolder(t, 1)
	dialConsole(t, h.URL+"/agent?token=secret", agentHello, nil)
	s.awaitHolder(t, 2)
	ws, response, err := websocket.Dial(t.Context(), h.URL+"/agent", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer secret"}},
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(agentHello)))
	s.awaitHolder(t, 3)
	require.NoError(t, ws.CloseNow())
}

// A WebSocket that a page of another site opens is refused.
func TestOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	h.startSession(t, session.Config{})
	_, response, err := websocket.Dial(t.Context(), h.URL+"/run", &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"http://elsewhere.example"}},
	})
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}

// A second console cannot hold the notebook, even while the first is away. The same console
// that connects again replaces its old connection.
func TestOneHolder(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	first := dialConsole(t, s.URL+"/agent", agentHello, nil)
	s.awaitHolder(t, 1)
	other := dialConsole(t, s.URL+"/agent", `{"type":"init","session_id":2}`, nil).awaitClose(t)
	require.Equal(t, websocket.StatusCode(4009), other.Code)
	require.Equal(t, session.ErrHeldByOtherConsole.Error(), other.Reason)

	h := newFakeHolder(t, s.URL)
	closed := first.awaitClose(t)
	require.Equal(t, websocket.StatusCode(4001), closed.Code)
	require.Equal(t, "the same console has connected again", closed.Reason)
	require.Equal(t, "success", s.agent.requestAction(t, "get_context", nil).Status)
	h.agent.awaitItem(t, "the action", isMessageOfType("agent_action"))
	require.Empty(t, first.itemsMatching(isMessageOfType("agent_action")))

	require.NoError(t, h.agent.ws.CloseNow())
	s.awaitPeerEnded(t, 4)
	gone := dialConsole(t, s.URL+"/agent", `{"type":"init","session_id":"2"}`, nil).awaitClose(t)
	require.Equal(t, websocket.StatusCode(4009), gone.Code, "the holder is away")
}

// Actions that are sent while the holder is away are answered by it, in order, if it comes
// back within their timeout.
func TestHolderReturns(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	h := newFakeHolder(t, s.URL)
	require.NoError(t, h.agent.ws.Close(websocket.StatusNormalClosure, "the tab is closed"))
	s.awaitPeerEnded(t, 2)
	actions := []string{s.agent.sendAction("get_context", nil), s.agent.sendAction("delete_cell", params{"cell_id": "first"}), s.agent.sendAction("get_context", nil)}
	require.Equal(t, "error", s.agent.requestAction(t, "no_such_action", nil).Status) // by its answer, the router has the others
	h.agent = dialConsole(t, s.URL+"/agent", agentHello, h.answerAction)
	for i, cells := range []string{`"cell_count":1`, `"remaining_cells":[]`, `"cell_count":0`} {
		answer := s.agent.awaitItem(t, "an answer", isAnswerTo(actions[i]))
		require.Contains(t, answer.String(), cells, "in the order in which they were sent")
	}
}

// An action that was written to a holder before it went away is not sent again when it is
// back, but the holder may still answer it.
func TestHolderAnswersAfterReturn(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	before := dialConsole(t, s.URL+"/agent", agentHello, nil)
	tx := s.agent.sendAction("get_context", nil)
	before.awaitItem(t, "the action", isMessageOfType("agent_action"))
	require.NoError(t, before.ws.CloseNow())
	s.awaitPeerEnded(t, 1)
	after := dialConsole(t, s.URL+"/agent", agentHello, nil)
	s.awaitHolder(t, 2)
	second := s.agent.sendAction("get_context", nil)
	after.awaitItem(t, "the second action", func(f frame) bool { return f.TxID == second })
	require.Len(t, after.itemsMatching(isMessageOfType("agent_action")), 1, "the first action was written only once")
	after.writeText(`{"type":"agent_action_response","tx_id":"` + tx + `","status":"success","context":{"cells":[],"mark":"after"}}`)
	require.Contains(t, s.agent.awaitItem(t, "the answer", isAnswerTo(tx)).String(), "after")
}

// A binary frame, or one over the limit, closes the console that sent it; an invalid
// message is answered with an error. Neither affects the session.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	s := newServerHarness(t, server.Config{MaxFrameBytes: limit}).startSession(t, session.Config{})
	h := newFakeHolder(t, s.URL)
	for name, tc := range map[string]struct {
		kind  websocket.MessageType
		bytes int
		code  websocket.StatusCode
	}{
		"binary":         {websocket.MessageBinary, 2, websocket.StatusUnsupportedData},
		"over the limit": {websocket.MessageText, limit + 1, websocket.StatusMessageTooBig},
	} {
		console := dialConsole(t, s.URL+"/run", runHello, nil)
		console.awaitItem(t, name, isMessageOfType("ready"))
		require.NoError(t, console.ws.Write(t.Context(), tc.kind, bytes.Repeat([]byte("{"), tc.bytes)))
		require.Equal(t, tc.code, console.awaitClose(t).Code, name)
	}
	h.run.writeText("no JSON")
	h.run.send(params{"type": "no_such_type"})
	for _, text := range []string{"malformed message", `unknown message type \"no_such_type\"`} {
		h.run.awaitItem(t, text, func(f frame) bool { return f.Type == "error" && strings.Contains(f.String(), text) })
	}
	require.Equal(t, "success", s.agent.requestAction(t, "get_context", nil).Status)
	s.entries.awaitItem(t, "the malformed message", func(e traceEntry) bool { return e.Hop == trace.ConsoleToServer && e.Note == trace.NoteMalformed })
}

// When the kernel is killed while a cell runs, consoles receive managed_process_exit, and actions that wait for
// it fail at once with an error that says how it died and what it printed last.
func TestKernelKilled(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: h.pythonKernelConfig(t)})
	console := newFakeHolder(t, s.URL)
	s.agent.requestAction(t, "edit_cell", params{
		"cell_id": "first", "auto_run": true,
		"source": "print('last words')\nwhile True: pass",
	})
	console.run.awaitItem(t, "the cell's output", func(f frame) bool { return strings.Contains(f.String(), "last words") })
	tx := s.agent.sendAction("execute_code", params{"code": "1"})
	s.agent.requestAction(t, "request_globals_summary", nil) // by its answer, the kernel has read both
	killed := time.Now()
	killProcess(t, s.session.KernelPID())

	answer := s.agent.awaitItem(t, "the end of the action", isAnswerTo(tx))
	require.Less(t, time.Since(killed), promptAnswerTimeout)
	require.Equal(t, "error", answer.Status)
	require.Equal(t, "the kernel has ended: kernel was killed by SIGKILL; it printed last: last words", answer.Error)
	exit := console.run.awaitItem(t, "the exit of the kernel", isMessageOfType("managed_process_exit"))
	require.JSONEq(t, `{"type":"managed_process_exit","name":"kernel","exit_code":-1,"signal":"SIGKILL"}`, exit.String())

	later := s.agent.requestAction(t, "request_globals_summary", nil)
	require.Contains(t, later.Error, "the kernel has ended: kernel was killed by SIGKILL")
	require.Equal(t, "success", s.agent.requestAction(t, "get_context", nil).Status, "the notebook remains")
	late := dialConsole(t, s.URL+"/run", runHello, nil).awaitItem(t, "ready", isMessageOfType("ready")).fields(t)
	require.Equal(t, "dead", late["kernel_status"])
	require.Equal(t, map[string]any{"first": "error"}, late["cell_status"])
	require.NoError(t, s.session.End(context.Background(), "over"))
}

// A console that connects late first gets the state so far, and then what happens.
func TestLateConsole(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: h.pythonKernelConfig(t)})
	newFakeHolder(t, s.URL)
	s.agent.requestAction(t, "edit_cell", params{"cell_id": "first", "source": "print('hello')\n6 * 7", "auto_run": true})
	s.agent.awaitResult(t, "first")
	late := dialConsole(t, s.URL+"/run", runHello, nil)
	ready := late.awaitItem(t, "ready", isMessageOfType("ready")).fields(t)
	delete(ready, "kernel_pid")
	require.Contains(t, ready["cell_durations"], "first")
	delete(ready, "cell_durations")
	require.NotEmpty(t, ready["trace"])
	delete(ready, "trace")
	require.Equal(t, map[string]any{
		"type": "ready", "connection_idx": 3.0, "kernel_status": "running", "language": "python", "session_owner": true,
		"run_queue": []any{}, "cell_widgets": map[string]any{},
		"cell_status": map[string]any{"first": "ran"}, "cell_sequencers": map[string]any{"first": 1.0}, "cell_counts": map[string]any{"first": 1.0},
		"cell_outputs": map[string]any{"first": []any{
			map[string]any{"output_type": "stream", "name": "stdout", "text": "hello\n"},
			map[string]any{"output_type": "execute_result", "execution_count": 1.0, "metadata": map[string]any{}, "data": map[string]any{"text/plain": "42"}},
		}},
	}, ready)

	late.send(params{"type": "run_cell", "cell_id": "mine", "code": "print('from the late one')"})
	late.awaitItem(t, "the result of its own run", func(f frame) bool { return f.Type == "cell_result" && f.CellID == "mine" })
	require.Equal(t, "from the late one\n", s.agent.awaitResult(t, "mine").Logs)
	require.Equal(t, "ready", late.itemsMatching(func(frame) bool { return true })[0].Type, "ready comes first")
}

// The kernel's answer to a console's request goes to that console only, with the id of its
// request.
func TestConsoleRequestsToTheKernel(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: h.pythonKernelConfig(t)})
	one := dialConsole(t, s.URL+"/run", runHello, nil)
	other := dialConsole(t, s.URL+"/run", runHello, nil)
	one.send(params{"type": "execute_code", "code": "6 * 7", "agent_tx_id": "mine"})
	answer := one.awaitItem(t, "its answer", isMessageOfType("execute_code_response"))
	require.Equal(t, "mine", answer.AgentTxID)
	require.Contains(t, answer.String(), `"result":"42"`)
	one.send(params{"type": "globals_summary"})
	require.Empty(t, one.awaitItem(t, "its summary", isMessageOfType("globals_summary")).AgentTxID)
	other.send(params{"type": "debug_state"})
	other.awaitItem(t, "its own answer", isMessageOfType("debug_state"))
	require.Empty(t, other.itemsMatching(isMessageOfType("execute_code_response")))
}

// When a session ends for good, or the server stops, consoles are closed with code 1001 and
// the reason.
func TestConsolesAreClosedAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end    func(*liveSession) error
		reason string
	}{
		"the session": {func(s *liveSession) error {
			err := s.session.End(context.Background(), "the work is done")
			s.publisher.Close()
			return err
		}, "the session has ended"},
		"the server": {func(s *liveSession) error { s.Stop(); return nil }, "the server is stopping: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
			h := newFakeHolder(t, s.URL)
			s.awaitHolder(t, 1)
			require.NoError(t, tc.end(s))
			for _, console := range []*consoleSocket{h.run, h.agent} {
				closed := console.awaitClose(t)
				require.Equal(t, websocket.StatusGoingAway, closed.Code)
				require.Equal(t, tc.reason, closed.Reason)
			}
		})
	}
}

// A console that does not read delays the end of a session by less than 4 s.
func TestNonReadingConsoleAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	ws, response, err := websocket.Dial(t.Context(), s.URL+"/agent", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(agentHello)))
	s.awaitHolder(t, 1)
	began := time.Now()
	require.NoError(t, s.session.End(t.Context(), "over"))
	require.Less(t, time.Since(began), 4*time.Second)
	require.NoError(t, ws.CloseNow())
}

// Run returns the error of its listener.
func TestListenerFails(t *testing.T) {
	t.Parallel()
	web, err := server.New(server.Config{Token: testToken})
	require.NoError(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	require.ErrorIs(t, web.Run(t.Context(), ln), net.ErrClosed)
}

// A request addressed to another host name is refused even if its Origin matches: the name
// may resolve to this machine (DNS rebinding).
func TestRequestsForAnotherHostAreRefused(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	h.startSession(t, session.Config{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(h.URL, "ws://", "http://", 1)+"/run", nil)
	require.NoError(t, err)
	request.Host = "evil.example:8765"
	request.Header.Set("Origin", "http://evil.example:8765")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}
