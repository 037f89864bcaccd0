package builtin

import (
	"slices"
	"strings"

	"assay/internal/model"
)

// cachedUserTurnCount is how many of the latest user turns get a cache marker. The API writes
// its prompt cache up to the last marker and reads it up to the one before, where the
// previous call wrote it.
const cachedUserTurnCount = 2

// addCacheMarkerToLastBlock returns a copy of blocks with a prompt-cache marker on the last block that
// can have one, or blocks itself if none can. The stored transcript never has markers, so
// that it is the same in every call.
func addCacheMarkerToLastBlock(blocks []model.Block) []model.Block {
	for i := range slices.Backward(blocks) {
		if isCacheable(blocks[i]) {
			blocks = slices.Clone(blocks)
			blocks[i].Cache = true
			break
		}
	}
	return blocks
}

// isCacheable reports whether the API accepts a prompt-cache marker on a block: images, tool
// calls, tool results, and texts that are not blank.
func isCacheable(b model.Block) bool {
	switch b.Type {
	case model.BlockText:
		return strings.TrimSpace(b.Text) != ""
	case model.BlockImage, model.BlockToolUse, model.BlockToolResult:
		return true
	}
	return false
}

// addCacheMarkerToLastTool returns a copy of the tool definitions with a prompt-cache marker on the last
// one.
func addCacheMarkerToLastTool(tools []model.Tool) []model.Tool {
	if len(tools) == 0 {
		return tools
	}
	tools = slices.Clone(tools)
	tools[len(tools)-1].Cache = true
	return tools
}

// addCacheMarkersToUserTurns returns a copy of messages with prompt-cache markers at the ends of the last
// two user turns. Consecutive user messages are one turn. A turn without a block that can
// have a marker does not count.
func addCacheMarkersToUserTurns(messages []model.Message) []model.Message {
	messages = slices.Clone(messages)
	marked, turnMarked := 0, false
	for i := len(messages) - 1; i >= 0 && marked < cachedUserTurnCount; i-- {
		m := &messages[i]
		if m.Role != model.RoleUser {
			turnMarked = false
			continue
		}
		if !turnMarked && slices.ContainsFunc(m.Content, isCacheable) {
			m.Content = addCacheMarkerToLastBlock(m.Content)
			turnMarked, marked = true, marked+1
		}
	}
	return messages
}
