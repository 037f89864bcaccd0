package notebook

import "encoding/json"

// Limits of a context, in bytes.
const (
	contextText   = 4 << 10 // of a text, beginning and end kept
	contextLimit  = 8 << 20 // of all outputs; each cell has an equal share
	contextWidget = 4 << 10 // of a widget's value, which is else not shown
)

// overview is the notebook as an agent sees it.
type overview struct {
	CellCount int           `json:"cell_count"`
	Name      string        `json:"notebook_name"`
	Cells     []contextCell `json:"cells"`
}

type contextCell struct {
	Index    int               `json:"index"`
	CellID   string            `json:"cell_id"`
	TfID     string            `json:"tf_id"`
	Type     string            `json:"cell_type"`
	Source   string            `json:"source"`
	Metadata struct{}          `json:"metadata"`
	Language string            `json:"language"`
	Status   string            `json:"status"`
	Title    string            `json:"display_name"`
	Rev      int               `json:"rev"`
	Outputs  []json.RawMessage `json:"outputs"`
	Widgets  []widget          `json:"widgets"`
}

// overview takes the cells at one moment; what they show is read after it, so
// that edits need not wait.
func (d *Document) overview() *overview {
	cells := d.Cells()
	out := &overview{CellCount: len(cells), Name: d.cfg.NotebookName, Cells: make([]contextCell, len(cells))}
	for i, cell := range cells {
		out.Cells[i] = d.inContext(cell, contextLimit/len(cells))
		out.Cells[i].Index = i
	}
	return out
}

func (d *Document) inContext(cell Cell, share int) contextCell {
	out := contextCell{
		CellID: cell.ID, TfID: cell.ID, Type: cell.Type, Source: cell.Source,
		Title: cell.Title, Rev: cell.Revision, Language: MarkdownCell, Status: StatusIdle,
		Outputs: []json.RawMessage{}, Widgets: []widget{},
	}
	if cell.Type == MarkdownCell {
		return out
	}
	status, shown, widgets := d.cfg.Executions.look(cell.ID)
	out.Language, out.Status = d.language(), status
	out.Outputs = within(share, view{text: contextText}.all(shown))
	out.Widgets = inContext(widgets)
	return out
}
