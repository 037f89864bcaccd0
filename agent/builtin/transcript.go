package builtin

import (
	"slices"
	"strings"

	"assay/internal/model"
)

// interruptedCallText is the text of the error result that a transcript gets for a tool call
// without a result.
const interruptedCallText = "The call was interrupted: it has no result, and what it did is not known."

// repairMessages turns a transcript that was cut off anywhere into one that the Messages API
// accepts: the user speaks first, every tool call has exactly one result at the start of the
// next message, every result has its call, and no text is blank. A valid transcript is
// returned unchanged.
func repairMessages(messages []model.Message) []model.Message {
	var out []model.Message
	var open []string // ids of the calls of the last message, which wait for results
	used := map[string]bool{}
	for _, m := range messages {
		var results []model.Block
		if m.Role == model.RoleUser {
			results, open = resultsForCalls(open, m.Content), nil
		} else if len(open) > 0 {
			out, open = append(out, UserMessage(resultsForCalls(open, nil)...)), nil
		}
		content := slices.Concat(results, sendableBlocks(m, used))
		if len(content) == 0 || len(out) == 0 && m.Role != model.RoleUser {
			continue
		}
		out = append(out, model.Message{Role: m.Role, Content: content})
		open = toolCallIDs(content)
	}
	if len(open) > 0 {
		out = append(out, UserMessage(resultsForCalls(open, nil)...))
	}
	return out
}

// resultsForCalls returns one tool result for each of the call ids in open: first the
// results that content has, in their order, then an error result for each call without one.
func resultsForCalls(open []string, content []model.Block) []model.Block {
	var results []model.Block
	waiting := slices.Clone(open)
	for _, b := range content {
		if i := slices.Index(waiting, b.ToolUseID); b.Type == model.BlockToolResult && i >= 0 {
			results = append(results, b)
			waiting = slices.Delete(waiting, i, i+1)
		}
	}
	for _, id := range waiting {
		results = append(results, model.ToolResult(id, true, model.Text(interruptedCallText)))
	}
	return results
}

// sendableBlocks returns the blocks of a message that the API accepts, except tool results.
// used is the set of call ids of earlier messages: sendableBlocks drops calls whose id is in
// it, and adds the ids of the others.
func sendableBlocks(m model.Message, used map[string]bool) []model.Block {
	var content []model.Block
	for _, b := range m.Content {
		switch {
		case b.Type == model.BlockToolResult:
			continue
		case b.Type == model.BlockText && strings.TrimSpace(b.Text) == "":
			continue
		case b.Type == model.BlockThinking && b.Signature == "":
			continue // it was cut off
		case b.Type == model.BlockImage && m.Role == model.RoleAssistant:
			continue
		case b.Type == model.BlockToolUse && (m.Role != model.RoleAssistant || used[b.ID]):
			continue
		case b.Type == model.BlockToolUse:
			used[b.ID] = true
		}
		content = append(content, b)
	}
	if m.Role == model.RoleAssistant {
		return trimThinking(content)
	}
	return content
}

// toolCallIDs returns the ids of the tool calls in content, in order.
func toolCallIDs(content []model.Block) []string {
	var ids []string
	for _, call := range model.ToolUses(content) {
		ids = append(ids, call.ID)
	}
	return ids
}
