package model

import (
	"fmt"
	"slices"
)

// merged joins neighbours of one role, as the API does.
func merged(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		if last := len(out) - 1; last >= 0 && out[last].Role == m.Role {
			out[last].Content = slices.Concat(out[last].Content, m.Content)
			continue
		}
		out = append(out, m)
	}
	return out
}

// checkPairs looks for calls without results in the next message, and for
// results without calls in the one before.
func checkPairs(messages []Message) error {
	for i, m := range messages {
		var calls, results []string
		if m.Role == RoleUser {
			results = resultIDs(m.Content, false)
			if i > 0 {
				calls = callIDs(messages[i-1].Content)
			}
			for n, id := range results {
				if !slices.Contains(calls, id) {
					return fmt.Errorf("messages.%d: the tool_result for %s has no tool_use in the message before", i, id)
				}
				if slices.Contains(results[:n], id) {
					return fmt.Errorf("messages.%d: more than one tool_result for %s", i, id)
				}
			}
			continue
		}
		if i+1 < len(messages) {
			results = resultIDs(messages[i+1].Content, true)
		}
		for _, id := range callIDs(m.Content) {
			if !slices.Contains(results, id) {
				return fmt.Errorf("messages.%d: the tool_use %s has no tool_result at the start of the next message", i, id)
			}
		}
	}
	return nil
}

func callIDs(content []Block) []string {
	var ids []string
	for _, call := range ToolUses(content) {
		ids = append(ids, call.ID)
	}
	return ids
}

// resultIDs lists what the results answer; with leading only those that come
// before anything else.
func resultIDs(content []Block, leading bool) []string {
	var ids []string
	for _, b := range content {
		if b.Type == BlockToolResult {
			ids = append(ids, b.ToolUseID)
		} else if leading {
			break
		}
	}
	return ids
}
