package builtin

import (
	"slices"
	"strings"

	"assay/internal/model"
)

// unanswered is the result of a call that never got one.
const unanswered = "The call was interrupted: it has no result, and what it did is not known."

func userMessage(content ...model.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: content}
}

func assistantMessage(content ...model.Block) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: content}
}

// repair returns a transcript that the Messages API takes, wherever it was cut:
// every call has one result, at the start of the next message; every result has
// its call; no text is blank; the user begins. One that is sound already
// comes back as it is.
func repair(messages []model.Message) []model.Message {
	var out []model.Message
	var open []string // calls of the last message, which wait for results
	used := map[string]bool{}
	for _, m := range messages {
		var results []model.Block
		if m.Role == model.RoleUser {
			results, open = settle(open, m.Content), nil
		} else if len(open) > 0 {
			out, open = append(out, userMessage(settle(open, nil)...)), nil
		}
		content := slices.Concat(results, presentable(m, used))
		if len(content) == 0 || len(out) == 0 && m.Role != model.RoleUser {
			continue
		}
		out = append(out, model.Message{Role: m.Role, Content: content})
		open = callIDs(content)
	}
	if len(open) > 0 {
		out = append(out, userMessage(settle(open, nil)...))
	}
	return out
}

// settle returns one result for every open call: those among content, in their
// order, then made up ones.
func settle(open []string, content []model.Block) []model.Block {
	var results []model.Block
	waiting := slices.Clone(open)
	for _, b := range content {
		if i := slices.Index(waiting, b.ToolUseID); b.Type == model.BlockToolResult && i >= 0 {
			results = append(results, b)
			waiting = slices.Delete(waiting, i, i+1)
		}
	}
	for _, id := range waiting {
		results = append(results, model.ToolResult(id, true, model.Text(unanswered)))
	}
	return results
}

// presentable returns what of a message can be sent, but for its results.
func presentable(m model.Message, used map[string]bool) []model.Block {
	var content []model.Block
	for _, b := range m.Content {
		switch {
		case b.Type == model.BlockToolResult:
			continue
		case b.Type == model.BlockText && strings.TrimSpace(b.Text) == "":
			continue
		case b.Type == model.BlockThinking && b.Signature == "":
			continue // it was cut
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
		return spoken(content)
	}
	return content
}

func callIDs(content []model.Block) []string {
	var ids []string
	for _, call := range model.ToolUses(content) {
		ids = append(ids, call.ID)
	}
	return ids
}
