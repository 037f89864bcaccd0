package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"assay/server/servertest"
)

// frame has the fields that are read of a message of the server.
type frame struct {
	Type   string          `json:"type"`
	Action string          `json:"action"`
	TxID   string          `json:"tx_id"`
	CellID string          `json:"cell_id"`
	Params json.RawMessage `json:"params"`

	body []byte // the whole message
}

// consoleConn is a WebSocket of a faultyConsole. If it could not be opened, its methods
// do nothing.
type consoleConn struct {
	console        *faultyConsole
	path           string
	holder         *faultyHolder   // answers actions; nil: they are ignored
	ws             *websocket.Conn // nil: it could not be opened
	closeHandshake bool            // disconnect with a close frame, not just by closing the connection
	stopClosing    func() bool     // cancels that the end of the context closes the connection
	readPaused     atomic.Bool
	reading        sync.WaitGroup

	lastSeq int64          // of a view: the newest entry that it has received
	answers map[string]int // of a view: number of answers by tx_id
}

// connect opens a WebSocket and sends the first message.
func (console *faultyConsole) connect(ctx context.Context, path string, hello params, holder *faultyHolder) *consoleConn {
	console.connections++
	c := &consoleConn{console: console, path: path, holder: holder, answers: map[string]int{}}
	dialCtx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	ws, response, err := websocket.Dial(dialCtx, console.url+path+"?session="+console.session, &websocket.DialOptions{HTTPClient: console.run.client})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return c
	}
	ws.SetReadLimit(-1)
	c.ws = ws
	c.stopClosing = context.AfterFunc(ctx, func() { _ = ws.CloseNow() }) // a close handshake over a faulty link takes seconds
	c.reading.Go(func() { c.readLoop(ctx) })
	c.send(hello)
	return c
}

func (c *consoleConn) send(message params) {
	body, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	c.writeText(body)
}

func (c *consoleConn) writeText(body []byte) { c.write(websocket.MessageText, body) }

func (c *consoleConn) writeBinary(body []byte) { c.write(websocket.MessageBinary, body) }

// write ignores errors: the connection may be broken.
func (c *consoleConn) write(messageType websocket.MessageType, body []byte) {
	if c.ws == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = c.ws.Write(ctx, messageType, body)
}

// disconnect closes the connection and waits for readLoop.
func (c *consoleConn) disconnect() {
	if c.ws == nil {
		return
	}
	if c.closeHandshake {
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
	}
	c.stopClosing()
	_ = c.ws.CloseNow()
	c.readPaused.Store(false)
	c.reading.Wait()
}

func (c *consoleConn) readLoop(ctx context.Context) {
	for {
		_, body, err := c.ws.Read(ctx)
		if err != nil {
			return
		}
		c.handleMessage(body)
		for c.readPaused.Load() {
			if !sleepUnlessDone(ctx.Done(), 10*time.Millisecond) {
				return
			}
		}
	}
}

// handleMessage checks a message of the server, and answers it if it is an action.
func (c *consoleConn) handleMessage(body []byte) {
	var f frame
	if err := json.Unmarshal(body, &f); err != nil && !json.Valid(body) {
		c.reportFault("received invalid JSON", body)
		return
	}
	f.body = body
	c.console.rememberCell(f.CellID)
	switch {
	case c.path == "/run" && f.Type == "ready":
		var ready struct {
			ConnID int64 `json:"connection_idx"`
		}
		if json.Unmarshal(body, &ready) != nil || ready.ConnID == 0 {
			c.reportFault("received ready without a number", body)
		}
		c.console.number.Store(ready.ConnID)
	case c.path == "/agent" && c.console.role == "view":
		c.checkViewMessage(f)
	case f.Type == "agent_action" && c.holder != nil:
		c.holder.answerAction(c, f)
	}
}

// checkViewMessage reports a fault if a view receives trace entries out of order, or two
// answers to one of its requests.
func (c *consoleConn) checkViewMessage(f frame) {
	var at struct {
		Seq int64 `json:"seq"`
	}
	if json.Unmarshal(f.body, &at) != nil {
		return // an agent's own frame may have any seq
	}
	switch {
	case f.Type == "notebook_state":
		c.lastSeq = at.Seq
	case f.Type == "notebook_action_response":
		if c.answers[f.TxID]++; c.answers[f.TxID] > 1 {
			c.reportFault("received a second answer", f.body)
		}
	case at.Seq == 0:
	case at.Seq <= c.lastSeq:
		c.reportFault(fmt.Sprintf("has received entry %d before", c.lastSeq), f.body)
	default:
		c.lastSeq = at.Seq
	}
}

func (c *consoleConn) reportFault(fault string, body []byte) {
	c.console.run.reportFault(fmt.Sprintf("%s at %s %s: %.300q", c.console.name, c.path, fault, body))
}

// faultyHolder answers the actions that a holder gets: sometimes not at all, twice,
// late, or wrong. It is used only by readLoop.
type faultyHolder struct {
	*rng
	notebook *servertest.Notebook
	run      *consoleConn // of the same console
}

func (h *faultyHolder) answerAction(c *consoleConn, f frame) {
	answer, toKernel, err := h.notebook.PerformAction(f.Action, f.Params)
	if err != nil {
		answer = params{"status": "error", "error": err.Error()}
	} else {
		answer["status"] = "success"
	}
	answer["type"], answer["tx_id"] = "agent_action_response", f.TxID
	switch h.IntN(20) {
	case 0, 1:
		return
	case 2:
		answer["tx_id"] = h.pickText("", "a0-1", "somebody's")
	case 3:
		c.send(answer)
	case 4:
		answer["context"] = params{"cells": []any{params{"cell_id": ""}, nil, 7}}
	case 5:
		sleepUnlessDone(nil, h.durationBelow(700*time.Millisecond))
	}
	c.send(answer)
	if toKernel != nil {
		h.run.send(toKernel)
	}
}

// newHTTPClient returns a client that keeps no idle connections, and gives a request
// 10 s.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
}
