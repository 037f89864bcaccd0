package server_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/server/servertest"
)

// The first messages of a console.
const (
	runHello   = `{"token":"` + testToken + `","notebook_id":"n"}`
	agentHello = `{"type":"init","session_id":1,"notebook_id":"n"}`
	viewHello  = `{"type":"init","role":"view"}`
)

// consoleSocket is a WebSocket of a console. The inbox has what the server sends.
type consoleSocket struct {
	*inbox[frame]
	ws *websocket.Conn
}

// dialConsole connects to an endpoint and sends the first message. onFrame, if not nil,
// is called with each message of the server.
func dialConsole(t *testing.T, url, hello string, onFrame func(*consoleSocket, frame)) *consoleSocket {
	t.Helper()
	ws, response, err := websocket.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	require.Equal(t, 101, response.StatusCode)
	ws.SetReadLimit(-1)
	s := &consoleSocket{inbox: newInbox[frame](), ws: ws}
	var reading sync.WaitGroup
	next := newFrameReader(func() ([]byte, error) {
		_, body, err := ws.Read(context.Background())
		return body, err
	})
	reading.Go(func() {
		s.readFrom(func() (frame, error) {
			f, err := next()
			if err == nil && onFrame != nil {
				onFrame(s, f)
			}
			return f, err
		})
	})
	t.Cleanup(func() {
		_ = ws.CloseNow()
		reading.Wait()
	})
	s.writeText(hello)
	return s
}

// writeText sends a message. It ignores errors: the test misses the message's effect.
func (s *consoleSocket) writeText(text string) {
	_ = s.ws.Write(context.Background(), websocket.MessageText, []byte(text))
}

// send sends a message as JSON.
func (s *consoleSocket) send(message any) {
	if body, err := json.Marshal(message); err == nil {
		s.writeText(string(body))
	}
}

// awaitClose waits until the server closes the connection, and returns the code and
// reason.
func (s *consoleSocket) awaitClose(t *testing.T) websocket.CloseError {
	t.Helper()
	var closed websocket.CloseError
	err := s.awaitEnd(t)
	require.ErrorAs(t, err, &closed)
	return closed
}

// fakeHolder is a console that holds the notebook: it answers every action at /agent
// from its own notebook, and runs the cells at /run.
type fakeHolder struct {
	agent, run *consoleSocket
	notebook   *servertest.Notebook
}

// newFakeHolder connects a holder whose notebook has one cell, "first".
func newFakeHolder(t *testing.T, url string) *fakeHolder {
	t.Helper()
	h := &fakeHolder{notebook: servertest.NewNotebook()}
	h.run = dialConsole(t, url+"/run", runHello, nil)
	h.run.awaitItem(t, "ready", isMessageOfType("ready"))
	h.agent = dialConsole(t, url+"/agent", agentHello, h.answerAction)
	return h
}

// answerAction answers an action, and then sends the kernel what the action requires.
func (h *fakeHolder) answerAction(s *consoleSocket, f frame) {
	if f.Type != "agent_action" {
		return
	}
	answer, toKernel, err := h.notebook.PerformAction(f.Action, f.Params)
	if err != nil {
		answer = params{"error": err.Error(), "status": "error"}
	} else {
		answer["status"] = "success"
	}
	answer["type"], answer["tx_id"] = "agent_action_response", f.TxID
	s.send(answer)
	if toKernel != nil {
		h.run.send(toKernel)
	}
}
