package notebook

import (
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// reply is the answer to an action and what it causes in the kernel. Which of
// the fields are set depends on the action.
type reply struct {
	protocol.ActionResponse
	CellID    string       `json:"cell_id,omitempty"`
	TfID      string       `json:"tf_id,omitempty"` // the cell's id once more
	Key       string       `json:"key,omitempty"`
	Context   *overview    `json:"context,omitempty"`
	CellCount *int         `json:"cell_count,omitempty"`
	Remaining []placedCell `json:"remaining_cells,omitzero"`
	Source    *string      `json:"source,omitempty"` // beside the error of a stale rev
	Rev       int          `json:"rev,omitempty"`    // likewise
	kernel    []any        // messages for the kernel
	deferred  bool         // the kernel's answer to them is the answer
}

// placedCell is what is said of a cell that another one's removal may have moved.
type placedCell struct {
	Index  int    `json:"index"`
	Type   string `json:"cell_type"`
	CellID string `json:"cell_id"`
}

// act carries out an action. An error leaves the notebook unchanged.
func (d *Document) act(action string, params *reader) (reply, error) {
	if action == "get_context" {
		return reply{Context: d.overview()}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch action {
	case "create_cell":
		return d.createCell(params)
	case "create_markdown_cell":
		return d.createMarkdownCell(params)
	case "edit_cell":
		return d.editCell(params)
	case "delete_cell":
		return d.deleteCell(params)
	case "move_cell":
		return d.moveCell(params)
	case "run_cell":
		return d.runCell(params)
	case "stop_cell":
		return d.stopCell(params)
	case "set_widget":
		return d.setWidget(params)
	default:
		return reply{}, errors.New("unknown action")
	}
}

func (d *Document) createCell(params *reader) (reply, error) {
	position := params.integer("position")
	cell := Cell{
		Type:   params.oneOf("cell_type", CodeCell, MarkdownCell),
		Source: params.text("source"),
		Title:  params.optionalText("title"),
	}
	run := params.flag("auto_run")
	if err := params.err(); err != nil {
		return reply{}, err
	}
	if run && cell.Type == MarkdownCell {
		return reply{}, errAutoRun
	}
	created, err := d.create(params, position, cell)
	if err != nil {
		return reply{}, err
	}
	out := reply{CellID: created.ID, TfID: created.ID}
	if run {
		out.kernel = runOf(created)
	}
	return out, nil
}

func (d *Document) createMarkdownCell(params *reader) (reply, error) {
	position, source := params.integer("position"), params.text("source")
	if err := params.err(); err != nil {
		return reply{}, err
	}
	created, err := d.create(params, position, Cell{Type: MarkdownCell, Source: source})
	return reply{CellID: created.ID}, err
}

func (d *Document) create(params *reader, position int, cell Cell) (Cell, error) {
	if err := d.admit(cell.Source, 0); err != nil {
		return Cell{}, err
	}
	cell.ID, cell.Revision = d.cfg.NewCellID(), 1
	created := Event{Kind: CellCreated, CausedBy: params.by, Cell: &cell, Position: &position, literal: params.members["source"]}
	if err := d.change(created); err != nil {
		return Cell{}, err
	}
	return cell, nil
}

func (d *Document) editCell(params *reader) (reply, error) {
	id, source := params.id("cell_id"), params.text("source")
	run, rev := params.flag("auto_run"), params.optionalInteger("rev")
	if err := params.err(); err != nil {
		return reply{}, err
	}
	cell, err := d.find(id)
	if err != nil {
		return reply{}, err
	}
	if params.has("rev") && rev != cell.Revision {
		current := cell.Source
		return reply{Source: &current, Rev: cell.Revision},
			fmt.Errorf("rev: expected %d, found %d: this answer has the source of rev %d", cell.Revision, rev, cell.Revision)
	}
	if run && cell.Type == MarkdownCell {
		return reply{}, errAutoRun
	}
	if err := d.admit(source, len(cell.Source)); err != nil {
		return reply{}, err
	}
	if source != cell.Source {
		edit := Event{
			Kind: CellEdited, CausedBy: params.by, CellID: id, Source: &source, Revision: cell.Revision + 1, literal: params.members["source"],
		}
		if err := d.change(edit); err != nil {
			return reply{}, err
		}
	}
	out := reply{CellID: id}
	if run {
		out.kernel = runOf(*cell)
	}
	return out, nil
}

func (d *Document) deleteCell(params *reader) (reply, error) {
	cell, err := d.named(params)
	if err != nil {
		return reply{}, err
	}
	gone := *cell
	if err := d.change(Event{Kind: CellDeleted, CausedBy: params.by, CellID: gone.ID}); err != nil {
		return reply{}, err
	}
	count := len(d.cells)
	out := reply{CellCount: &count, Remaining: make([]placedCell, count)}
	for i, c := range d.cells {
		out.Remaining[i] = placedCell{Index: i, Type: c.Type, CellID: c.ID}
	}
	if gone.Type == CodeCell {
		out.kernel = []any{protocol.CellCommand{Type: protocol.TypeDisposeCell, CellID: gone.ID}}
	}
	return out, nil
}

// moveCell gives a cell its place, counted when it has been taken out. To move it
// to where it is changes nothing.
func (d *Document) moveCell(params *reader) (reply, error) {
	id, position := params.id("cell_id"), params.integer("position")
	if err := params.err(); err != nil {
		return reply{}, err
	}
	if i := d.index(id); i < 0 || i != position {
		if err := d.change(Event{Kind: CellMoved, CausedBy: params.by, CellID: id, Position: &position}); err != nil {
			return reply{}, err
		}
	}
	return reply{CellID: id}, nil
}

func (d *Document) runCell(params *reader) (reply, error) {
	cell, err := d.runnable(params)
	if err != nil {
		return reply{}, err
	}
	return reply{CellID: cell.ID, kernel: runOf(*cell)}, nil
}

func (d *Document) stopCell(params *reader) (reply, error) {
	cell, err := d.runnable(params)
	if err != nil {
		return reply{}, err
	}
	stop := protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell.ID}
	return reply{CellID: cell.ID, kernel: []any{stop}}, nil
}

func (d *Document) setWidget(params *reader) (reply, error) {
	key, value := params.id("key"), params.text("value")
	if params.err() == nil && !isJSON(value) {
		params.complain("value", "a string of JSON")
	}
	if params.err() == nil && !d.cfg.Executions.hasWidget(key) {
		params.complain("key", "the key of a widget")
	}
	if err := params.err(); err != nil {
		return reply{}, err
	}
	return reply{Key: key, deferred: true, kernel: []any{protocol.KernelRequest{
		Type: protocol.TypeSetWidgetValue, AgentTxID: params.tx,
		Data: map[string]json.RawMessage{key: appendQuoted(nil, value)},
	}}}, nil
}

// named returns the cell that the parameter cell_id names.
func (d *Document) named(params *reader) (*Cell, error) {
	id := params.id("cell_id")
	if err := params.err(); err != nil {
		return nil, err
	}
	return d.find(id)
}

// runnable returns the code cell that the parameter cell_id names.
func (d *Document) runnable(params *reader) (*Cell, error) {
	cell, err := d.named(params)
	if err == nil && cell.Type == MarkdownCell {
		return nil, fmt.Errorf("cell_id: expected a code cell, found %q, a markdown cell, which does not run", cell.ID)
	}
	return cell, err
}

// errAutoRun is better than silence: whoever asks for a run waits for its end.
var errAutoRun = errors.New("auto_run: expected false for a markdown cell, which does not run, found true")

func runOf(cell Cell) []any {
	return []any{protocol.CellCommand{Type: protocol.TypeRunCell, CellID: cell.ID, Code: &cell.Source}}
}
