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
	"assay/router"
	"assay/server"
)

func TestServerNeedsAToken(t *testing.T) {
	t.Parallel()
	_, err := server.New(server.Config{})
	require.ErrorContains(t, err, "--token")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{MaxFrameBytes: 64 << 10})
	h.play(t, session.Config{})
	for name, tc := range map[string]struct {
		path, first string
		code        websocket.StatusCode
		reason      string
	}{
		"wrong token":       {"/run", `{"token":"guess"}`, 1008, "wrong token"},
		"no token":          {"/run", `{}`, 1008, "wrong token"},
		"no JSON at /run":   {"/run", `hello`, 1008, "cannot parse the first message: invalid character 'h' looking for beginning of value"},
		"no JSON at /agent": {"/agent", `{"type":"init"`, 1008, "cannot parse the first message: unexpected end of JSON input"},
		"no object":         {"/agent", `[1]`, 1008, "cannot parse the first message: json: cannot unmarshal array"},
		"unknown session":   {"/run?session=other", runHello, 1008, `there is no session "other"`},
		"unknown, at agent": {"/agent?session=other", agentHello, 1008, `there is no session "other"`},
		"no init":           {"/agent", `{"type":"agent_query","query":"go"}`, 1008, `the first message must be init, not "agent_query"`},
		"a long role":       {"/agent", `{"type":"init","session_id":1,"role":"` + strings.Repeat("é", 100) + `"}`, 1008, "unknown role \"éé"},
		"too large":         {"/run", `{"token":"` + strings.Repeat("x", 64<<10) + `"}`, 1009, "read limited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how := dial(t, h.url+tc.path, tc.first, nil).closed(t)
			require.Equal(t, tc.code, how.Code)
			require.True(t, strings.HasPrefix(how.Reason, tc.reason), how.Reason)
			require.True(t, utf8.ValidString(how.Reason), "%q", how.Reason)
		})
	}
}

// A console that was refused leaves the notebook to the next one.
func TestRefusedConsoleSettlesNothing(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	refused := dial(t, s.url+"/agent", `{"type":"init","session_id":7,"role":"guest"}`, nil).closed(t)
	require.Equal(t, websocket.StatusPolicyViolation, refused.Code)
	newHolder(t, s.url)
	require.Equal(t, "success", s.agent.do(t, "get_context", nil).Status)
}

// A token of one's own is wanted at both endpoints, wherever it stands.
func TestOwnToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{Token: "secret"})
	s := h.play(t, session.Config{})
	for path, first := range map[string]string{
		"/run":                      runHello, // the public one
		"/agent":                    agentHello,
		"/agent?token=wrong":        agentHello,
		"/agent?token=secret&a=all": `{"type":"init","token":"wrong"}`,
	} {
		how := dial(t, h.url+path, first, nil).closed(t)
		require.Equal(t, websocket.StatusPolicyViolation, how.Code, path)
		require.Equal(t, "wrong token", how.Reason, path)
	}
	dial(t, h.url+"/run", `{"token":"secret"}`, nil).await(t, "ready", ofType("ready"))
	dial(t, h.url+"/agent", `{"type":"init","session_id":1,"token":"secret"}`, nil)
	s.awaitHolder(t, 1)
	dial(t, h.url+"/agent?token=secret", agentHello, nil)
	s.awaitHolder(t, 2)
	ws, response, err := websocket.Dial(t.Context(), h.url+"/agent", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer secret"}},
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(agentHello)))
	s.awaitHolder(t, 3)
	require.NoError(t, ws.CloseNow())
}

func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	h.play(t, session.Config{})
	_, response, err := websocket.Dial(t.Context(), h.url+"/run", &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"http://elsewhere.example"}},
	})
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}

// Another console may not hold the notebook; the same one, which has
// connected again, takes its own place.
func TestOneHolder(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	first := dial(t, s.url+"/agent", agentHello, nil)
	s.awaitHolder(t, 1)
	other := dial(t, s.url+"/agent", `{"type":"init","session_id":2}`, nil).closed(t)
	require.Equal(t, websocket.StatusCode(4009), other.Code)
	require.Equal(t, session.ErrHeldByOtherConsole.Error(), other.Reason)

	h := newHolder(t, s.url)
	how := first.closed(t)
	require.Equal(t, websocket.StatusCode(4001), how.Code)
	require.Equal(t, "the same console has connected again", how.Reason)
	require.Equal(t, "success", s.agent.do(t, "get_context", nil).Status)
	h.agent.await(t, "the action", ofType("agent_action"))
	require.Empty(t, first.all(ofType("agent_action")))

	require.NoError(t, h.agent.ws.CloseNow())
	s.awaitGone(t, 4)
	gone := dial(t, s.url+"/agent", `{"type":"init","session_id":"2"}`, nil).closed(t)
	require.Equal(t, websocket.StatusCode(4009), gone.Code, "also while it is away")
}

// awaitGone waits until the console of this number has left the session.
func (s *stage) awaitGone(t *testing.T, conn int) {
	t.Helper()
	s.trace.await(t, "the console's end", func(e line) bool { return e.Type == router.TypePeerEnded && e.ConsoleID == conn })
}

// A holder goes away and returns within the deadline of an action: what was
// asked meanwhile waits for it.
func TestHolderReturns(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	h := newHolder(t, s.url)
	require.NoError(t, h.agent.ws.Close(websocket.StatusNormalClosure, "the tab is closed"))
	s.awaitGone(t, 2)
	asked := []string{s.agent.ask("get_context", nil), s.agent.ask("delete_cell", params{"cell_id": "first"}), s.agent.ask("get_context", nil)}
	require.Equal(t, "error", s.agent.do(t, "no_such_action", nil).Status) // the router has them now
	h.agent = dial(t, s.url+"/agent", agentHello, h.answer)
	for i, cells := range []string{`"cell_count":1`, `"remaining_cells":[]`, `"cell_count":0`} {
		answer := s.agent.await(t, "an answer", answerTo(asked[i]))
		require.Contains(t, answer.String(), cells, "in the order in which they were asked")
	}
}

// An action that was written to a holder before it went away is not sent again,
// and may still be answered when it is back.
func TestHolderAnswersAfterReturn(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	before := dial(t, s.url+"/agent", agentHello, nil)
	tx := s.agent.ask("get_context", nil)
	before.await(t, "the action", ofType("agent_action"))
	require.NoError(t, before.ws.CloseNow())
	s.awaitGone(t, 1)
	after := dial(t, s.url+"/agent", agentHello, nil)
	s.awaitHolder(t, 2)
	second := s.agent.ask("get_context", nil)
	after.await(t, "the second action", func(f frame) bool { return f.TxID == second })
	require.Len(t, after.all(ofType("agent_action")), 1, "the first one was written once")
	after.write(`{"type":"agent_action_response","tx_id":"` + tx + `","status":"success","context":{"cells":[],"mark":"after"}}`)
	require.Contains(t, s.agent.await(t, "the answer", answerTo(tx)).String(), "after")
}

// What is no text frame, or over the limit, ends the console that sent it and
// nothing else.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	s := newHouse(t, server.Config{MaxFrameBytes: limit}).play(t, session.Config{})
	h := newHolder(t, s.url)
	for name, tc := range map[string]struct {
		kind  websocket.MessageType
		bytes int
		code  websocket.StatusCode
	}{
		"binary":         {websocket.MessageBinary, 2, websocket.StatusUnsupportedData},
		"over the limit": {websocket.MessageText, limit + 1, websocket.StatusMessageTooBig},
	} {
		console := dial(t, s.url+"/run", runHello, nil)
		console.await(t, name, ofType("ready"))
		require.NoError(t, console.ws.Write(t.Context(), tc.kind, bytes.Repeat([]byte("{"), tc.bytes)))
		require.Equal(t, tc.code, console.closed(t).Code, name)
	}
	h.run.write("no JSON") // it is told, and stays
	h.run.say(params{"type": "no_such_type"})
	for _, told := range []string{"malformed message", `unknown message type \"no_such_type\"`} {
		h.run.await(t, told, func(f frame) bool { return f.Type == "error" && strings.Contains(f.String(), told) })
	}
	require.Equal(t, "success", s.agent.do(t, "get_context", nil).Status)
	s.trace.await(t, "a note of it", func(e line) bool { return e.Hop == trace.ConsoleToServer && e.Note == trace.NoteMalformed })
}

// The kernel is killed while a cell runs: the consoles are told, and an action
// that waits for it ends at once with a text that says how it died.
func TestKernelKilled(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: h.python(t)})
	console := newHolder(t, s.url)
	s.agent.do(t, "edit_cell", params{
		"cell_id": "first", "auto_run": true,
		"source": "print('last words')\nwhile True: pass",
	})
	console.run.await(t, "the cell's output", func(f frame) bool { return strings.Contains(f.String(), "last words") })
	tx := s.agent.ask("execute_code", params{"code": "1"})
	s.agent.do(t, "request_globals_summary", nil) // the kernel has read both
	killed := time.Now()
	kill(t, s.live.KernelPID())

	answer := s.agent.await(t, "the end of the action", answerTo(tx))
	require.Less(t, time.Since(killed), atOnce)
	require.Equal(t, "error", answer.Status)
	require.Equal(t, "the kernel has ended: kernel was killed by SIGKILL; it printed last: last words", answer.Error)
	news := console.run.await(t, "the news", ofType("managed_process_exit"))
	require.JSONEq(t, `{"type":"managed_process_exit","name":"kernel","exit_code":-1,"signal":"SIGKILL"}`, news.String())

	refused := s.agent.do(t, "request_globals_summary", nil)
	require.Contains(t, refused.Error, "the kernel has ended: kernel was killed by SIGKILL", "from now on too")
	require.Equal(t, "success", s.agent.do(t, "get_context", nil).Status, "the notebook is still there")
	late := dial(t, s.url+"/run", runHello, nil).await(t, "ready", ofType("ready")).fields(t)
	require.Equal(t, "dead", late["kernel_status"])
	require.Equal(t, map[string]any{"first": "error"}, late["cell_status"])
	require.NoError(t, s.live.End(context.Background(), "over"))
}

// A console that comes late is told the state so far, and from there on what
// happens.
func TestLateConsole(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: h.python(t)})
	newHolder(t, s.url)
	s.agent.do(t, "edit_cell", params{"cell_id": "first", "source": "print('hello')\n6 * 7", "auto_run": true})
	s.agent.result(t, "first")
	late := dial(t, s.url+"/run", runHello, nil)
	ready := late.await(t, "ready", ofType("ready")).fields(t)
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

	late.say(params{"type": "run_cell", "cell_id": "mine", "code": "print('from the late one')"})
	late.await(t, "its own run", func(f frame) bool { return f.Type == "cell_result" && f.CellID == "mine" })
	require.Equal(t, "from the late one\n", s.agent.result(t, "mine").Logs)
	require.Equal(t, "ready", late.all(func(frame) bool { return true })[0].Type, "ready comes first")
}

// What a console asks the kernel is answered to that console, with its own id.
func TestConsoleAsksTheKernel(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: h.python(t)})
	one := dial(t, s.url+"/run", runHello, nil)
	other := dial(t, s.url+"/run", runHello, nil)
	one.say(params{"type": "execute_code", "code": "6 * 7", "agent_tx_id": "mine"})
	answer := one.await(t, "its answer", ofType("execute_code_response"))
	require.Equal(t, "mine", answer.AgentTxID)
	require.Contains(t, answer.String(), `"result":"42"`)
	one.say(params{"type": "globals_summary"})
	require.Empty(t, one.await(t, "its summary", ofType("globals_summary")).AgentTxID)
	other.say(params{"type": "debug_state"})
	other.await(t, "its own answer", ofType("debug_state"))
	require.Empty(t, other.all(ofType("execute_code_response")))
}

// The end of a session and that of the server are told to the consoles.
func TestConsolesAreToldOfTheEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end    func(*stage) error
		reason string
	}{
		"the session": {func(s *stage) error {
			err := s.live.End(context.Background(), "the work is done")
			s.show.Close()
			return err
		}, "the session has ended"},
		"the server": {func(s *stage) error { s.stop(); return nil }, "the server is stopping: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newHouse(t, server.Config{}).play(t, session.Config{})
			h := newHolder(t, s.url)
			s.awaitHolder(t, 1)
			require.NoError(t, tc.end(s))
			for _, console := range []*socket{h.run, h.agent} {
				how := console.closed(t)
				require.Equal(t, websocket.StatusGoingAway, how.Code)
				require.Equal(t, tc.reason, how.Reason)
			}
		})
	}
}

// A console that has stopped reading holds up the end of a session for the time
// of a goodbye, and no longer.
func TestDeafConsoleAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	deaf, response, err := websocket.Dial(t.Context(), s.url+"/agent", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.NoError(t, deaf.Write(t.Context(), websocket.MessageText, []byte(agentHello)))
	s.awaitHolder(t, 1)
	began := time.Now()
	require.NoError(t, s.live.End(t.Context(), "over"))
	require.Less(t, time.Since(began), 4*time.Second)
	require.NoError(t, deaf.CloseNow())
}

// When nobody listens any more, that is an error of Run.
func TestListenerFails(t *testing.T) {
	t.Parallel()
	web, err := server.New(server.Config{Token: token})
	require.NoError(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	require.ErrorIs(t, web.Run(t.Context(), ln), net.ErrClosed)
}

// A page of another site, whose name was made to lead to this machine, gets
// nothing although Origin and Host agree.
func TestRequestsForAnotherHostAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	h.play(t, session.Config{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(h.url, "ws://", "http://", 1)+"/run", nil)
	require.NoError(t, err)
	request.Host = "evil.example:8765"
	request.Header.Set("Origin", "http://evil.example:8765")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}
