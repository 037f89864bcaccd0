//go:build bench

package bench_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"assay/internal/protocol"
)

// ends are the two who talk through a server; without an agent the server
// answers itself.
type ends struct{ console, agent protocol.Conn }

// conversation is who asks what, and who answers it.
type conversation struct {
	name      string
	sessions  []int  // at once
	hello     string // of the console
	fromAgent bool   // the agent asks and the console answers; else the other way round
	frame     func(size int) []byte
	answer    func(conn protocol.Conn) // until conn is closed
}

func conversations() []conversation {
	some := []int{1, 10, 100}
	return []conversation{
		{name: "query, holder", sessions: append(some, mostSessions), hello: holderHello, frame: queryFrame, answer: answerQueries},
		{name: "query, view", sessions: some, hello: viewHello, frame: queryFrame, answer: answerQueries},
		{name: "action", sessions: some, hello: holderHello, fromAgent: true, frame: editFrame, answer: answerEdits},
	}
}

// line makes a line of who asks, and lets the other one answer.
func (c conversation) line(t *testing.T, e ends) *line {
	t.Helper()
	asks, answers := e.console, e.agent
	if c.fromAgent {
		asks, answers = e.agent, e.console
	}
	inBackground(t, []protocol.Conn{answers}, func() { c.answer(answers) })
	return &line{asker: asks}
}

// lines makes lines through a server.
func (c conversation) lines(t *testing.T, n int, of func(session int) ends) []*line {
	t.Helper()
	lines := make([]*line, n)
	for i := range lines {
		lines[i] = c.line(t, of(i))
	}
	return lines
}

// ends are those of a session that is live.
func (h *house) ends(t *testing.T, session int, hello string) ends {
	t.Helper()
	return ends{h.console(t, session, "agent", hello), h.session(session).agent.borrow(t)}
}

// echo is lines to a server over WebSockets that answers itself.
func (c conversation) echo(t *testing.T, n int) []*line {
	t.Helper()
	at := webSockets(t, func(conn protocol.Conn, _ int) { c.answer(conn) })
	lines := make([]*line, n)
	for i := range lines {
		lines[i] = &line{asker: dial(t, at)}
	}
	return lines
}

// copying is lines through a server that copies frames between each WebSocket
// and a Unix socket, and decodes nothing.
func (c conversation) copying(t *testing.T, n int) []*line {
	t.Helper()
	near, far := make([]protocol.Conn, n), make([]protocol.Conn, n)
	for i := range n {
		near[i], far[i] = sockets(t)
	}
	at := webSockets(t, func(conn protocol.Conn, session int) {
		var back sync.WaitGroup
		back.Go(func() { copyFrames(near[session], conn) })
		copyFrames(conn, near[session])
		_ = near[session].Close(protocol.CloseNormal, "")
		back.Wait()
	})
	return c.lines(t, n, func(i int) ends { return ends{dial(t, fmt.Sprintf("%s/?session=%d", at, i)), far[i]} })
}

// queryFrame is an agent_query of so many bytes in all.
func queryFrame(size int) []byte {
	return filled(`{"type":"agent_query","request_id":"bench","query":"`, `",`, size)
}

// answerQueries answers each query that comes in on conn, until it is closed,
// with an agent_status of its size.
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
			status = filled(`{"type":"agent_status","status":"thinking","text":"`, `",`, len(frame))
		}
		copy(txOf(status), txOf(frame))
		if conn.Write(status) != nil {
			return
		}
	}
}
