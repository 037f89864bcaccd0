package model

import (
	"fmt"
	"strings"
)

// expectation is what must have been said before a reply; empty expects nothing.
type expectation struct {
	LastUser   string `json:"last_user_contains"`
	ToolResult string `json:"tool_result_contains"`
}

// check compares what was said last with what was expected.
func (e expectation) check(messages []Message) error {
	var said, results string
	turns := merged(messages)
	if last := len(turns) - 1; last >= 0 && turns[last].Role == RoleUser {
		said = PlainText(turns[last].Content)
		results = resultText(turns[last].Content)
	}
	if !strings.Contains(said, e.LastUser) {
		return fmt.Errorf("expected the last user message to contain %q, found %q", e.LastUser, excerpt(said))
	}
	if !strings.Contains(results, e.ToolResult) {
		return fmt.Errorf("expected a tool result to contain %q, found %q", e.ToolResult, excerpt(results))
	}
	return nil
}

// excerpt keeps an error readable.
func excerpt(text string) string {
	const most = 400
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

func resultText(content []Block) string {
	var texts []string
	for _, b := range content {
		if b.Type == BlockToolResult {
			texts = append(texts, PlainText(b.Content))
		}
	}
	return strings.Join(texts, "\n")
}
