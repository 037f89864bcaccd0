package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// jsonObject are those of a message.
type jsonObject = map[string]any

// message is what a console is sent: what tests look at most, and its text.
type message struct {
	Type       string          `json:"type"`
	Seq        int64           `json:"seq"`
	Action     string          `json:"action"`
	Params     json.RawMessage `json:"params"`
	TxID       string          `json:"tx_id"`
	CellID     string          `json:"cell_id"`
	Status     string          `json:"status"`
	Error      string          `json:"error"`
	Connection int             `json:"connection_idx"`
	Owner      bool            `json:"session_owner"`
	Kernel     string          `json:"kernel_status"`
	PID        int             `json:"kernel_pid"`
	Text       string          `json:"text"`
	Data       json.RawMessage `json:"data"`
	Hop        string          `json:"hop"` // of an entry of a trace

	body string
}

func (m message) String() string { return m.body }

func hasType(kind string) func(message) bool { return func(m message) bool { return m.Type == kind } }

// isForCell matches a message of the run of a cell.
func isForCell(kind, cell string) func(message) bool {
	return func(m message) bool { return m.Type == kind && m.CellID == cell }
}

// contains matches a message of a type that has a text in it.
func contains(kind, text string) func(message) bool {
	return func(m message) bool { return m.Type == kind && strings.Contains(m.body, text) }
}

// wsConn is a console's connection: what has come on it, and why it ended.
type wsConn struct {
	*inbox[message]
	ws *websocket.Conn
}

// dial connects to a path of the station. Messages are heard before they can be
// waited for.
func (s *serveProcess) dial(t *testing.T, path string, heard func(*wsConn, message), header ...string) *wsConn {
	t.Helper()
	options := &websocket.DialOptions{HTTPHeader: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		options.HTTPHeader.Set(header[i], header[i+1])
	}
	ws, _, err := websocket.Dial(t.Context(), s.url+path, options) //nolint:bodyclose // of a connection that was upgraded
	require.NoError(t, err)
	ws.SetReadLimit(-1)
	w := &wsConn{inbox: newInbox[message](), ws: ws}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		w.fill(func() (message, error) {
			_, body, err := ws.Read(context.Background())
			if err != nil {
				return message{}, err
			}
			m := message{body: string(body)}
			if err := json.Unmarshal(body, &m); err != nil {
				return m, err
			}
			if heard != nil {
				heard(w, m)
			}
			return m, nil
		})
	}()
	t.Cleanup(func() {
		_ = ws.CloseNow()
		<-reading
	})
	return w
}

// send sends a message. What a closed connection does not take is missed by who
// waits for it.
func (w *wsConn) send(m jsonObject) {
	if body, err := json.Marshal(m); err == nil {
		_ = w.ws.Write(context.Background(), websocket.MessageText, body)
	}
}

// disconnect ends the connection without a word.
func (w *wsConn) disconnect() { _ = w.ws.CloseNow() }

// awaitClose waits until the server has closed the connection, and returns how.
func (w *wsConn) awaitClose(t *testing.T) websocket.CloseError {
	t.Helper()
	var how websocket.CloseError
	require.ErrorAs(t, w.awaitError(t), &how)
	return how
}

// console is a console with its two connections.
type console struct {
	run, agent *wsConn
	ready      message // the first one
}

// consoleOptions says who comes to a session.
type consoleOptions struct {
	session         string // default: default
	role            string // default: view
	name            string // default: nobody who was here before
	connectionIndex int    // that it has had at /run; 0: it is new
	onMessage       func(*wsConn, message)
}

// connect connects a console.
func (s *serveProcess) connect(t *testing.T, w consoleOptions) *console {
	t.Helper()
	c := s.connectRun(t, w)
	if w.role == "" {
		w.role = "view"
	}
	if w.name == "" {
		w.name = uuid.NewString()
	}
	c.agent = s.dial(t, "/agent?session="+w.session, w.onMessage)
	c.agent.send(jsonObject{"type": "init", "session_id": w.name, "role": w.role, "token": s.token, "connection_idx": c.ready.Connection})
	return c
}

// connectRun connects a console to /run only.
func (s *serveProcess) connectRun(t *testing.T, w consoleOptions) *console {
	t.Helper()
	c := &console{run: s.dial(t, "/run?session="+w.session, nil)}
	c.run.send(jsonObject{"token": s.token, "notebook_id": "n", "connection_idx": w.connectionIndex})
	c.ready = c.run.await(t, "ready", hasType("ready"))
	return c
}

// connectView connects a console that shows the notebook, and waits until it does.
func (s *serveProcess) connectView(t *testing.T, session string) *console {
	t.Helper()
	c := s.connect(t, consoleOptions{session: session})
	c.awaitNotebook(t)
	return c
}

// awaitNotebook waits for the first notebook_state.
func (c *console) awaitNotebook(t *testing.T) {
	t.Helper()
	c.agent.await(t, "the notebook", hasType("notebook_state"))
}

// doAction does something in the notebook, and waits for the answer.
func (c *console) doAction(t *testing.T, action string, params jsonObject) message {
	t.Helper()
	tx := uuid.NewString()
	c.agent.send(jsonObject{"type": "notebook_action", "action": action, "params": params, "tx_id": tx})
	return c.agent.await(t, "the answer to "+action, func(m message) bool { return m.TxID == tx })
}

// runNewCell appends a cell and has it run.
func (c *console) runNewCell(t *testing.T, position int, source string) string {
	t.Helper()
	made := c.doAction(t, "create_cell", jsonObject{"position": position, "cell_type": "code", "source": source, "auto_run": true})
	require.Equal(t, "success", made.Status, made.body)
	return made.CellID
}

// queryAgent makes the actor do something.
func (c *console) queryAgent(python string) {
	c.agent.send(jsonObject{"type": "agent_query", "query": agentQuery(python), "request_id": uuid.NewString()})
}

// disconnect ends both connections without a word.
func (c *console) disconnect() {
	c.run.disconnect()
	c.agent.disconnect()
}

// isAgentDone matches what the actor says when it has done what it was told.
func isAgentDone(m message) bool { return m.Type == "agent_event" && m.Text == "done" }
