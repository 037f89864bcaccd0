package session

import (
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// mostAsked is how many actions a console may owe an answer to, as far as a
// [foreign] notebook remembers them.
const mostAsked = 4096

// foreign is the notebook of a console that holds it, as far as can be told: each
// answer to get_context is all of it, and between these are the actions that the
// console has done, and the code that it has run. Where a cell that only its
// person has made stands is not known until then: it comes last.
type foreign struct {
	cells []notebook.Cell
	asked map[string]action // by tx_id, not answered yet
}

// action is what a console is asked to do. Which parameters it has depends on
// what it is.
type action struct {
	Action string `json:"action"`
	Params struct {
		CellID   string `json:"cell_id"`
		Position int    `json:"position"`
		Type     string `json:"cell_type"`
		Source   string `json:"source"`
		Title    string `json:"title"`
	} `json:"params"`
}

// add takes in a frame between the server and the agent, or a console.
func (f *foreign) add(r trace.Record) {
	switch r.Type {
	case protocol.TypeAgentAction:
		f.ask(r)
	case protocol.TypeActionResponse:
		f.answer(r)
	case protocol.TypeRunCell:
		f.ran(r)
	case protocol.TypeDisposeCell:
		f.remove(r.CellID)
	}
}

// ask remembers an action of the agent, or of the server, until it is answered.
func (f *foreign) ask(r trace.Record) {
	var a action
	forwarded := r.Note == "" && r.TxID != "" && ofDocument(r.Action) && r.Message != nil
	if forwarded && len(f.asked) < mostAsked && json.Unmarshal(r.Message, &a) == nil {
		f.asked[r.TxID] = a
	}
}

// ofDocument tells whether an action is about cells, and whoever holds them
// answers it.
func ofDocument(name string) bool {
	switch name {
	case "get_context", "create_cell", "create_markdown_cell", "edit_cell", "delete_cell", "move_cell":
		return true
	default:
		return false
	}
}

// answer does what a console has done, also when that came too late.
func (f *foreign) answer(r trace.Record) {
	a, known := f.asked[r.TxID]
	delete(f.asked, r.TxID)
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
		f.insert(cell, p.Position)
	case "edit_cell":
		f.write(p.CellID, p.Source)
	case "delete_cell":
		f.remove(p.CellID)
	case "move_cell":
		if i := f.index(p.CellID); i >= 0 {
			cell := f.cells[i]
			f.remove(cell.ID)
			f.insert(cell, p.Position)
		}
	}
}

// ran takes in the code that a console has run a cell with.
func (f *foreign) ran(r trace.Record) {
	var run struct {
		Code *string `json:"code"`
	}
	if json.Unmarshal(r.Message, &run) == nil && run.Code != nil && r.Note == "" {
		f.write(r.CellID, *run.Code)
	}
}

// write gives a cell its source.
func (f *foreign) write(id, source string) {
	switch i := f.index(id); {
	case i < 0:
		f.insert(notebook.Cell{ID: id, Type: notebook.CodeCell, Source: source, Revision: 1}, len(f.cells))
	case f.cells[i].Source != source:
		f.cells[i].Source = source
		f.cells[i].Revision++
	}
}

func (f *foreign) insert(cell notebook.Cell, position int) {
	if cell.ID == "" || f.index(cell.ID) >= 0 {
		return
	}
	f.cells = slices.Insert(f.cells, min(max(position, 0), len(f.cells)), cell)
}

func (f *foreign) remove(id string) {
	f.cells = slices.DeleteFunc(f.cells, func(c notebook.Cell) bool { return c.ID == id })
}

// index is the place of a cell, -1 for none.
func (f *foreign) index(id string) int {
	return slices.IndexFunc(f.cells, func(c notebook.Cell) bool { return c.ID == id })
}

func (f *foreign) clone() *foreign {
	return &foreign{cells: slices.Clone(f.cells), asked: maps.Clone(f.asked)}
}
