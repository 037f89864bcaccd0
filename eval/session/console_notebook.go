package session

import (
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// maxPendingActions is how many unanswered actions a [consoleNotebook] remembers. While it has
// that many, further actions, and their answers, are ignored.
const maxPendingActions = 4096

// consoleNotebook reconstructs the cells of a document that a console holds, from trace entries
// between the server and the agent or the console. An answer to get_context has all cells;
// between those, each action that the console has confirmed is applied, and the code that the
// console runs becomes the cell's source. The position of a cell that only the console's user
// has made is unknown until the next get_context; until then it comes last.
type consoleNotebook struct {
	cells          []notebook.Cell
	pendingActions map[string]documentAction // by tx_id: actions without an answer
}

// documentAction is the JSON of an agent_action on cells of the document. Which parameters it
// has depends on Action.
type documentAction struct {
	Action string `json:"action"`
	Params struct {
		CellID   string `json:"cell_id"`
		Position int    `json:"position"` // from 0
		Type     string `json:"cell_type"`
		Source   string `json:"source"`
		Title    string `json:"title"`
	} `json:"params"`
}

// newConsoleNotebook returns a consoleNotebook without cells.
func newConsoleNotebook() *consoleNotebook {
	return &consoleNotebook{pendingActions: map[string]documentAction{}}
}

// apply updates the cells from a trace entry between the server and the agent or a console.
// Entries that do not matter are ignored.
func (n *consoleNotebook) apply(r trace.Record) {
	switch r.Type {
	case protocol.TypeAgentAction:
		n.rememberAction(r)
	case protocol.TypeActionResponse:
		n.applyAnswer(r)
	case protocol.TypeRunCell:
		n.applyRunCell(r)
	case protocol.TypeDisposeCell:
		n.removeCell(r.CellID)
	}
}

// rememberAction remembers an action of the agent or the server until the console answers it.
// It ignores actions that were not forwarded to the console.
func (n *consoleNotebook) rememberAction(r trace.Record) {
	var action documentAction
	isForwarded := r.Note == "" && r.TxID != "" && isDocumentAction(r.Action) && r.Message != nil
	if isForwarded && len(n.pendingActions) < maxPendingActions && json.Unmarshal(r.Message, &action) == nil {
		n.pendingActions[r.TxID] = action
	}
}

// isDocumentAction reports whether the action of this name reads or changes the cells of the
// document.
func isDocumentAction(name string) bool {
	switch name {
	case "get_context", "create_cell", "create_markdown_cell", "edit_cell", "delete_cell", "move_cell":
		return true
	default:
		return false
	}
}

// applyAnswer applies the action that a console has answered with success to the cells, even if
// the answer came too late for the agent.
func (n *consoleNotebook) applyAnswer(r trace.Record) {
	action, isPending := n.pendingActions[r.TxID]
	delete(n.pendingActions, r.TxID)
	var answer struct {
		Status  string          `json:"status"`
		CellID  string          `json:"cell_id"`
		Context json.RawMessage `json:"context"`
	}
	if !isPending || json.Unmarshal(r.Message, &answer) != nil || answer.Status != protocol.StatusSuccess {
		return
	}
	switch params := action.Params; action.Action {
	case "get_context":
		if cells, err := notebook.CellsFromContext(answer.Context); err == nil {
			n.cells = cells
		}
	case "create_cell", "create_markdown_cell":
		cell := notebook.Cell{ID: answer.CellID, Type: notebook.CodeCell, Source: params.Source, Title: params.Title, Revision: 1}
		if action.Action == "create_markdown_cell" || params.Type == notebook.MarkdownCell {
			cell.Type = notebook.MarkdownCell
		}
		n.insertCell(cell, params.Position)
	case "edit_cell":
		n.setSource(params.CellID, params.Source)
	case "delete_cell":
		n.removeCell(params.CellID)
	case "move_cell":
		if i := n.indexOf(params.CellID); i >= 0 {
			cell := n.cells[i]
			n.removeCell(cell.ID)
			n.insertCell(cell, params.Position)
		}
	}
}

// applyRunCell makes the code in a console's run_cell the source of that cell.
func (n *consoleNotebook) applyRunCell(r trace.Record) {
	var run struct {
		Code *string `json:"code"`
	}
	if json.Unmarshal(r.Message, &run) == nil && run.Code != nil && r.Note == "" {
		n.setSource(r.CellID, *run.Code)
	}
}

// setSource changes the source of the cell with this id. If there is no such cell it appends a
// code cell.
func (n *consoleNotebook) setSource(id, source string) {
	switch i := n.indexOf(id); {
	case i < 0:
		n.insertCell(notebook.Cell{ID: id, Type: notebook.CodeCell, Source: source, Revision: 1}, len(n.cells))
	case n.cells[i].Source != source:
		n.cells[i].Source = source
		n.cells[i].Revision++
	}
}

// insertCell inserts a cell at a position, which is limited to the range of the list. It does
// nothing if the cell has no id or its id is taken.
func (n *consoleNotebook) insertCell(cell notebook.Cell, position int) {
	if cell.ID == "" || n.indexOf(cell.ID) >= 0 {
		return
	}
	n.cells = slices.Insert(n.cells, min(max(position, 0), len(n.cells)), cell)
}

// removeCell removes the cell with this id, if there is one.
func (n *consoleNotebook) removeCell(id string) {
	n.cells = slices.DeleteFunc(n.cells, func(c notebook.Cell) bool { return c.ID == id })
}

// indexOf returns the position of the cell with this id, or -1 if there is none.
func (n *consoleNotebook) indexOf(id string) int {
	return slices.IndexFunc(n.cells, func(c notebook.Cell) bool { return c.ID == id })
}

// clone returns an independent copy of the reconstructed notebook.
func (n *consoleNotebook) clone() *consoleNotebook {
	return &consoleNotebook{cells: slices.Clone(n.cells), pendingActions: maps.Clone(n.pendingActions)}
}
