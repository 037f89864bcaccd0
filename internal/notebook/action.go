package notebook

import (
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// actionParams are the parameters of an agent_action on the notebook, its tx_id and who caused
// it.
type actionParams struct {
	*objectReader
	txID     string // of the action
	causedBy string // who has asked for it: one of the constants ByAgent to ByServer
}

// actionReply is the JSON answer to an action on the notebook, together with the messages that
// the action sends to the kernel. Which fields are set depends on the action.
type actionReply struct {
	protocol.ActionResponse
	CellID           string           `json:"cell_id,omitempty"`
	TfID             string           `json:"tf_id,omitempty"` // the cell id once more
	Key              string           `json:"key,omitempty"`
	Context          *notebookContext `json:"context,omitempty"`
	CellCount        *int             `json:"cell_count,omitempty"`
	Remaining        []remainingCell  `json:"remaining_cells,omitzero"`
	Source           *string          `json:"source,omitempty"` // the present one, beside the error about a stale rev
	Revision         int              `json:"rev,omitempty"`    // likewise
	kernelMessages   []any            // sent to the kernel behind the answer
	answeredByKernel bool             // no answer is sent: the kernel's becomes the answer
}

// remainingCell is a cell in the answer to delete_cell, which lists the cells that are left
// with their new positions.
type remainingCell struct {
	Index  int    `json:"index"` // from 0
	Type   string `json:"cell_type"`
	CellID string `json:"cell_id"`
}

// performAction carries out the action of this name on the notebook and returns its answer. If
// it fails, for example because a parameter is wrong, the notebook is unchanged.
func (d *Document) performAction(action string, params actionParams) (actionReply, error) {
	if action == "get_context" {
		return actionReply{Context: d.buildContext()}, nil
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
		return actionReply{}, errors.New("unknown action")
	}
}

// createCell carries out the action create_cell: it inserts a code or markdown cell, by default a code
// cell at the end, and, with auto_run, lets the kernel run it. It fails if a parameter is wrong. The
// caller holds mu.
func (d *Document) createCell(params actionParams) (actionReply, error) {
	position := params.integerOr("position", len(d.cells))
	cell := Cell{Type: CodeCell, Source: params.text("source"), Title: params.optionalText("title")}
	if params.has("cell_type") {
		cell.Type = params.oneOf("cell_type", CodeCell, MarkdownCell)
	}
	run := params.boolean("auto_run")
	if err := params.err(); err != nil {
		return actionReply{}, err
	}
	if run && cell.Type == MarkdownCell {
		return actionReply{}, errMarkdownAutoRun
	}
	created, err := d.insertNewCell(params, position, cell)
	if err != nil {
		return actionReply{}, err
	}
	out := actionReply{CellID: created.ID, TfID: created.ID}
	if run {
		out.kernelMessages = newRunCellCommand(created)
	}
	return out, nil
}

// createMarkdownCell carries out the action create_markdown_cell, by default at the end. It fails if a
// parameter is wrong. The caller holds mu.
func (d *Document) createMarkdownCell(params actionParams) (actionReply, error) {
	position, source := params.integerOr("position", len(d.cells)), params.text("source")
	if err := params.err(); err != nil {
		return actionReply{}, err
	}
	created, err := d.insertNewCell(params, position, Cell{Type: MarkdownCell, Source: source})
	return actionReply{CellID: created.ID}, err
}

// insertNewCell gives cell a new id, inserts it at position, counted from 0, and returns it. It
// fails if the position is out of range or the notebook's sources become too large. The caller
// holds mu.
func (d *Document) insertNewCell(params actionParams, position int, cell Cell) (Cell, error) {
	if err := d.checkSourceSize(cell.Source, 0); err != nil {
		return Cell{}, err
	}
	cell.ID, cell.Revision = d.cfg.NewCellID(), 1
	created := Event{Kind: CellCreated, CausedBy: params.causedBy, Cell: &cell, Position: &position, sourceLiteral: params.members["source"]}
	if err := d.applyAndPublish(created); err != nil {
		return Cell{}, err
	}
	return cell, nil
}

// editCell carries out the action edit_cell: it replaces a cell's source and, with auto_run,
// lets the kernel run the cell. An edit that does not change the source makes no event. It
// fails if a parameter is wrong or the cell was changed since the revision "rev"; the answer
// then has the current source. The caller holds mu.
func (d *Document) editCell(params actionParams) (actionReply, error) {
	id, source := params.nonEmptyText("cell_id"), params.text("source")
	run, rev := params.boolean("auto_run"), params.integerOr("rev", 0)
	if err := params.err(); err != nil {
		return actionReply{}, err
	}
	cell, err := d.findCell(id)
	if err != nil {
		return actionReply{}, err
	}
	if params.has("rev") && rev != cell.Revision {
		current := cell.Source
		return actionReply{Source: &current, Revision: cell.Revision},
			fmt.Errorf("rev: expected %d, found %d: this answer has the source of rev %d", cell.Revision, rev, cell.Revision)
	}
	if run && cell.Type == MarkdownCell {
		return actionReply{}, errMarkdownAutoRun
	}
	if err := d.checkSourceSize(source, len(cell.Source)); err != nil {
		return actionReply{}, err
	}
	if source != cell.Source {
		edit := Event{
			Kind: CellEdited, CausedBy: params.causedBy, CellID: id, Source: &source, Revision: cell.Revision + 1, sourceLiteral: params.members["source"],
		}
		if err := d.applyAndPublish(edit); err != nil {
			return actionReply{}, err
		}
	}
	out := actionReply{CellID: id}
	if run {
		out.kernelMessages = newRunCellCommand(*cell)
	}
	return out, nil
}

// deleteCell carries out the action delete_cell. For a code cell the kernel gets a
// dispose_cell. It fails if there is no such cell. The caller holds mu.
func (d *Document) deleteCell(params actionParams) (actionReply, error) {
	cell, err := d.cellOfParams(params)
	if err != nil {
		return actionReply{}, err
	}
	deleted := *cell
	if err := d.applyAndPublish(Event{Kind: CellDeleted, CausedBy: params.causedBy, CellID: deleted.ID}); err != nil {
		return actionReply{}, err
	}
	count := len(d.cells)
	out := actionReply{CellCount: &count, Remaining: make([]remainingCell, count)}
	for i, c := range d.cells {
		out.Remaining[i] = remainingCell{Index: i, Type: c.Type, CellID: c.ID}
	}
	if deleted.Type == CodeCell {
		out.kernelMessages = []any{protocol.CellCommand{Type: protocol.TypeDisposeCell, CellID: deleted.ID}}
	}
	return out, nil
}

// moveCell carries out the action move_cell. The new position is counted from 0 without the
// moved cell. A move to the cell's present position makes no event. It fails if there is no
// such cell or position. The caller holds mu.
func (d *Document) moveCell(params actionParams) (actionReply, error) {
	id, position := params.nonEmptyText("cell_id"), params.integer("position")
	if err := params.err(); err != nil {
		return actionReply{}, err
	}
	if i := d.cellIndex(id); i < 0 || i != position {
		if err := d.applyAndPublish(Event{Kind: CellMoved, CausedBy: params.causedBy, CellID: id, Position: &position}); err != nil {
			return actionReply{}, err
		}
	}
	return actionReply{CellID: id}, nil
}

// runCell carries out the action run_cell: the reply has the run_cell message for the kernel.
// It fails if there is no such code cell. The caller holds mu.
func (d *Document) runCell(params actionParams) (actionReply, error) {
	cell, err := d.codeCellOfParams(params)
	if err != nil {
		return actionReply{}, err
	}
	return actionReply{CellID: cell.ID, kernelMessages: newRunCellCommand(*cell)}, nil
}

// stopCell carries out the action stop_cell: the reply has the stop_cell message for the
// kernel. It fails if there is no such code cell. The caller holds mu.
func (d *Document) stopCell(params actionParams) (actionReply, error) {
	cell, err := d.codeCellOfParams(params)
	if err != nil {
		return actionReply{}, err
	}
	stop := protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell.ID}
	return actionReply{CellID: cell.ID, kernelMessages: []any{stop}}, nil
}

// setWidget carries out the action set_widget: the reply has the set_widget_value message for
// the kernel, whose answer becomes the answer to the action. It fails if there is no such
// widget or the value is no JSON. The caller holds mu.
func (d *Document) setWidget(params actionParams) (actionReply, error) {
	key, value := params.nonEmptyText("key"), params.text("value")
	if params.err() == nil && !isValidJSON(value) {
		params.failExpected("value", "a string of JSON")
	}
	if params.err() == nil && !d.cfg.Executions.hasWidget(key) {
		params.failExpected("key", "the key of a widget")
	}
	if err := params.err(); err != nil {
		return actionReply{}, err
	}
	return actionReply{Key: key, answeredByKernel: true, kernelMessages: []any{protocol.KernelRequest{
		Type: protocol.TypeSetWidgetValue, AgentTxID: params.txID,
		Data: map[string]json.RawMessage{key: appendQuoted(nil, value)},
	}}}, nil
}

// cellOfParams returns the cell whose id is in the parameter cell_id. It fails if the parameter
// is missing or there is no such cell. The caller holds mu.
func (d *Document) cellOfParams(params actionParams) (*Cell, error) {
	id := params.nonEmptyText("cell_id")
	if err := params.err(); err != nil {
		return nil, err
	}
	return d.findCell(id)
}

// codeCellOfParams returns the code cell whose id is in the parameter cell_id. It fails if the
// parameter is missing, there is no such cell, or it is a markdown cell. The caller holds mu.
func (d *Document) codeCellOfParams(params actionParams) (*Cell, error) {
	cell, err := d.cellOfParams(params)
	if err == nil && cell.Type == MarkdownCell {
		return nil, fmt.Errorf("cell_id: expected a code cell, found %q, a markdown cell, which does not run", cell.ID)
	}
	return cell, err
}

// errMarkdownAutoRun is the error for auto_run of a markdown cell, which cannot run. If the
// request were ignored, the agent would wait for the end of a run that never begins.
var errMarkdownAutoRun = errors.New("auto_run: expected false for a markdown cell, which does not run, found true")

// newRunCellCommand returns a list with the run_cell message that makes the kernel run this
// cell.
func newRunCellCommand(cell Cell) []any {
	return []any{protocol.CellCommand{Type: protocol.TypeRunCell, CellID: cell.ID, Code: &cell.Source}}
}
