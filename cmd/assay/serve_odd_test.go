package main

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// A session that nobody needs ends, and is there again with its notebook when
// somebody asks for it.
func TestServe_Idle(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--session-idle", "1s"}})
	c := s.view(t, "s1")
	c.cell(t, 0, "x = 1\nprint('kept')")
	c.agent.await(t, "the end of the run", ofType("cell_result"))
	shown, pid := c.shown(t), c.ready.PID
	c.breaks()
	state := func() string {
		_, session := s.get(t, "/api/sessions/s1")
		return session
	}
	eventually(t, "it goes on", func() bool { return strings.Contains(state(), `"state":"stopped"`) })
	require.Equal(t, "it was idle for 1s", s.cause(t, "s1"))

	c = s.view(t, "s1")
	require.Equal(t, "running", c.ready.Kernel)
	require.NotEqual(t, pid, c.ready.PID)
	require.Equal(t, shown, c.shown(t))
	c.do(t, "run_cell", fields{"cell_id": shown[0].ID})
	c.agent.await(t, "the end of the run", ofType("cell_result"))
	require.Equal(t, shown, c.shown(t))

	// One where something runs goes on without anybody.
	c.do(t, "edit_cell", fields{"cell_id": shown[0].ID, "source": untilFile("on my way", "go"), "auto_run": true})
	c.agent.await(t, "the run", saying("kernel_stdio", "on my way"))
	c.breaks()
	s.view(t, "s2").breaks()
	eventually(t, "the other one goes on, which is idle for less long", func() bool {
		_, session := s.get(t, "/api/sessions/s2")
		return strings.Contains(session, `"state":"stopped"`)
	})
	require.Contains(t, state(), `"state":"running"`)
	s.stop(t)
}

// Who asks for a session that cannot start is told why, and may ask again.
func TestServe_SessionThatCannotStart(t *testing.T) {
	t.Parallel()
	s := open(t, plan{})
	s.view(t, "default")
	agent := filepath.Join(s.dir, "actor.py")
	write(t, agent, "raise SystemExit('out of order')")
	for path, first := range map[string]fields{"/run": {"token": s.token}, "/agent": {"type": "init", "session_id": 1}} {
		w := s.dial(t, path+"?session=bad", nil)
		w.say(first)
		how := w.closed(t)
		require.Equal(t, websocket.StatusPolicyViolation, how.Code)
		require.Contains(t, how.Reason, "agent exited with status 1; it printed last: out of order")
	}
	_, session := s.get(t, "/api/sessions/bad")
	require.Contains(t, session, `"problem":"session \"bad\" could not start: agent exited with status 1`)
	status, _ := s.get(t, "/readyz")
	require.Equal(t, http.StatusOK, status, "the others are not concerned")
	write(t, agent, actor)
	s.view(t, "bad")
	s.stop(t)
}

// What a console says that makes no sense is answered, or ends its connection
// with a reason; kernel, agent and the other consoles go on.
func TestServe_Garbage(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--frame-limit", "1048576"}})
	c := s.view(t, "default")
	c.tell("cell = start('''" + untilFile("on my way", "go") + "''')\nhear(of_type('agent_query'))\nopen('go', 'w').close()\nassert of_run('cell_result', cell)['status'] == 'ok'")
	c.agent.await(t, "the run", saying("kernel_stdio", "on my way"))

	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	long := `{"type":"run_cell","cell_id":"x","code":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, path := range []string{"/run", "/agent"} {
		for name, first := range map[string]string{
			"no JSON": "hello", "a number": "7", "an array": "[]", "nothing": "", "deep": deep, "a type": `{"type":7}`, "no UTF-8": "{\"token\":\"\xff\"}",
		} {
			w := s.dial(t, path, nil)
			w.write(websocket.MessageText, first)
			how := w.closed(t)
			refusals := []websocket.StatusCode{websocket.StatusPolicyViolation, websocket.StatusInvalidFramePayloadData, websocket.StatusMessageTooBig}
			require.Contains(t, refusals, how.Code, "%s %s: %s", path, name, how.Reason)
			require.NotEmpty(t, how.Reason, "%s %s", path, name)
		}
	}
	for name, tc := range map[string]struct {
		kind websocket.MessageType
		text string
		code websocket.StatusCode
	}{
		"too large": {websocket.MessageText, long, websocket.StatusMessageTooBig},
		"binary":    {websocket.MessageBinary, "{}", websocket.StatusUnsupportedData},
	} {
		odd := s.view(t, "default")
		for _, w := range []*wire{odd.run, odd.agent} {
			w.write(tc.kind, tc.text)
			how := w.closed(t)
			require.Equal(t, tc.code, how.Code, "%s: %s", name, how.Reason)
			require.NotEmpty(t, how.Reason, name)
		}
	}

	odd := s.view(t, "default")
	for _, text := range []string{"hello", "[]", `{"type":7}`, `{}`, deep, `{"type":"weather_report"}`, `{"type":"run_cell"}`, `{"type":"run_cell","cell_id":7,"code":{}}`, `{"type":"run_cell","cell_id":"nowhere","code":"1"}`} {
		before := len(odd.run.all(ofType("error")))
		odd.run.write(websocket.MessageText, text)
		odd.run.awaitNth(t, before+1, "an answer to "+text[:min(len(text), 30)], ofType("error"))
	}
	for _, text := range []string{"hello", "[]", `{"type":7}`, deep, `{"type":"weather_report"}`} {
		before := len(odd.agent.all(ofType("agent_error")))
		odd.agent.write(websocket.MessageText, text)
		odd.agent.awaitNth(t, before+1, "an answer to "+text[:min(len(text), 30)], ofType("agent_error"))
	}
	for name, params := range map[string]any{"run_cell": fields{}, "create_cell": 7, "edit_cell": []int{1}, "no_such_action": nil} {
		odd.agent.say(fields{"type": "notebook_action", "action": name, "params": params, "tx_id": name})
		answer := odd.agent.await(t, "an answer to "+name, func(m message) bool { return m.TxID == name })
		require.Equal(t, "error", answer.Status, answer.body)
	}

	c.tell("pass")
	c.agent.await(t, "the end of the work", finished)
	require.Empty(t, c.agent.all(ofType("agent_error")))
	require.Empty(t, c.run.all(ofType("error")), "what another has done is nothing to this one")
	require.Equal(t, []string{"ran"}, statuses(c.shown(t)))
	status, _ := s.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)
	s.stop(t)
}

func (w *wire) write(kind websocket.MessageType, text string) {
	_ = w.ws.Write(context.Background(), kind, []byte(text))
}
