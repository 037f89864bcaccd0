package notebook

import (
	"strconv"
	"strings"
)

// maxCellIDBytes is the longest cell id that nbformat allows.
const maxCellIDBytes = 64

// nbformatCellIDs returns an id for each cell that nbformat allows: 1 to 64 letters, digits,
// '-' and '_', each id once. An allowed id stays as it is.
func nbformatCellIDs(cells []Cell) []string {
	ids := make([]string, len(cells))
	taken := map[string]bool{}
	for i, cell := range cells {
		if cell.ID != "" && nbformatCellID(cell.ID) == cell.ID && !taken[cell.ID] {
			ids[i] = cell.ID
			taken[cell.ID] = true
		}
	}
	for i, cell := range cells {
		if ids[i] == "" {
			ids[i] = unusedCellID(nbformatCellID(cell.ID), taken)
			taken[ids[i]] = true
		}
	}
	return ids
}

// nbformatCellID returns id with '-' in place of characters that nbformat does not allow,
// cut to the longest length.
func nbformatCellID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, id)
	return id[:min(len(id), maxCellIDBytes)]
}

// unusedCellID returns id, or the first of id-2, id-3, … that is not taken.
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
