package builtin

import (
	"slices"
	"strings"

	"assay/internal/model"
)

// cachedTurns is how many turns of the user are marked: behind the last one the
// API is to write its cache, and behind the one before it wrote it for the
// previous call.
const cachedTurns = 2

// markLast returns blocks with the last that can be marked marked for the
// cache. Like its siblings it marks a copy: what is kept has no markers, and so
// is the same in every call.
func markLast(blocks []model.Block) []model.Block {
	for i := range slices.Backward(blocks) {
		if markable(blocks[i]) {
			blocks = slices.Clone(blocks)
			blocks[i].Cache = true
			break
		}
	}
	return blocks
}

// markable reports whether the API takes a marker on a block.
func markable(b model.Block) bool {
	switch b.Type {
	case model.BlockText:
		return strings.TrimSpace(b.Text) != ""
	case model.BlockImage, model.BlockToolUse, model.BlockToolResult:
		return true
	}
	return false
}

// markLastTool returns tools with the last one marked for the cache.
func markLastTool(tools []model.Tool) []model.Tool {
	if len(tools) == 0 {
		return tools
	}
	tools = slices.Clone(tools)
	tools[len(tools)-1].Cache = true
	return tools
}

// markTurns returns messages with the end of the last turns of the user marked
// for the cache. Neighbours are one turn; a turn of which nothing can be marked
// does not count.
func markTurns(messages []model.Message) []model.Message {
	messages = slices.Clone(messages)
	marked, turn := 0, false // turn: it has its mark
	for i := len(messages) - 1; i >= 0 && marked < cachedTurns; i-- {
		m := &messages[i]
		if m.Role != model.RoleUser {
			turn = false
			continue
		}
		if !turn && slices.ContainsFunc(m.Content, markable) {
			m.Content = markLast(m.Content)
			turn, marked = true, marked+1
		}
	}
	return messages
}
