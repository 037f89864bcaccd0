//go:build bench

package bench_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"assay/internal/protocol"
)

// peerConns are the connections of a console and of the agent that it talks to through a
// server. agent is nil if the server answers itself.
type peerConns struct{ console, agent protocol.Conn }

// roundTripKind defines a kind of round trip: which peer sends requests, what they look
// like, and how the other peer answers.
type roundTripKind struct {
	name            string
	sessionCounts   []int  // numbers of sessions that are measured
	consoleHello    string // first message of the console
	agentAsks       bool   // the agent sends requests and the console answers; else the reverse
	newRequestFrame func(size int) []byte
	answerRequests  func(conn protocol.Conn) // answers requests until conn is closed
}

// roundTripKinds returns the measured conversations: queries to an agent from a holder and
// from a view, and actions of an agent on a holder.
func roundTripKinds() []roundTripKind {
	some := []int{1, 10, 100}
	return []roundTripKind{
		{name: "query, holder", sessionCounts: append(some, maxSessions), consoleHello: holderHello, newRequestFrame: newAgentQueryFrame, answerRequests: answerQueries},
		{name: "query, view", sessionCounts: some, consoleHello: viewHello, newRequestFrame: newAgentQueryFrame, answerRequests: answerQueries},
		{name: "action", sessionCounts: some, consoleHello: holderHello, agentAsks: true, newRequestFrame: newEditCellRequest, answerRequests: answerEdits},
	}
}

// newRequester returns a requester on the asking peer's connection, and has the other
// peer answer until the test ends.
func (c roundTripKind) newRequester(t *testing.T, e peerConns) *requester {
	t.Helper()
	asks, answers := e.console, e.agent
	if c.agentAsks {
		asks, answers = e.agent, e.console
	}
	runTasksUntilCleanup(t, []protocol.Conn{answers}, func() { c.answerRequests(answers) })
	return &requester{conn: asks}
}

// newRequesters returns n requesters; connect connects the peers of session 0 to n-1.
func (c roundTripKind) newRequesters(t *testing.T, n int, connect func(session int) peerConns) []*requester {
	t.Helper()
	requesters := make([]*requester, n)
	for i := range requesters {
		requesters[i] = c.newRequester(t, connect(i))
	}
	return requesters
}

// connectPeers connects a console to a live session and returns its connection and that
// of the session's agent.
func (h *liveServer) connectPeers(t *testing.T, session int, hello string) peerConns {
	t.Helper()
	return peerConns{h.connectConsole(t, session, "agent", hello), h.session(session).agent.openConn(t)}
}

// newEchoRequesters returns n requesters on WebSockets to a server that answers each
// request itself.
func (c roundTripKind) newEchoRequesters(t *testing.T, n int) []*requester {
	t.Helper()
	at := serveWebSockets(t, func(conn protocol.Conn, _ int) { c.answerRequests(conn) })
	requesters := make([]*requester, n)
	for i := range requesters {
		requesters[i] = &requester{conn: dialConsole(t, at)}
	}
	return requesters
}

// newCopyRequesters returns n requesters through a server that copies frames between each
// WebSocket and a Unix socket without decoding them.
func (c roundTripKind) newCopyRequesters(t *testing.T, n int) []*requester {
	t.Helper()
	near, far := make([]protocol.Conn, n), make([]protocol.Conn, n)
	for i := range n {
		near[i], far[i] = socketPair(t)
	}
	at := serveWebSockets(t, func(conn protocol.Conn, session int) {
		var back sync.WaitGroup
		back.Go(func() { copyFrames(near[session], conn) })
		copyFrames(conn, near[session])
		_ = near[session].Close(protocol.CloseNormal, "")
		back.Wait()
	})
	return c.newRequesters(t, n, func(i int) peerConns { return peerConns{dialConsole(t, fmt.Sprintf("%s/?session=%d", at, i)), far[i]} })
}

// newAgentQueryFrame returns an agent_query of size bytes.
func newAgentQueryFrame(size int) []byte {
	return newFilledFrame(`{"type":"agent_query","request_id":"bench","query":"`, `",`, size)
}

// answerQueries answers each agent_query on conn with an agent_status of the same size,
// until conn is closed. It ignores other frames.
func answerQueries(conn protocol.Conn) {
	var status []byte
	for {
		frame, err := conn.Read()
		switch {
		case err != nil:
			return
		case !bytes.HasPrefix(frame, []byte(`{"type":"agent_query"`)):
			continue
		case len(frame) != len(status):
			status = newFilledFrame(`{"type":"agent_status","status":"thinking","text":"`, `",`, len(frame))
		}
		copy(txIDOf(status), txIDOf(frame))
		if conn.Write(status) != nil {
			return
		}
	}
}
