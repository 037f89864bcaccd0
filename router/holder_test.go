package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/router"
)

// slowClosingConn is a connection whose Close blocks until the channel released is closed, like
// the closing handshake with a slow console.
type slowClosingConn struct {
	protocol.Conn
	released chan struct{}
}

func (c slowClosingConn) Close(code protocol.CloseCode, reason string) error {
	<-c.released
	return c.Conn.Close(code, reason)
}

// An action sent while the holder's connection is closing is kept and sent to the holder when
// it connects again.
func TestActionForEndingHolderWaitsForItsReturn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.attachUnreadPeer("agent")
	ours, theirs := protocol.Pipe()
	going := slowClosingConn{Conn: ours, released: make(chan struct{})}
	old, err := h.router.AttachHolder(going, 1, "1", 0)
	require.NoError(t, err)
	old.Disconnect(protocol.CloseNormal, "it goes")
	agent := h.peers["agent"].conn
	require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_1"}`)))
	require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"no_such_action","params":{},"tx_id":"tx_2"}`)))
	_, err = agent.Read() // the router has both
	require.NoError(t, err)
	close(going.released)
	<-old.Done()
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))

	h.attachUnreadPeer("holder")
	require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_3"}`)))
	body, err := h.peers["holder"].conn.Read()
	require.NoError(t, err)
	require.Contains(t, string(body), `"tx_id":"tx_1"`)
	h.closePeersAndRouter()
}

// A frame of the agent is noted in the trace as dropped if no console is there to receive it,
// or if it is left out for a slow console. The note names the entry that has the frame's body.
func TestFramesWithoutReadingHolderAreNotedAsDropped(t *testing.T) {
	t.Parallel()
	const (
		status = `{"type":"agent_status","status":"thinking"}`
		delta  = `{"type":"agent_stream_delta","block_index":0,"delta":"x"}`
		usage  = `{"type":"agent_usage_update"}`
	)
	t.Run("no holder yet", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t)
			h.attachListeningPeer("agent")
			h.sendFromPeer("agent", status)
			h.sendFromPeer("agent", delta)
			synctest.Wait()
			require.Equal(t, "    1 agent>server agent_status\n    2 server>console agent_status dropped =1\n"+
				"    3 agent>server agent_stream_delta\n    4 server>console agent_stream_delta dropped =3\n", h.takeMessagesAndEntries())
			h.closePeersAndRouter()
			h.goroutines.Wait()
		})
	})
	t.Run("ending holder", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.attachListeningPeer("agent")
		ours, theirs := protocol.Pipe()
		ending := slowClosingConn{Conn: ours, released: make(chan struct{})}
		holder, err := h.router.AttachHolder(ending, 1, "1", 0)
		require.NoError(t, err)
		holder.Disconnect(protocol.CloseNormal, "it goes")
		h.sendFromPeer("agent", status)
		h.sendFromPeer("agent", "nothing") // the router reads it when it has routed the status
		require.Contains(t, h.takeMessagesAndEntries(), "    3 server>console agent_status dropped =2\n")
		close(ending.released)
		require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
	t.Run("slow holder", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t)
			h.attachListeningPeer("agent")
			h.attachUnreadPeer("holder")
			for range router.MaxQueueFrames/2 + 2 {
				h.sendFromPeer("agent", usage)
			}
			synctest.Wait()
			require.NotContains(t, h.takeMessagesAndEntries(), "dropped")
			h.sendFromPeer("agent", delta)
			h.sendFromPeer("agent", status)
			synctest.Wait()
			require.Regexp(t, `^    (\d+) agent>server agent_stream_delta
    \d+ server>console agent_stream_delta dropped =\d+
    (\d+) agent>server agent_status
    \d+ server>console agent_status =\d+
$`, h.takeMessagesAndEntries())
			h.closePeersAndRouter()
			h.goroutines.Wait()
		})
	})
	t.Run("server holds the document", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t)
			h.attachListeningPeer("agent")
			h.attachListeningPeer("document")
			h.sendFromPeer("agent", status)
			h.sendFromPeer("agent", delta)
			synctest.Wait()
			require.NotContains(t, h.takeMessagesAndEntries(), "dropped", "nothing is meant for a console")
			h.closePeersAndRouter()
			h.goroutines.Wait()
		})
	})
}
