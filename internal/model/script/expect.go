package script

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// replyExpectation holds the texts that a scripted reply expects in the conversation
// before it. The zero value expects nothing.
type replyExpectation struct {
	LastUser   string `json:"last_user_contains"`
	ToolResult string `json:"tool_result_contains"`
}

// check returns an error if the last turn of the user lacks an expected text. The turn
// is empty if the conversation ends with the assistant.
func (e replyExpectation) check(messages []model.Message) error {
	content := lastUserContent(messages)
	text, results := model.JoinTextBlocks(content), joinToolResultTexts(content)
	if !strings.Contains(text, e.LastUser) {
		return fmt.Errorf("expected the last user message to contain %q, found %q", e.LastUser, endpoint.TextExcerpt(text))
	}
	if !strings.Contains(results, e.ToolResult) {
		return fmt.Errorf("expected a tool result to contain %q, found %q", e.ToolResult, endpoint.TextExcerpt(results))
	}
	return nil
}

// lastUserContent returns the content blocks of the messages of the user at the end of
// a conversation.
func lastUserContent(messages []model.Message) []model.Block {
	var content []model.Block
	for _, m := range slices.Backward(messages) {
		if m.Role != model.RoleUser {
			break
		}
		content = slices.Concat(m.Content, content)
	}
	return content
}

// joinToolResultTexts joins the texts of the tool results among the blocks with
// newlines.
func joinToolResultTexts(content []model.Block) string {
	var texts []string
	for _, b := range content {
		if b.Type == model.BlockToolResult {
			texts = append(texts, model.JoinTextBlocks(b.Content))
		}
	}
	return strings.Join(texts, "\n")
}
