package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// call is a connection of a visitor. One that could not be made takes everything
// and says nothing.
type call struct {
	visitor *visitor
	path    string
	answers *answering      // of a holder; nil: it leaves that to others
	ws      *websocket.Conn // nil: it could not be made
	polite  bool            // it says goodbye
	hangUp  func() bool     // no longer ends it with its context
	deaf    atomic.Bool     // it reads nothing any more
	reading sync.WaitGroup

	seq      int64          // of a view: the newest entry that it was shown
	answered map[string]int // of a view: by tx_id
}

// call connects and says the first message.
func (v *visitor) call(ctx context.Context, path string, first params, answers *answering) *call {
	v.calls++
	c := &call{visitor: v, path: path, answers: answers, answered: map[string]int{}}
	dialling, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	ws, response, err := websocket.Dial(dialling, v.url+path+"?session="+v.session, &websocket.DialOptions{HTTPClient: v.world.client})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return c
	}
	ws.SetReadLimit(-1)
	c.ws = ws
	c.hangUp = context.AfterFunc(ctx, func() { _ = ws.CloseNow() }) // a goodbye on a bad line takes seconds
	c.reading.Go(func() { c.listen(ctx) })
	c.say(first)
	return c
}

func (c *call) say(message params) {
	body, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	c.write(body)
}

func (c *call) write(body []byte) { c.send(websocket.MessageText, body) }

func (c *call) binary(body []byte) { c.send(websocket.MessageBinary, body) }

// send sends as far as the connection takes it.
func (c *call) send(kind websocket.MessageType, body []byte) {
	if c.ws == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = c.ws.Write(ctx, kind, body)
}

func (c *call) leave() {
	if c.ws == nil {
		return
	}
	if c.polite {
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
	}
	c.hangUp()
	_ = c.ws.CloseNow()
	c.deaf.Store(false)
	c.reading.Wait()
}

func (c *call) listen(ctx context.Context) {
	for {
		_, body, err := c.ws.Read(ctx)
		if err != nil {
			return
		}
		c.hear(body)
		for c.deaf.Load() {
			if !pause(ctx.Done(), 10*time.Millisecond) {
				return
			}
		}
	}
}

// hear checks what the server says, and answers it.
func (c *call) hear(body []byte) {
	var f frame
	if err := json.Unmarshal(body, &f); err != nil && !json.Valid(body) {
		c.complain("was sent no JSON", body)
		return
	}
	f.body = body
	c.visitor.heard(f.CellID)
	switch {
	case c.path == "/run" && f.Type == "ready":
		var ready struct {
			Seat int64 `json:"connection_idx"`
		}
		if json.Unmarshal(body, &ready) != nil || ready.Seat == 0 {
			c.complain("was greeted without a number", body)
		}
		c.visitor.seat.Store(ready.Seat)
	case c.path == "/agent" && c.visitor.role == "view":
		c.see(f)
	case f.Type == "agent_action" && c.answers != nil:
		c.answers.answer(c, f)
	}
}

// see checks that a view is shown the trace in its order, and that each of its
// requests is answered once.
func (c *call) see(f frame) {
	var at struct {
		Seq int64 `json:"seq"`
	}
	if json.Unmarshal(f.body, &at) != nil {
		return // a foreign agent's frame may have a seq of its own, in front
	}
	switch {
	case f.Type == "notebook_state":
		c.seq = at.Seq
	case f.Type == "notebook_action_response":
		if c.answered[f.TxID]++; c.answered[f.TxID] > 1 {
			c.complain("was answered twice", f.body)
		}
	case at.Seq == 0:
	case at.Seq <= c.seq:
		c.complain(fmt.Sprintf("was shown %d before", c.seq), f.body)
	default:
		c.seq = at.Seq
	}
}

func (c *call) complain(what string, body []byte) {
	c.visitor.world.complain(fmt.Sprintf("%s at %s %s: %.300q", c.visitor.name, c.path, what, body))
}

// answering answers the actions that a holder is asked, most of the time. It is
// for the goroutine that reads.
type answering struct {
	*dice
	held *holder
	run  *call
}

func (a *answering) answer(c *call, f frame) {
	answer, kernel, err := a.held.perform(f)
	if err != nil {
		answer = params{"status": "error", "error": err.Error()}
	} else {
		answer["status"] = "success"
	}
	answer["type"], answer["tx_id"] = "agent_action_response", f.TxID
	switch a.IntN(20) {
	case 0, 1:
		return
	case 2:
		answer["tx_id"] = a.pick("", "a0-1", "somebody's")
	case 3:
		c.say(answer)
	case 4:
		answer["context"] = params{"cells": []any{params{"cell_id": ""}, nil, 7}}
	case 5:
		pause(nil, a.upTo(700*time.Millisecond))
	}
	c.say(answer)
	if kernel != nil {
		a.run.say(kernel)
	}
}

// newClient returns a client that keeps no connections.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
}
