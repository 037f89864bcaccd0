package notebook

import (
	"encoding/json"
	"fmt"
)

// CellsFromContext reads the cells of the "context" that a console answers
// get_context with. A cell without cell_id, or with a field of the wrong type,
// is an error that names its index. A cell whose cell_type is not "markdown"
// counts as code.
func CellsFromContext(context json.RawMessage) ([]Cell, error) {
	members, err := readMembers(context)
	if err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(members["cells"], &list); err != nil {
		return nil, fmt.Errorf("context: cells: expected an array, found %s", describe(members["cells"]))
	}
	cells := make([]Cell, len(list))
	for i, text := range list {
		if cells[i], err = foreignCell(text); err != nil {
			return nil, fmt.Errorf("context: cell %d: %w", i, err)
		}
	}
	return cells, nil
}

func foreignCell(text json.RawMessage) (Cell, error) {
	fields, err := read(text)
	if err != nil {
		return Cell{}, err
	}
	cell := Cell{
		ID:       fields.id("cell_id"),
		Type:     fields.optionalText("cell_type"),
		Source:   fields.optionalText("source"),
		Title:    fields.optionalText("display_name"),
		Revision: fields.optionalInteger("rev"),
	}
	if cell.Type != MarkdownCell {
		cell.Type = CodeCell
	}
	return cell, fields.err()
}
