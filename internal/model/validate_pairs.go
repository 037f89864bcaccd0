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

// starts returns which message each turn of a conversation begins with.
func starts(messages []Message) []int {
	var out []int
	for i, m := range messages {
		if i == 0 || m.Role != messages[i-1].Role {
			out = append(out, i)
		}
	}
	return out
}

// checkPairs looks for calls without results in the next turn, and for results
// without calls in the one before.
func checkPairs(messages []Message) error {
	at := starts(messages)
	var calls []string // of the turn before
	for i, turn := range merged(messages) {
		if err := checkAnswered(calls, turn); err != nil {
			return fmt.Errorf("messages.%d: %w", at[i-1], err)
		}
		if err := checkResults(calls, turn); err != nil {
			return fmt.Errorf("messages.%d: %w", at[i], err)
		}
		calls = callIDs(turn.Content)
	}
	if err := checkAnswered(calls, Message{}); err != nil {
		return fmt.Errorf("messages.%d: %w", at[len(at)-1], err)
	}
	return nil
}

// checkAnswered looks for calls that the next turn does not answer.
func checkAnswered(calls []string, next Message) error {
	results := resultIDs(next.Content, true)
	for _, id := range calls {
		if !slices.Contains(results, id) {
			return fmt.Errorf("the tool_use %s has no tool_result at the start of the next message", id)
		}
	}
	return nil
}

// checkResults looks for results that answer no call of the turn before.
func checkResults(calls []string, turn Message) error {
	results := resultIDs(turn.Content, false)
	for n, id := range results {
		if !slices.Contains(calls, id) {
			return fmt.Errorf("the tool_result for %s has no tool_use in the message before", id)
		}
		if slices.Contains(results[:n], id) {
			return fmt.Errorf("more than one tool_result for %s", id)
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
