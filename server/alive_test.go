package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/server"
)

const wantsAlive = `{"type":"init","session_id":1,"role":"view","alive":true}`

// awaitAlive waits for so many signs of life more.
func (s *socket) awaitAlive(t *testing.T, more int) {
	t.Helper()
	until := len(s.all(ofType("alive"))) + more
	s.await(t, "a sign of life", func(frame) bool { return len(s.all(ofType("alive"))) >= until })
}

// A page of a browser sees no ping: it is told that the connection is there, at
// both endpoints and as often as it was promised, if it wants to be; nobody else
// is, and the trace has none of it.
func TestConsoleIsToldThatItsConnectionIsAlive(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{PingInterval: time.Second}).play(t, session.Config{})
	run := dial(t, s.url+"/run", `{"token":"`+token+`","notebook_id":"n","alive":true}`, nil)
	view := dial(t, s.url+"/agent", wantsAlive, nil)
	other := dial(t, s.url+"/agent", `{"type":"init","session_id":2,"role":"view"}`, nil)
	other.await(t, "the notebook", ofType("notebook_state"))
	run.awaitAlive(t, 3)
	view.awaitAlive(t, 3)
	all, _, _ := view.state()
	require.JSONEq(t, `{"type":"alive","every_ms":1000}`, all[0].String())
	require.Empty(t, other.all(ofType("alive")))
	require.Empty(t, s.trace.all(func(e line) bool { return e.Type == "alive" }))
}

// Also where nobody takes what the console says: the session is still starting.
func TestConsoleThatWaitsForASessionIsToldThatItsConnectionIsAlive(t *testing.T) {
	t.Parallel()
	house := newHouse(t, server.Config{PingInterval: time.Second})
	house.web.PublishAttempts(server.DefaultSessionID)
	view := dial(t, house.url+"/agent", wantsAlive, nil)
	view.say(map[string]any{"type": "notebook_action", "action": "get_context", "tx_id": "e1"})
	view.say(map[string]any{"type": "notebook_action", "action": "get_context", "tx_id": "e2"})
	view.awaitAlive(t, 3)
}
