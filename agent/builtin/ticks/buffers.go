package ticks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/agent/builtin/render"
)

// queryBufferName is the name of the buffer that holds the text of the query.
const queryBufferName = "chat-pending"

// maxShownCells is the maximum number of notebook cells in the global buffers of a prompt.
const maxShownCells = 100

// promptBuffers returns the prompt's texts about the query and the notebook: for the active
// thread its cells; as global buffers the query and the cells that belong to no open thread.
// Cells of other open threads are left out. If the notebook does not answer, the global
// buffers have the error.
func (s *strategy) promptBuffers(ctx context.Context) (threadBuffers, globalBuffers []string) {
	if s.pendingQuery != "" {
		globalBuffers = append(globalBuffers, formatBuffer(queryBufferName, s.pendingQuery))
	}
	overview, err := s.conversation.Notebook.Overview(ctx)
	if err != nil {
		return nil, append(globalBuffers, formatBuffer("notebook", err.Error()))
	}
	all := overview.Cells
	cells := map[string]string{}
	for _, cell := range all {
		cells[cell.CellID] = formatBuffer(cell.CellID, render.Clip(strings.TrimSpace(cell.Text()), render.MaxTextBytes/min(len(all), maxShownCells)))
	}
	if active := s.state.activeThread(); active != nil {
		for _, id := range active.Buffers {
			threadBuffers = append(threadBuffers, cmp.Or(cells[id], formatBuffer(id, "(There is no such cell.)")))
		}
	}
	all = slices.DeleteFunc(all, func(cell render.Cell) bool { return s.state.isInOpenThread(cell.CellID) })
	for _, cell := range all[:min(len(all), maxShownCells)] {
		globalBuffers = append(globalBuffers, cells[cell.CellID])
	}
	if more := len(all) - maxShownCells; more > 0 {
		globalBuffers = append(globalBuffers, fmt.Sprintf("(There are %d more cells.)", more))
	}
	return threadBuffers, globalBuffers
}

// isInOpenThread reports whether a cell is among the buffers of a thread that is not
// completed.
func (s *tickState) isInOpenThread(cellID string) bool {
	return s.findThread(func(t thread) bool { return t.Status != threadCompleted && slices.Contains(t.Buffers, cellID) }) != nil
}

// formatBuffer returns a named text as a Markdown section with a code fence longer than any
// in the text, so that the text cannot be mistaken for a part of the prompt.
func formatBuffer(name, text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return "### " + cutColumns(escapeLine(name), maxIDColumns) + "\n\n" + fence + "\n" + text + "\n" + fence
}
