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

// fields are those of a message.
type fields = map[string]any

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

func ofType(kind string) func(message) bool { return func(m message) bool { return m.Type == kind } }

// ofCell matches a message of the run of a cell.
func ofCell(kind, cell string) func(message) bool {
	return func(m message) bool { return m.Type == kind && m.CellID == cell }
}

// saying matches a message of a type that has a text in it.
func saying(kind, text string) func(message) bool {
	return func(m message) bool { return m.Type == kind && strings.Contains(m.body, text) }
}

// wire is a console's connection: what has come on it, and why it ended.
type wire struct {
	*inbox[message]
	ws *websocket.Conn
}

// dial connects to a path of the station. Messages are heard before they can be
// waited for.
func (s *station) dial(t *testing.T, path string, heard func(*wire, message), header ...string) *wire {
	t.Helper()
	options := &websocket.DialOptions{HTTPHeader: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		options.HTTPHeader.Set(header[i], header[i+1])
	}
	ws, _, err := websocket.Dial(t.Context(), s.url+path, options) //nolint:bodyclose // of a connection that was upgraded
	require.NoError(t, err)
	ws.SetReadLimit(-1)
	w := &wire{inbox: newInbox[message](), ws: ws}
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

// say sends a message. What a closed connection does not take is missed by who
// waits for it.
func (w *wire) say(m fields) {
	if body, err := json.Marshal(m); err == nil {
		_ = w.ws.Write(context.Background(), websocket.MessageText, body)
	}
}

// breaks ends the connection without a word.
func (w *wire) breaks() { _ = w.ws.CloseNow() }

// closed waits until the server has closed the connection, and returns how.
func (w *wire) closed(t *testing.T) websocket.CloseError {
	t.Helper()
	var how websocket.CloseError
	require.ErrorAs(t, w.awaitEnd(t), &how)
	return how
}

// console is a console with its two connections.
type console struct {
	run, agent *wire
	ready      message // the first one
}

// who says who comes to a session.
type who struct {
	session string // default: default
	role    string // default: view
	name    string // default: nobody who was here before
	number  int    // that it has had at /run; 0: it is new
	heard   func(*wire, message)
}

// come connects a console.
func (s *station) come(t *testing.T, w who) *console {
	t.Helper()
	c := s.sit(t, w)
	if w.role == "" {
		w.role = "view"
	}
	if w.name == "" {
		w.name = uuid.NewString()
	}
	c.agent = s.dial(t, "/agent?session="+w.session, w.heard)
	c.agent.say(fields{"type": "init", "session_id": w.name, "role": w.role, "token": s.token, "connection_idx": c.ready.Connection})
	return c
}

// sit connects a console to /run only.
func (s *station) sit(t *testing.T, w who) *console {
	t.Helper()
	c := &console{run: s.dial(t, "/run?session="+w.session, nil)}
	c.run.say(fields{"token": s.token, "notebook_id": "n", "connection_idx": w.number})
	c.ready = c.run.await(t, "ready", ofType("ready"))
	return c
}

// view connects a console that shows the notebook, and waits until it does.
func (s *station) view(t *testing.T, session string) *console {
	t.Helper()
	c := s.come(t, who{session: session})
	c.state(t)
	return c
}

// state waits for the first notebook_state.
func (c *console) state(t *testing.T) {
	t.Helper()
	c.agent.await(t, "the notebook", ofType("notebook_state"))
}

// do does something in the notebook, and waits for the answer.
func (c *console) do(t *testing.T, action string, params fields) message {
	t.Helper()
	tx := uuid.NewString()
	c.agent.say(fields{"type": "notebook_action", "action": action, "params": params, "tx_id": tx})
	return c.agent.await(t, "the answer to "+action, func(m message) bool { return m.TxID == tx })
}

// cell appends a cell and has it run.
func (c *console) cell(t *testing.T, position int, source string) string {
	t.Helper()
	made := c.do(t, "create_cell", fields{"position": position, "cell_type": "code", "source": source, "auto_run": true})
	require.Equal(t, "success", made.Status, made.body)
	return made.CellID
}

// tell makes the actor do something.
func (c *console) tell(python string) {
	c.agent.say(fields{"type": "agent_query", "query": actorQuery(python), "request_id": uuid.NewString()})
}

// breaks ends both connections without a word.
func (c *console) breaks() {
	c.run.breaks()
	c.agent.breaks()
}

// finished matches what the actor says when it has done what it was told.
func finished(m message) bool { return m.Type == "agent_event" && m.Text == "done" }
