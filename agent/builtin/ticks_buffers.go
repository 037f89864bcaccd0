package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// chatBuffer is the buffer that holds what the user has asked for.
const chatBuffer = "chat-pending"

// maxCells is how many cells of the notebook are shown.
const maxCells = 100

// buffers shows the query and the cells of the notebook: those that the active
// thread is bound to, and those that no open thread is. What other threads are
// bound to is out of sight.
func (t *ticks) buffers(ctx context.Context) (bound, free []string) {
	if t.pending != "" {
		free = append(free, buffer(chatBuffer, t.pending))
	}
	var seen overview
	if err := t.conversation.notebook.act(ctx, "get_context", params{}, &seen); err != nil {
		return nil, append(free, buffer("notebook", err.Error()))
	}
	all := seen.Context.Cells
	cells := map[string]string{}
	for _, cell := range all {
		cells[cell.CellID] = buffer(cell.CellID, clip(strings.TrimSpace(cell.show()), maxOutput/min(len(all), maxCells)))
	}
	if active := t.mind.active(); active != nil {
		for _, id := range active.Buffers {
			bound = append(bound, cmp.Or(cells[id], buffer(id, "(There is no such cell.)")))
		}
	}
	all = slices.DeleteFunc(all, func(cell seenCell) bool { return t.mind.binds(cell.CellID) })
	for _, cell := range all[:min(len(all), maxCells)] {
		free = append(free, cells[cell.CellID])
	}
	if more := len(all) - maxCells; more > 0 {
		free = append(free, fmt.Sprintf("(There are %d more cells.)", more))
	}
	return bound, free
}

// binds reports whether a thread that is not completed has a cell among its
// buffers.
func (m *mind) binds(cellID string) bool {
	return m.find(func(t thread) bool { return t.Status != threadCompleted && slices.Contains(t.Buffers, cellID) }) != nil
}

// buffer is a named text, fenced so that nothing in it is taken for a part of the
// prompt.
func buffer(name, text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return "### " + cutColumns(escaped(name), maxIDColumns) + "\n\n" + fence + "\n" + text + "\n" + fence
}
