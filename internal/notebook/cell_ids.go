package notebook

import (
	"strconv"
	"strings"
)

// maxCellIDBytes is the length in bytes of the longest cell id that the nbformat file format
// allows.
const maxCellIDBytes = 64

// nbformatCellIDs returns an id for each cell that the nbformat file format allows: 1 to 64
// letters, digits, '-' and '_', each id once. A cell's own id is kept if it is allowed and not
// taken.
func nbformatCellIDs(cells []Cell) []string {
	ids := make([]string, len(cells))
	taken := map[string]bool{}
	for i, cell := range cells {
		if cell.ID != "" && toNbformatCellID(cell.ID) == cell.ID && !taken[cell.ID] {
			ids[i] = cell.ID
			taken[cell.ID] = true
		}
	}
	for i, cell := range cells {
		if ids[i] == "" {
			ids[i] = unusedCellID(toNbformatCellID(cell.ID), taken)
			taken[ids[i]] = true
		}
	}
	return ids
}

// toNbformatCellID returns the cell id with '-' in place of each character that nbformat does not
// allow, cut to 64 bytes. It is empty if id is.
func toNbformatCellID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, id)
	return id[:min(len(id), maxCellIDBytes)]
}

// unusedCellID returns id, or the first of id-2, id-3 and so on that is not in taken. An empty
// id counts as "cell".
func unusedCellID(id string, taken map[string]bool) string {
	if id == "" {
		id = "cell"
	}
	free := id
	for n := 2; taken[free]; n++ {
		suffix := "-" + strconv.Itoa(n)
		free = id[:min(len(id), maxCellIDBytes-len(suffix))] + suffix
	}
	return free
}
