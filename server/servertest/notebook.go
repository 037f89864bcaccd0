package servertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// JSONObject is a JSON object.
type JSONObject map[string]any

// Notebook is the notebook of a console that holds it: it carries out the actions of
// the agent. It is safe for concurrent use.
type Notebook struct {
	mu      sync.Mutex
	cells   []*cell
	created int // number of cells created so far
}

type cell struct {
	ID     string `json:"cell_id"`
	Type   string `json:"cell_type"`
	Source string `json:"source"`
}

// NewNotebook returns a notebook with one cell, "first".
func NewNotebook() *Notebook {
	return &Notebook{cells: []*cell{{ID: "first", Type: "code", Source: "1"}}}
}

// PerformAction carries out an action. It returns the members of the answer, and the message
// that the console then sends to the kernel, or nil. It returns an error if there is no
// such action or cell.
func (n *Notebook) PerformAction(action string, params json.RawMessage) (answer, toKernel JSONObject, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var p struct {
		cell
		Position int    `json:"position"`
		AutoRun  bool   `json:"auto_run"`
		Key      string `json:"key"`
		Value    string `json:"value"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, nil, err
	}
	switch action {
	case "get_context":
		return JSONObject{"context": n.contextLocked()}, nil, nil
	case "set_widget":
		return JSONObject{"key": p.Key}, JSONObject{"type": "set_widget_value", "data": JSONObject{p.Key: p.Value}}, nil
	case "create_cell", "create_markdown_cell":
		n.created++
		created := &cell{ID: fmt.Sprintf("cell-%d", n.created), Type: "code", Source: p.Source}
		if action == "create_markdown_cell" {
			created.Type = "markdown"
		}
		n.cells = slices.Insert(n.cells, p.Position, created)
		return JSONObject{"cell_id": created.ID, "tf_id": created.ID}, created.runMessage(p.AutoRun), nil
	}
	at := slices.IndexFunc(n.cells, func(c *cell) bool { return c.ID == p.ID })
	if at < 0 {
		return nil, nil, fmt.Errorf("no cell %q", p.ID)
	}
	if action == "move_cell" {
		moved := n.cells[at]
		n.cells = slices.Insert(slices.Delete(n.cells, at, at+1), p.Position, moved)
		return JSONObject{"cell_id": moved.ID}, nil, nil
	}
	return n.changeCellLocked(action, at, p.Source, p.AutoRun)
}

// changeCellLocked carries out an action on the cell with index at.
func (n *Notebook) changeCellLocked(action string, at int, source string, run bool) (answer, toKernel JSONObject, err error) {
	c := n.cells[at]
	answer = JSONObject{"cell_id": c.ID}
	switch action {
	case "edit_cell":
		c.Source = source
		return answer, c.runMessage(run), nil
	case "run_cell":
		return answer, c.runMessage(true), nil
	case "stop_cell":
		return answer, JSONObject{"type": "stop_cell", "cell_id": c.ID}, nil
	case "delete_cell":
		n.cells = slices.Delete(n.cells, at, at+1)
		return JSONObject{"cell_count": len(n.cells), "remaining_cells": n.contextLocked()["cells"]}, JSONObject{"type": "dispose_cell", "cell_id": c.ID}, nil
	default:
		return nil, nil, fmt.Errorf("unknown action %s", action)
	}
}

// runMessage returns the message that runs the cell, nil if run is false.
func (c *cell) runMessage(run bool) JSONObject {
	if !run {
		return nil
	}
	return JSONObject{"type": "run_cell", "cell_id": c.ID, "code": c.Source}
}

// contextLocked returns the answer to get_context.
func (n *Notebook) contextLocked() JSONObject {
	cells := []JSONObject{}
	for i, c := range n.cells {
		cells = append(cells, JSONObject{
			"index": i, "cell_id": c.ID, "tf_id": c.ID, "cell_type": c.Type, "source": c.Source, "metadata": JSONObject{},
			"language": "python", "status": "idle", "display_name": strings.ToUpper(c.ID), "outputs": []any{}, "widgets": []any{},
		})
	}
	return JSONObject{"cell_count": len(cells), "notebook_name": "held", "cells": cells}
}
