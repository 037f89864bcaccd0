package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// slowGoodbye is a connection whose close takes until it is released, as that
// of a console does that is slow to agree to it.
type slowGoodbye struct {
	protocol.Conn
	released chan struct{}
}

func (c slowGoodbye) Close(code protocol.CloseCode, reason string) error {
	<-c.released
	return c.Conn.Close(code, reason)
}

// What is asked while a holder's connection ends waits for its return.
func TestActionWhileTheHolderGoes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.join("agent")
	ours, theirs := protocol.Pipe()
	going := slowGoodbye{Conn: ours, released: make(chan struct{})}
	old, err := s.router.AttachHolder(going, 1, "1", 0)
	require.NoError(t, err)
	old.Disconnect(protocol.CloseNormal, "it goes")
	agent := s.peers["agent"].conn
	require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_1"}`)))
	require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"no_such_action","params":{},"tx_id":"tx_2"}`)))
	_, err = agent.Read() // the router has both
	require.NoError(t, err)
	close(going.released)
	<-old.Done()
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))

	s.join("holder")
	require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_3"}`)))
	body, err := s.peers["holder"].conn.Read()
	require.NoError(t, err)
	require.Contains(t, string(body), `"tx_id":"tx_1"`)
	s.leave()
}
