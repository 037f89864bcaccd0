package notebook

import (
	"encoding/json"
	"fmt"
)

// Limits of a context.
const (
	maxContextTextBytes   = 4 << 10 // of each text in an output; the middle of a longer one is left out
	maxContextOutputBytes = 8 << 20 // of the outputs of all cells, which have equal shares of it
	maxContextWidgetBytes = 4 << 10 // of a widget's value; a larger one is left out
)

// notebookContext is the JSON answer to get_context: the notebook as an agent sees it.
type notebookContext struct {
	CellCount int           `json:"cell_count"`
	Name      string        `json:"notebook_name"`
	Cells     []contextCell `json:"cells"`
}

// contextCell is the JSON of one cell in the answer to get_context.
type contextCell struct {
	Index    int               `json:"index"` // from 0
	CellID   string            `json:"cell_id"`
	TfID     string            `json:"tf_id"`     // the cell id once more
	Type     string            `json:"cell_type"` // CodeCell or MarkdownCell
	Source   string            `json:"source"`
	Metadata struct{}          `json:"metadata"`
	Language string            `json:"language"`
	Status   string            `json:"status"` // one of the Status constants
	Title    string            `json:"display_name"`
	Revision int               `json:"rev"`
	Outputs  []json.RawMessage `json:"outputs"` // nbformat outputs
	Widgets  []contextWidget   `json:"widgets"`
}

// buildContext returns the answer to get_context: all cells with their outputs and widgets. The
// outputs are read after the cells without locking the document, so that edits need not wait.
func (d *Document) buildContext() *notebookContext {
	cells := d.Cells()
	out := &notebookContext{CellCount: len(cells), Name: d.cfg.NotebookName, Cells: make([]contextCell, len(cells))}
	for i, cell := range cells {
		out.Cells[i] = d.contextCell(cell, maxContextOutputBytes/len(cells))
		out.Cells[i].Index = i
	}
	return out
}

// contextCell returns a cell as the answer to get_context has it, with at most maxOutputBytes
// of outputs.
func (d *Document) contextCell(cell Cell, maxOutputBytes int) contextCell {
	out := contextCell{
		CellID: cell.ID, TfID: cell.ID, Type: cell.Type, Source: cell.Source,
		Title: cell.Title, Revision: cell.Revision, Language: MarkdownCell, Status: StatusIdle,
		Outputs: []json.RawMessage{}, Widgets: []contextWidget{},
	}
	if cell.Type == MarkdownCell {
		return out
	}
	status, outputs, widgets := d.cfg.Executions.cellForContext(cell.ID)
	out.Language, out.Status = d.codeLanguage(), status
	out.Outputs = limitOutputs(maxOutputBytes, outputShortener{maxTextBytes: maxContextTextBytes}.encodeOutputs(outputs))
	out.Widgets = contextWidgets(widgets)
	return out
}

// CellsFromContext parses the cells in a console's answer to get_context; context is the value
// of its field "context". It returns an error that names the cell's index if a cell has no
// cell_id or a field of the wrong type. A cell whose cell_type is not "markdown" counts as
// code.
func CellsFromContext(context json.RawMessage) ([]Cell, error) {
	members, err := readMembers(context)
	if err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(members["cells"], &list); err != nil {
		return nil, fmt.Errorf("context: cells: expected an array, found %s", describeJSON(members["cells"]))
	}
	cells := make([]Cell, len(list))
	for i, text := range list {
		if cells[i], err = cellFromContext(text); err != nil {
			return nil, fmt.Errorf("context: cell %d: %w", i, err)
		}
	}
	return cells, nil
}

// cellFromContext parses one cell in a console's answer to get_context. It fails if the cell
// has no cell_id or a field of the wrong type.
func cellFromContext(text json.RawMessage) (Cell, error) {
	fields, err := newObjectReader(text)
	if err != nil {
		return Cell{}, err
	}
	cell := Cell{
		ID:       fields.nonEmptyText("cell_id"),
		Type:     fields.optionalText("cell_type"),
		Source:   fields.optionalText("source"),
		Title:    fields.optionalText("display_name"),
		Revision: fields.integerOr("rev", 0),
	}
	if cell.Type != MarkdownCell {
		cell.Type = CodeCell
	}
	return cell, fields.err()
}
