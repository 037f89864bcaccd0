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

// jsonObject is a message or a part of one.
type jsonObject = map[string]any

// consoleMessage is a message from the server to a console: the fields that several tests read.
type consoleMessage struct {
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
	Hop        string          `json:"hop"` // set in trace records only

	body string // the whole message
}

func (m consoleMessage) String() string { return m.body }

// hasType returns a function that matches messages of a type.
func hasType(kind string) func(consoleMessage) bool {
	return func(m consoleMessage) bool { return m.Type == kind }
}

// hasTypeAndCell returns a function that matches messages of a type that name the cell.
func hasTypeAndCell(kind, cell string) func(consoleMessage) bool {
	return func(m consoleMessage) bool { return m.Type == kind && m.CellID == cell }
}

// hasTypeAndText returns a function that matches messages of a type whose JSON contains text.
func hasTypeAndText(kind, text string) func(consoleMessage) bool {
	return func(m consoleMessage) bool { return m.Type == kind && strings.Contains(m.body, text) }
}

// wsConn is a WebSocket connection of a console. Its inbox has the messages received and the
// error that ended the connection.
type wsConn struct {
	*inbox[consoleMessage]
	ws *websocket.Conn
}

// dial connects to a path of the server. onMessage, unless nil, is called with each message
// before tests can await it. header is names and values in turn.
func (s *serveProcess) dial(t *testing.T, path string, onMessage func(*wsConn, consoleMessage), header ...string) *wsConn {
	t.Helper()
	options := &websocket.DialOptions{HTTPHeader: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		options.HTTPHeader.Set(header[i], header[i+1])
	}
	ws, _, err := websocket.Dial(t.Context(), s.url+path, options) //nolint:bodyclose // an upgraded connection has no body
	require.NoError(t, err)
	ws.SetReadLimit(-1)
	w := &wsConn{inbox: newInbox[consoleMessage](), ws: ws}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		w.readItemsFrom(func() (consoleMessage, error) {
			_, body, err := ws.Read(context.Background())
			if err != nil {
				return consoleMessage{}, err
			}
			m := consoleMessage{body: string(body)}
			if err := json.Unmarshal(body, &m); err != nil {
				return m, err
			}
			if onMessage != nil {
				onMessage(w, m)
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

// send sends a message. It ignores errors: the test that awaits an answer fails then.
func (w *wsConn) send(m jsonObject) {
	if body, err := json.Marshal(m); err == nil {
		_ = w.ws.Write(context.Background(), websocket.MessageText, body)
	}
}

// disconnect closes the TCP connection without a close frame.
func (w *wsConn) disconnect() { _ = w.ws.CloseNow() }

// awaitClose waits until the server has closed the connection and returns the close frame.
func (w *wsConn) awaitClose(t *testing.T) websocket.CloseError {
	t.Helper()
	var closeError websocket.CloseError
	require.ErrorAs(t, w.awaitError(t), &closeError)
	return closeError
}

// console is a console with its connections to /run and /agent. agent is nil for a console
// that is only at /run.
type console struct {
	run, agent *wsConn
	ready      consoleMessage // the first message at /run
}

// consoleOptions is how a console connects to a session.
type consoleOptions struct {
	session         string // default: default
	role            string // holder or view; default: view
	name            string // session_id in init; default: a new one
	connectionIndex int    // connection_idx of an earlier connection to /run; 0: a new console
	onMessage       func(*wsConn, consoleMessage)
}

// connect connects a console to /run and /agent. The server answers at /agent later.
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

// connectRun connects a console to /run only and waits for ready.
func (s *serveProcess) connectRun(t *testing.T, w consoleOptions) *console {
	t.Helper()
	c := &console{run: s.dial(t, "/run?session="+w.session, nil)}
	c.run.send(jsonObject{"token": s.token, "notebook_id": "n", "connection_idx": w.connectionIndex})
	c.ready = c.run.awaitItem(t, "ready", hasType("ready"))
	return c
}

// connectView connects a console with the role view and waits for its notebook_state.
func (s *serveProcess) connectView(t *testing.T, session string) *console {
	t.Helper()
	c := s.connect(t, consoleOptions{session: session})
	c.awaitNotebook(t)
	return c
}

// awaitNotebook waits for the first notebook_state.
func (c *console) awaitNotebook(t *testing.T) {
	t.Helper()
	c.agent.awaitItem(t, "the notebook", hasType("notebook_state"))
}

// doAction sends a notebook_action and returns the response.
func (c *console) doAction(t *testing.T, action string, params jsonObject) consoleMessage {
	t.Helper()
	tx := uuid.NewString()
	c.agent.send(jsonObject{"type": "notebook_action", "action": action, "params": params, "tx_id": tx})
	return c.agent.awaitItem(t, "the answer to "+action, func(m consoleMessage) bool { return m.TxID == tx })
}

// runNewCell creates a code cell at position, starts it, and returns its id.
func (c *console) runNewCell(t *testing.T, position int, source string) string {
	t.Helper()
	made := c.doAction(t, "create_cell", jsonObject{"position": position, "cell_type": "code", "source": source, "auto_run": true})
	require.Equal(t, "success", made.Status, made.body)
	return made.CellID
}

// queryAgent makes the scripted agent execute python.
func (c *console) queryAgent(python string) {
	c.agent.send(jsonObject{"type": "agent_query", "query": queryThatExecutes(python), "request_id": uuid.NewString()})
}

// disconnect closes both TCP connections without a close frame.
func (c *console) disconnect() {
	c.run.disconnect()
	c.agent.disconnect()
}

// isAgentDone matches the event by which the scripted agent reports that it has executed a query.
func isAgentDone(m consoleMessage) bool { return m.Type == "agent_event" && m.Text == "done" }
