package notebook

import (
	"strconv"
	"strings"
)

// longestCellID is the longest cell id that nbformat allows, in bytes.
const longestCellID = 64

// fileIDs returns the ids of cells as nbformat allows them: letters, digits, '-'
// and '_', 1 to 64 of them, no two the same. A good id stays as it is.
func fileIDs(cells []Cell) []string {
	ids := make([]string, len(cells))
	taken := map[string]bool{}
	for i, cell := range cells {
		if cell.ID != "" && fileID(cell.ID) == cell.ID && !taken[cell.ID] {
			ids[i] = cell.ID
			taken[cell.ID] = true
		}
	}
	for i, cell := range cells {
		if ids[i] == "" {
			ids[i] = freeID(fileID(cell.ID), taken)
			taken[ids[i]] = true
		}
	}
	return ids
}

// fileID puts a '-' in the place of what is not allowed.
func fileID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, id)
	return id[:min(len(id), longestCellID)]
}

// freeID returns id, or the first of id-2, id-3, ... that is not taken.
func freeID(id string, taken map[string]bool) string {
	if id == "" {
		id = "cell"
	}
	free := id
	for n := 2; taken[free]; n++ {
		suffix := "-" + strconv.Itoa(n)
		free = id[:min(len(id), longestCellID-len(suffix))] + suffix
	}
	return free
}
