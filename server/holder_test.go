package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// socket is a console's connection: what has come on it, and why it ended.
type socket struct {
	*box[frame]
	ws *websocket.Conn
}

// dial connects to an endpoint and sends a first message. heard, if not nil, is
// called with each message that comes.
func dial(t *testing.T, url, first string, heard func(*socket, frame)) *socket {
	t.Helper()
	ws, response, err := websocket.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	require.Equal(t, 101, response.StatusCode)
	ws.SetReadLimit(-1)
	s := &socket{box: newBox[frame](), ws: ws}
	var reading sync.WaitGroup
	next := frames(func() ([]byte, error) {
		_, body, err := ws.Read(context.Background())
		return body, err
	})
	reading.Go(func() {
		s.fill(func() (frame, error) {
			f, err := next()
			if err == nil && heard != nil {
				heard(s, f)
			}
			return f, err
		})
	})
	t.Cleanup(func() {
		_ = ws.CloseNow()
		reading.Wait()
	})
	s.write(first)
	return s
}

// write sends text. What a closed connection does not take is missed by who
// waits for it.
func (s *socket) write(text string) {
	_ = s.ws.Write(context.Background(), websocket.MessageText, []byte(text))
}

func (s *socket) say(message any) {
	if body, err := json.Marshal(message); err == nil {
		s.write(string(body))
	}
}

// closed waits for the end of the connection and returns how the server closed
// it.
func (s *socket) closed(t *testing.T) websocket.CloseError {
	t.Helper()
	var how websocket.CloseError
	err := s.awaitEnd(t)
	require.ErrorAs(t, err, &how)
	return how
}

// holder is a console that holds the notebook: it answers every action at
// /agent from cells of its own, and runs them at /run.
type holder struct {
	agent, run *socket

	mu    sync.Mutex
	cells []*cell
	made  int
}

type cell struct {
	ID     string `json:"cell_id"`
	Type   string `json:"cell_type"`
	Source string `json:"source"`
}

// newHolder attaches a console that holds the notebook, with one cell, "first".
func newHolder(t *testing.T, url string) *holder {
	t.Helper()
	h := &holder{cells: []*cell{{ID: "first", Type: "code", Source: "1"}}}
	h.run = dial(t, url+"/run", runHello, nil)
	h.run.await(t, "ready", ofType("ready"))
	h.agent = dial(t, url+"/agent", agentHello, h.answer)
	return h
}

// The first messages of a console.
const (
	runHello   = `{"token":"` + token + `","notebook_id":"n"}`
	agentHello = `{"type":"init","session_id":1,"notebook_id":"n"}`
)

// answer answers an action and then does in the kernel what it asks for.
func (h *holder) answer(s *socket, f frame) {
	if f.Type != "agent_action" {
		return
	}
	answer, kernel, err := h.perform(f)
	if err != nil {
		answer = params{"error": err.Error(), "status": "error"}
	} else {
		answer["status"] = "success"
	}
	answer["type"], answer["tx_id"] = "agent_action_response", f.TxID
	s.say(answer)
	if kernel != nil {
		h.run.say(kernel)
	}
}

// perform carries out an action on the cells.
func (h *holder) perform(f frame) (answer, kernel params, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var p struct {
		cell
		Position int    `json:"position"`
		AutoRun  bool   `json:"auto_run"`
		Key      string `json:"key"`
		Value    string `json:"value"`
	}
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return nil, nil, err
	}
	switch f.Action {
	case "get_context":
		return params{"context": h.context()}, nil, nil
	case "set_widget":
		return params{"key": p.Key}, params{"type": "set_widget_value", "data": params{p.Key: p.Value}}, nil
	case "create_cell", "create_markdown_cell":
		h.made++
		made := &cell{ID: fmt.Sprintf("cell-%d", h.made), Type: "code", Source: p.Source}
		if f.Action == "create_markdown_cell" {
			made.Type = "markdown"
		}
		h.cells = slices.Insert(h.cells, p.Position, made)
		return params{"cell_id": made.ID, "tf_id": made.ID}, made.running(p.AutoRun), nil
	}
	at := slices.IndexFunc(h.cells, func(c *cell) bool { return c.ID == p.ID })
	if at < 0 {
		return nil, nil, fmt.Errorf("no cell %q", p.ID)
	}
	if f.Action == "move_cell" {
		moved := h.cells[at]
		h.cells = slices.Insert(slices.Delete(h.cells, at, at+1), p.Position, moved)
		return params{"cell_id": moved.ID}, nil, nil
	}
	return h.change(f.Action, at, p.Source, p.AutoRun)
}

// change carries out an action on the cell at a place.
func (h *holder) change(action string, at int, source string, run bool) (answer, kernel params, err error) {
	c := h.cells[at]
	answer = params{"cell_id": c.ID}
	switch action {
	case "edit_cell":
		c.Source = source
		return answer, c.running(run), nil
	case "run_cell":
		return answer, c.running(true), nil
	case "stop_cell":
		return answer, params{"type": "stop_cell", "cell_id": c.ID}, nil
	case "delete_cell":
		h.cells = slices.Delete(h.cells, at, at+1)
		return params{"cell_count": len(h.cells), "remaining_cells": h.context()["cells"]}, params{"type": "dispose_cell", "cell_id": c.ID}, nil
	default:
		return nil, nil, fmt.Errorf("unknown action %s", action)
	}
}

func (c *cell) running(run bool) params {
	if !run {
		return nil
	}
	return params{"type": "run_cell", "cell_id": c.ID, "code": c.Source}
}

func (h *holder) context() params {
	cells := []params{}
	for i, c := range h.cells {
		cells = append(cells, params{
			"index": i, "cell_id": c.ID, "tf_id": c.ID, "cell_type": c.Type, "source": c.Source, "metadata": params{},
			"language": "python", "status": "idle", "display_name": strings.ToUpper(c.ID), "outputs": []any{}, "widgets": []any{},
		})
	}
	return params{"cell_count": len(cells), "notebook_name": "held", "cells": cells}
}
