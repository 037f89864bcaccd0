package notebook

import (
	"errors"
	"fmt"
	"slices"
)

// EventType is the Type of every [OnEvent].
const EventType = "notebook_event"

// Kinds of events.
const (
	CellCreated = "cell_created" // Cell, Position
	CellEdited  = "cell_edited"  // CellID, Source, Rev
	CellDeleted = "cell_deleted" // CellID
	CellMoved   = "cell_moved"   // CellID, Position: where it is afterwards

	// NotebookRestored begins the notebook of a session that goes on from an
	// earlier one: State takes the place of all there was.
	NotebookRestored = "notebook_restored"
)

// Who has caused a change.
const (
	ByAgent   = "agent"
	ByConsole = "console" // a person at a view
	ByServer  = "server"
)

// Event is one change of a document. Which fields it has depends on its Kind.
type Event struct {
	Type     string  `json:"type"` // EventType
	Kind     string  `json:"event"`
	CausedBy string  `json:"by,omitempty"` // one of the By constants; old traces have none
	Cell     *Cell   `json:"cell,omitempty"`
	Position *int    `json:"position,omitempty"` // from 0
	CellID   string  `json:"cell_id,omitempty"`
	Source   *string `json:"source,omitempty"`
	Revision int     `json:"rev,omitempty"` // of the cell after the change

	State *State `json:"state,omitempty"`

	literal []byte // the source as JSON, as it came; nil: it is quoted anew
}

// JSON returns the event as a message. It costs less than json.Marshal, which
// gives the same: a source that has come as JSON is not quoted again.
func (e Event) JSON() []byte {
	var out builder
	out.string("type", EventType)
	out.string("event", e.Kind)
	if e.CausedBy != "" {
		out.string("by", e.CausedBy)
	}
	if e.Cell != nil {
		out.raw("cell", e.Cell.json(e.literal))
	}
	if e.Position != nil {
		out.integer("position", int64(*e.Position))
	}
	if e.CellID != "" {
		out.string("cell_id", e.CellID)
	}
	if e.Source != nil {
		out.raw("source", quotedOr(e.literal, *e.Source))
	}
	if e.Revision != 0 {
		out.integer("rev", int64(e.Revision))
	}
	if e.State != nil {
		if text, err := encode(e.State); err == nil { // of strings and JSON that was read: it can be written
			out.raw("state", text)
		}
	}
	return out.done()
}

// json returns the cell as JSON, its source as the literal, if there is one.
func (c *Cell) json(literal []byte) []byte {
	var out builder
	out.string("cell_id", c.ID)
	out.string("cell_type", c.Type)
	out.raw("source", quotedOr(literal, c.Source))
	out.string("display_name", c.Title)
	out.integer("rev", int64(c.Revision))
	return out.done()
}

func quotedOr(literal []byte, text string) []byte {
	if literal != nil {
		return literal
	}
	return appendQuoted(nil, text)
}

// ApplyEvent changes the document as e says, and calls nobody. An event that does
// not fit, as of a cell that is not there, is an error and changes nothing.
func (d *Document) ApplyEvent(e Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.apply(e); err != nil {
		return fmt.Errorf("%s event: %w", e.Kind, err)
	}
	return nil
}

// ReplayEvents makes the document that gave out events. They are not given out again.
func ReplayEvents(cfg DocumentConfig, events []Event) (*Document, error) {
	d := NewDocument(cfg)
	for i, e := range events {
		if err := d.ApplyEvent(e); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return d, nil
}

// change applies e and gives it out. The lock is held.
func (d *Document) change(e Event) error {
	if err := d.apply(e); err != nil {
		return err
	}
	e.Type = EventType
	d.cfg.OnEvent(e)
	return nil
}

// apply is the only place where cells change.
func (d *Document) apply(e Event) error {
	switch e.Kind {
	case CellCreated:
		return d.insert(e)
	case CellEdited:
		return d.edit(e)
	case CellDeleted:
		return d.remove(e.CellID)
	case CellMoved:
		return d.move(e)
	case NotebookRestored:
		return d.restore(e.State)
	default:
		return fmt.Errorf("event: unknown kind %q", e.Kind)
	}
}

func (d *Document) restore(s *State) error {
	if s == nil {
		return errors.New("state is missing")
	}
	d.cells = slices.Clone(s.Cells)
	return nil
}

func (d *Document) insert(e Event) error {
	switch {
	case e.Cell == nil || e.Position == nil:
		return errors.New("cell or position is missing")
	case e.Cell.ID == "":
		return errors.New("cell_id: expected a string that is not empty, found \"\"")
	case e.Cell.Type != CodeCell && e.Cell.Type != MarkdownCell:
		return fmt.Errorf("cell_type: expected %q or %q, found %q", CodeCell, MarkdownCell, e.Cell.Type)
	case *e.Position < 0 || *e.Position > len(d.cells):
		return fmt.Errorf("position: expected an integer from 0 to %d, the number of cells, found %d", len(d.cells), *e.Position)
	case d.index(e.Cell.ID) >= 0:
		return fmt.Errorf("cell_id: there is a cell %q already", e.Cell.ID)
	}
	cell := *e.Cell
	cell.ChangedBy = e.CausedBy
	d.cells = slices.Insert(d.cells, *e.Position, cell)
	return nil
}

func (d *Document) edit(e Event) error {
	cell, err := d.find(e.CellID)
	if err != nil {
		return err
	}
	if e.Source == nil {
		return errors.New("source is missing")
	}
	cell.Source, cell.Revision, cell.ChangedBy = *e.Source, e.Revision, e.CausedBy
	return nil
}

func (d *Document) remove(id string) error {
	i := d.index(id)
	if i < 0 {
		return unknownCell(id)
	}
	d.cells = slices.Delete(d.cells, i, i+1)
	return nil
}

func (d *Document) move(e Event) error {
	from := d.index(e.CellID)
	switch {
	case from < 0:
		return unknownCell(e.CellID)
	case e.Position == nil:
		return errors.New("position is missing")
	case *e.Position < 0 || *e.Position >= len(d.cells):
		return fmt.Errorf("position: expected an integer from 0 to %d, the last place, found %d", len(d.cells)-1, *e.Position)
	}
	cell := d.cells[from]
	d.cells = slices.Insert(slices.Delete(d.cells, from, from+1), *e.Position, cell)
	return nil
}
