package server_test

import (
	"fmt"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/server"
)

// A console that reconnects at /run with its number replaces its old connection, whose
// later messages are ignored. With the trace of another server it gets a new number.
func TestConsoleReconnectsWithItsNumber(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	helloWith := func(trace string) string {
		return fmt.Sprintf(`{"token":%q,"connection_idx":1,"trace":%q}`, testToken, trace)
	}
	first := dialConsole(t, s.URL+"/run", runHello, nil)
	ready := first.awaitItem(t, "ready", isMessageOfType("ready")).fields(t)
	require.EqualValues(t, 1, ready["connection_idx"])
	trace, ok := ready["trace"].(string)
	require.True(t, ok)

	other := dialConsole(t, s.URL+"/run", helloWith("of another server"), nil)
	require.EqualValues(t, 2, other.awaitItem(t, "ready", isMessageOfType("ready")).fields(t)["connection_idx"])
	again := dialConsole(t, s.URL+"/run", helloWith(trace), nil)
	require.EqualValues(t, 1, again.awaitItem(t, "ready", isMessageOfType("ready")).fields(t)["connection_idx"])
	require.Equal(t, websocket.StatusCode(4001), first.awaitClose(t).Code)
	first.send(map[string]any{"type": "run_cell", "cell_id": "late", "code": "1"})
	again.send(map[string]any{"type": "run_cell", "cell_id": "new", "code": "1"})
	s.entries.awaitItem(t, "the new run", func(e traceEntry) bool { return e.Type == "run_cell" && e.CellID == "new" })
	require.Empty(t, s.entries.itemsMatching(func(e traceEntry) bool { return e.CellID == "late" }))
}
