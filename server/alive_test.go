package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/server"
)

// aliveViewHello is the init of a view that wants alive messages.
const aliveViewHello = `{"type":"init","session_id":1,"role":"view","alive":true}`

// awaitAlive waits for this many further alive messages.
func (s *consoleSocket) awaitAlive(t *testing.T, count int) {
	t.Helper()
	until := len(s.itemsMatching(isMessageOfType("alive"))) + count
	s.awaitItem(t, "an alive message", func(frame) bool { return len(s.itemsMatching(isMessageOfType("alive"))) >= until })
}

// A console that asks for it gets alive messages at both endpoints, at the interval that
// they name. Other consoles and the trace do not get them.
func TestAliveMessages(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{PingInterval: time.Second}).startSession(t, session.Config{})
	run := dialConsole(t, s.URL+"/run", `{"token":"`+testToken+`","notebook_id":"n","alive":true}`, nil)
	view := dialConsole(t, s.URL+"/agent", aliveViewHello, nil)
	other := dialConsole(t, s.URL+"/agent", `{"type":"init","session_id":2,"role":"view"}`, nil)
	other.awaitItem(t, "the notebook", isMessageOfType("notebook_state"))
	run.awaitAlive(t, 3)
	view.awaitAlive(t, 3)
	all, _, _ := view.snapshot()
	require.JSONEq(t, `{"type":"alive","every_ms":1000}`, all[0].String())
	require.Empty(t, other.itemsMatching(isMessageOfType("alive")))
	require.Empty(t, s.entries.itemsMatching(func(e traceEntry) bool { return e.Type == "alive" }))
}

// A console gets alive messages also while it waits for a session to start, and its own
// messages wait.
func TestAliveMessagesBeforeTheSession(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{PingInterval: time.Second})
	h.Server.PublishAttempts(server.DefaultSessionID)
	view := dialConsole(t, h.URL+"/agent", aliveViewHello, nil)
	view.send(map[string]any{"type": "notebook_action", "action": "get_context", "tx_id": "e1"})
	view.send(map[string]any{"type": "notebook_action", "action": "get_context", "tx_id": "e2"})
	view.awaitAlive(t, 3)
}
