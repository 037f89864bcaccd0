package notebook

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/protocol"
)

// EventType is the message type of every [Event] of the notebook.
const EventType = "notebook_event"

// Kinds of events.
const (
	CellCreated = "cell_created" // has Cell and Position
	CellEdited  = "cell_edited"  // has CellID, Source and Revision
	CellDeleted = "cell_deleted" // has CellID
	CellMoved   = "cell_moved"   // has CellID and Position, where the cell is afterwards

	// NotebookRestored is the first event of a session that goes on from an earlier
	// one. It has State, which replaces all cells.
	NotebookRestored = "notebook_restored"
)

// Values of Event.CausedBy and Cell.ChangedBy: who has caused a change.
const (
	ByAgent   = "agent"
	ByConsole = "console" // a person at a console
	ByServer  = "server"  // the server itself
)

// Event is one change of the notebook's cells. Which fields are set depends on Kind.
type Event struct {
	Type     string  `json:"type"`         // EventType
	Kind     string  `json:"event"`        // one of the constants CellCreated to NotebookRestored
	CausedBy string  `json:"by,omitempty"` // ByAgent, ByConsole or ByServer; empty in old traces
	Cell     *Cell   `json:"cell,omitempty"`
	Position *int    `json:"position,omitempty"` // from 0
	CellID   string  `json:"cell_id,omitempty"`
	Source   *string `json:"source,omitempty"`
	Revision int     `json:"rev,omitempty"` // of the cell after the change

	State *State `json:"state,omitempty"`

	sourceLiteral []byte // the source as the JSON string that came in; nil: it must be quoted
}

// JSON returns the event as a JSON message. The result is the same as that of json.Marshal but
// costs less, because a source that came in as JSON is not quoted again.
func (e Event) JSON() []byte {
	var out objectBuilder
	out.addStringField("type", EventType)
	out.addStringField("event", e.Kind)
	if e.CausedBy != "" {
		out.addStringField("by", e.CausedBy)
	}
	if e.Cell != nil {
		out.addRawField("cell", e.Cell.encodeJSON(e.sourceLiteral))
	}
	if e.Position != nil {
		out.addIntegerField("position", int64(*e.Position))
	}
	if e.CellID != "" {
		out.addStringField("cell_id", e.CellID)
	}
	if e.Source != nil {
		out.addRawField("source", sourceAsJSON(e.sourceLiteral, *e.Source))
	}
	if e.Revision != 0 {
		out.addIntegerField("rev", int64(e.Revision))
	}
	if e.State != nil {
		if text, err := protocol.Marshal(e.State); err == nil { // it cannot fail: it has strings, and JSON that was parsed
			out.addRawField("state", text)
		}
	}
	return out.finishObject()
}

// encodeJSON returns the cell as a JSON object. literal is its source as a JSON string; if it
// is nil the source is quoted.
func (c *Cell) encodeJSON(literal []byte) []byte {
	var out objectBuilder
	out.addStringField("cell_id", c.ID)
	out.addStringField("cell_type", c.Type)
	out.addRawField("source", sourceAsJSON(literal, c.Source))
	out.addStringField("display_name", c.Title)
	out.addIntegerField("rev", int64(c.Revision))
	return out.finishObject()
}

// sourceAsJSON returns a cell's source as a JSON string: literal, or the quoted text if literal
// is nil.
func sourceAsJSON(literal []byte, text string) []byte {
	if literal != nil {
		return literal
	}
	return appendQuoted(nil, text)
}

// ApplyEvent changes the document's cells as the event e says, without calling OnEvent. It
// returns an error, and changes nothing, if e does not fit, such as an edit of a cell that does
// not exist.
func (d *Document) ApplyEvent(e Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.changeCellsByEvent(e); err != nil {
		return fmt.Errorf("%s event: %w", e.Kind, err)
	}
	return nil
}

// ReplayEvents returns a document to which these events were applied in order. OnEvent is not
// called for them. It fails if an event does not fit.
func ReplayEvents(cfg DocumentConfig, events []Event) (*Document, error) {
	d := NewDocument(cfg)
	for i, e := range events {
		if err := d.ApplyEvent(e); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return d, nil
}

// applyAndPublish changes the document's cells as the event e says and calls OnEvent with e. It
// fails, without a change, if e does not fit. The caller holds mu.
func (d *Document) applyAndPublish(e Event) error {
	if err := d.changeCellsByEvent(e); err != nil {
		return err
	}
	e.Type = EventType
	d.cfg.OnEvent(e)
	return nil
}

// changeCellsByEvent changes the document's cells as the event e says; no other method changes them. It
// fails, without a change, if e does not fit. The caller holds mu.
func (d *Document) changeCellsByEvent(e Event) error {
	switch e.Kind {
	case CellCreated:
		return d.insertCell(e)
	case CellEdited:
		return d.changeSource(e)
	case CellDeleted:
		return d.removeCell(e.CellID)
	case CellMoved:
		return d.changePosition(e)
	case NotebookRestored:
		return d.replaceCells(e.State)
	default:
		return fmt.Errorf("event: unknown kind %q", e.Kind)
	}
}

// replaceCells applies the event NotebookRestored: the cells of s replace all cells. It fails
// if s is nil.
func (d *Document) replaceCells(s *State) error {
	if s == nil {
		return errors.New("state is missing")
	}
	d.cells = slices.Clone(s.Cells)
	return nil
}

// insertCell applies the event CellCreated: it inserts the cell at its position. It fails if a
// field is missing or wrong, or the id is taken.
func (d *Document) insertCell(e Event) error {
	switch {
	case e.Cell == nil || e.Position == nil:
		return errors.New("cell or position is missing")
	case e.Cell.ID == "":
		return errors.New("cell_id: expected a string that is not empty, found \"\"")
	case e.Cell.Type != CodeCell && e.Cell.Type != MarkdownCell:
		return fmt.Errorf("cell_type: expected %q or %q, found %q", CodeCell, MarkdownCell, e.Cell.Type)
	case *e.Position < 0 || *e.Position > len(d.cells):
		return fmt.Errorf("position: expected an integer from 0 to %d, the number of cells, found %d", len(d.cells), *e.Position)
	case d.cellIndex(e.Cell.ID) >= 0:
		return fmt.Errorf("cell_id: there is a cell %q already", e.Cell.ID)
	}
	cell := *e.Cell
	cell.ChangedBy = e.CausedBy
	d.cells = slices.Insert(d.cells, *e.Position, cell)
	return nil
}

// changeSource applies the event CellEdited: it sets a cell's source and revision. It fails if
// there is no such cell or source.
func (d *Document) changeSource(e Event) error {
	cell, err := d.findCell(e.CellID)
	if err != nil {
		return err
	}
	if e.Source == nil {
		return errors.New("source is missing")
	}
	cell.Source, cell.Revision, cell.ChangedBy = *e.Source, e.Revision, e.CausedBy
	return nil
}

// removeCell applies the event CellDeleted: it removes the cell with this id. It fails if there
// is none.
func (d *Document) removeCell(id string) error {
	i := d.cellIndex(id)
	if i < 0 {
		return unknownCellError(id)
	}
	d.cells = slices.Delete(d.cells, i, i+1)
	return nil
}

// changePosition applies the event CellMoved: it moves a cell to its new position. It fails if
// there is no such cell or position.
func (d *Document) changePosition(e Event) error {
	from := d.cellIndex(e.CellID)
	switch {
	case from < 0:
		return unknownCellError(e.CellID)
	case e.Position == nil:
		return errors.New("position is missing")
	case *e.Position < 0 || *e.Position >= len(d.cells):
		return fmt.Errorf("position: expected an integer from 0 to %d, the last place, found %d", len(d.cells)-1, *e.Position)
	}
	cell := d.cells[from]
	d.cells = slices.Insert(slices.Delete(d.cells, from, from+1), *e.Position, cell)
	return nil
}
