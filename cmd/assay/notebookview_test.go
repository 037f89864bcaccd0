package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notebookView is the notebook that a console shows, computed from the messages it received. It
// follows the documented protocol, not the code of the server, which it checks.
type notebookView struct {
	cells   []shownCell
	status  map[string]string
	outputs map[string][]jsonObject
}

// shownCell is a cell as a console shows it. Status is idle, running, ran or error.
type shownCell struct {
	ID     string `json:"cell_id"`
	Type   string `json:"cell_type"`
	Source string `json:"source"`

	Status  string       `json:"-"`
	Outputs []jsonObject `json:"-"`
}

// cellsShownAfter returns the cells that a console shows after the messages. The first relevant one
// must be notebook_state.
func cellsShownAfter(t *testing.T, messages []consoleMessage) []shownCell {
	t.Helper()
	var p notebookView
	for _, m := range messages {
		p.apply(t, m)
	}
	for i := range p.cells {
		cell := &p.cells[i]
		cell.Status, cell.Outputs = p.status[cell.ID], p.outputs[cell.ID]
		if cell.Status == "" {
			cell.Status = "idle"
		}
	}
	return p.cells
}

// shownCells returns the cells that the console shows now.
func (c *console) shownCells(t *testing.T) []shownCell {
	t.Helper()
	messages, _, _ := c.agent.snapshot()
	return cellsShownAfter(t, messages)
}

// apply applies one message. Messages that do not change the notebook are ignored.
func (p *notebookView) apply(t *testing.T, m consoleMessage) {
	t.Helper()
	var body struct {
		Event    string
		Cell     shownCell
		Position int
		Source   string
		Queue    []string
		Stream   string
		Output   jsonObject
		Active   string `json:"active_cell"`
		Cells    []shownCell
		Runs     struct {
			Status  map[string]string       `json:"cell_status"`
			Outputs map[string][]jsonObject `json:"cell_outputs"`
		}
	}
	at := func() int { return slices.IndexFunc(p.cells, func(c shownCell) bool { return c.ID == m.CellID }) }
	switch m.Type {
	case "notebook_state", "notebook_event", "start_cell", "run_queue", "kernel_stdio", "cell_output", "cell_result":
		require.NoError(t, json.Unmarshal([]byte(m.body), &body), m.body)
	}
	switch m.Type + body.Event {
	case "notebook_state":
		p.cells, p.status, p.outputs = body.Cells, body.Runs.Status, map[string][]jsonObject{}
		for id, outputs := range body.Runs.Outputs {
			for _, output := range outputs {
				p.addOutput(id, output)
			}
		}
	case "notebook_eventcell_created":
		p.cells = slices.Insert(p.cells, body.Position, body.Cell)
	case "notebook_eventcell_edited":
		p.cells[at()].Source = body.Source
	case "notebook_eventcell_deleted":
		p.cells = slices.Delete(p.cells, at(), at()+1)
	case "run_queue":
		for _, id := range body.Queue {
			p.status[id] = "running"
		}
	case "start_cell":
		p.status[m.CellID] = "running"
		delete(p.outputs, m.CellID)
	case "kernel_stdio":
		var text string
		require.NoError(t, json.Unmarshal(m.Data, &text))
		p.addOutput(body.Active, jsonObject{"output_type": "stream", "name": body.Stream, "text": text})
	case "cell_output":
		p.addOutput(m.CellID, body.Output)
	case "cell_result":
		p.status[m.CellID] = "ran"
		if m.Status != "ok" {
			p.status[m.CellID] = "error"
		}
	}
}

// addOutput adds an output to a cell. Text of the stream of the last output is appended to that
// output.
func (p *notebookView) addOutput(id string, output jsonObject) {
	if parts, ok := output["text"].([]any); ok {
		var all strings.Builder
		for _, part := range parts {
			line, _ := part.(string)
			all.WriteString(line)
		}
		output["text"] = all.String()
	}
	list := p.outputs[id]
	if n := len(list); n > 0 && output["output_type"] == "stream" && list[n-1]["output_type"] == "stream" && list[n-1]["name"] == output["name"] {
		before, _ := list[n-1]["text"].(string)
		more, _ := output["text"].(string)
		list[n-1] = jsonObject{"output_type": "stream", "name": output["name"], "text": before + more}
		return
	}
	p.outputs[id] = append(list, output)
}
