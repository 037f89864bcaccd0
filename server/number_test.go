package server_test

import (
	"fmt"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/server"
)

// A console that comes again under its number takes the place of its old
// connection, which may be dead: what that still brings is not done. The number
// of another server is somebody else's.
func TestConsoleComesAgainUnderItsNumber(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	hello := func(trace string) string {
		return fmt.Sprintf(`{"token":%q,"connection_idx":1,"trace":%q}`, token, trace)
	}
	first := dial(t, s.url+"/run", runHello, nil)
	ready := first.await(t, "ready", ofType("ready")).fields(t)
	require.EqualValues(t, 1, ready["connection_idx"])
	trace, ok := ready["trace"].(string)
	require.True(t, ok)

	stranger := dial(t, s.url+"/run", hello("of another server"), nil)
	require.EqualValues(t, 2, stranger.await(t, "ready", ofType("ready")).fields(t)["connection_idx"])
	again := dial(t, s.url+"/run", hello(trace), nil)
	require.EqualValues(t, 1, again.await(t, "ready", ofType("ready")).fields(t)["connection_idx"])
	require.Equal(t, websocket.StatusCode(4001), first.closed(t).Code)
	first.say(map[string]any{"type": "run_cell", "cell_id": "late", "code": "1"})
	again.say(map[string]any{"type": "run_cell", "cell_id": "new", "code": "1"})
	s.trace.await(t, "the new run", func(e line) bool { return e.Type == "run_cell" && e.CellID == "new" })
	require.Empty(t, s.trace.all(func(e line) bool { return e.CellID == "late" }))
}
