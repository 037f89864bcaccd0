package session

import (
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// maxPendingActions is how many actions a console may owe an answer to, as far as a
// [ofConsole] notebook remembers them.
const maxPendingActions = 4096

// consoleNotebook is the notebook of a console that holds it, as far as can be told: each
// answer to get_context is all of it, and between these are the actions that the
// console has done, and the code that it has run. Where a cell that only its
// person has made stands is not known until then: it comes last.
type consoleNotebook struct {
	cells   []notebook.Cell
	pending map[string]documentAction // by tx_id, not answered yet
}

// documentAction is what a console is asked to do. Which parameters it has depends on
// what it is.
type documentAction struct {
	Action string `json:"action"`
	Params struct {
		CellID   string `json:"cell_id"`
		Position int    `json:"position"`
		Type     string `json:"cell_type"`
		Source   string `json:"source"`
		Title    string `json:"title"`
	} `json:"params"`
}

// apply takes in a frame between the server and the agent, or a console.
func (f *consoleNotebook) apply(r trace.Record) {
	switch r.Type {
	case protocol.TypeAgentAction:
		f.rememberAction(r)
	case protocol.TypeActionResponse:
		f.applyAnswer(r)
	case protocol.TypeRunCell:
		f.applyRunCell(r)
	case protocol.TypeDisposeCell:
		f.removeCell(r.CellID)
	}
}

// rememberAction remembers an action of the agent, or of the server, until it is answered.
func (f *consoleNotebook) rememberAction(r trace.Record) {
	var a documentAction
	forwarded := r.Note == "" && r.TxID != "" && isDocumentAction(r.Action) && r.Message != nil
	if forwarded && len(f.pending) < maxPendingActions && json.Unmarshal(r.Message, &a) == nil {
		f.pending[r.TxID] = a
	}
}

// isDocumentAction tells whether an action is about cells, and whoever holds them
// answers it.
func isDocumentAction(name string) bool {
	switch name {
	case "get_context", "create_cell", "create_markdown_cell", "edit_cell", "delete_cell", "move_cell":
		return true
	default:
		return false
	}
}

// applyAnswer does what a console has done, also when that came too late.
func (f *consoleNotebook) applyAnswer(r trace.Record) {
	a, known := f.pending[r.TxID]
	delete(f.pending, r.TxID)
	var answer struct {
		Status  string          `json:"status"`
		CellID  string          `json:"cell_id"`
		Context json.RawMessage `json:"context"`
	}
	if !known || json.Unmarshal(r.Message, &answer) != nil || answer.Status != protocol.StatusSuccess {
		return
	}
	switch p := a.Params; a.Action {
	case "get_context":
		if cells, err := notebook.CellsFromContext(answer.Context); err == nil {
			f.cells = cells
		}
	case "create_cell", "create_markdown_cell":
		cell := notebook.Cell{ID: answer.CellID, Type: notebook.CodeCell, Source: p.Source, Title: p.Title, Revision: 1}
		if a.Action == "create_markdown_cell" || p.Type == notebook.MarkdownCell {
			cell.Type = notebook.MarkdownCell
		}
		f.insertCell(cell, p.Position)
	case "edit_cell":
		f.setSource(p.CellID, p.Source)
	case "delete_cell":
		f.removeCell(p.CellID)
	case "move_cell":
		if i := f.indexOf(p.CellID); i >= 0 {
			cell := f.cells[i]
			f.removeCell(cell.ID)
			f.insertCell(cell, p.Position)
		}
	}
}

// applyRunCell takes in the code that a console has run a cell with.
func (f *consoleNotebook) applyRunCell(r trace.Record) {
	var run struct {
		Code *string `json:"code"`
	}
	if json.Unmarshal(r.Message, &run) == nil && run.Code != nil && r.Note == "" {
		f.setSource(r.CellID, *run.Code)
	}
}

// setSource gives a cell its source.
func (f *consoleNotebook) setSource(id, source string) {
	switch i := f.indexOf(id); {
	case i < 0:
		f.insertCell(notebook.Cell{ID: id, Type: notebook.CodeCell, Source: source, Revision: 1}, len(f.cells))
	case f.cells[i].Source != source:
		f.cells[i].Source = source
		f.cells[i].Revision++
	}
}

func (f *consoleNotebook) insertCell(cell notebook.Cell, position int) {
	if cell.ID == "" || f.indexOf(cell.ID) >= 0 {
		return
	}
	f.cells = slices.Insert(f.cells, min(max(position, 0), len(f.cells)), cell)
}

func (f *consoleNotebook) removeCell(id string) {
	f.cells = slices.DeleteFunc(f.cells, func(c notebook.Cell) bool { return c.ID == id })
}

// indexOf is the place of a cell, -1 for none.
func (f *consoleNotebook) indexOf(id string) int {
	return slices.IndexFunc(f.cells, func(c notebook.Cell) bool { return c.ID == id })
}

func (f *consoleNotebook) clone() *consoleNotebook {
	return &consoleNotebook{cells: slices.Clone(f.cells), pending: maps.Clone(f.pending)}
}
