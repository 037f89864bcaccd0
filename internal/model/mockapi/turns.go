package mockapi

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assay/internal/model"
)

// mergeAdjacentTurns joins consecutive messages of the same role into one, as the API
// does.
func mergeAdjacentTurns(messages []model.Message) []model.Message {
	var turns []model.Message
	for _, m := range messages {
		if last := len(turns) - 1; last >= 0 && turns[last].Role == m.Role {
			turns[last].Content = slices.Concat(turns[last].Content, m.Content)
			continue
		}
		turns = append(turns, m)
	}
	return turns
}

// turnStartIndexes returns the index of the first message of each turn. A turn is a run
// of consecutive messages with the same role.
func turnStartIndexes(messages []model.Message) []int {
	var starts []int
	for i, m := range messages {
		if i == 0 || m.Role != messages[i-1].Role {
			starts = append(starts, i)
		}
	}
	return starts
}

// checkToolPairs returns an error if a tool call has no result in the next turn, or a
// result has no call in the turn before. A turn is a run of messages with the same
// role.
func checkToolPairs(messages []model.Message) error {
	starts := turnStartIndexes(messages)
	var calls []string // ids of the turn before
	for i, turn := range mergeAdjacentTurns(messages) {
		if err := checkCallsAnswered(calls, turn); err != nil {
			return fmt.Errorf("messages.%d: %w", starts[i-1], err)
		}
		if err := checkResultsHaveCalls(calls, turn); err != nil {
			return fmt.Errorf("messages.%d: %w", starts[i], err)
		}
		calls = toolCallIDs(turn.Content)
	}
	if err := checkCallsAnswered(calls, model.Message{}); err != nil {
		return fmt.Errorf("messages.%d: %w", starts[len(starts)-1], err)
	}
	return nil
}

// checkCallsAnswered returns an error if one of the tool calls has no result at the
// start of the next turn, before any other block.
func checkCallsAnswered(calls []string, next model.Message) error {
	results := toolResultIDs(next.Content, true)
	for _, id := range calls {
		if !slices.Contains(results, id) {
			return fmt.Errorf("the tool_use %s has no tool_result at the start of the next message", id)
		}
	}
	return nil
}

// checkResultsHaveCalls returns an error if a tool result of the turn belongs to none
// of the calls, or two results belong to the same call.
func checkResultsHaveCalls(calls []string, turn model.Message) error {
	results := toolResultIDs(turn.Content, false)
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

func toolCallIDs(content []model.Block) []string {
	var ids []string
	for _, call := range model.ToolUses(content) {
		ids = append(ids, call.ID)
	}
	return ids
}

// toolResultIDs returns the ids of the tool calls that the content has results for.
// With leadingOnly, only results before any other block count.
func toolResultIDs(content []model.Block, leadingOnly bool) []string {
	var ids []string
	for _, b := range content {
		if b.Type == model.BlockToolResult {
			ids = append(ids, b.ToolUseID)
		} else if leadingOnly {
			break
		}
	}
	return ids
}

// checkLastTurn checks the end of the conversation: a last message of the assistant,
// which the model would continue, or tool results that follow a turn with thinking. It
// returns an error if the API would reject it.
func (in *messageRequest) checkLastTurn() error {
	last := in.Messages[len(in.Messages)-1]
	if last.Role == model.RoleAssistant {
		return checkPrefill(len(in.Messages)-1, last.Content)
	}
	if in.Thinking != nil && in.Thinking.Type == "enabled" {
		return checkToolTurnStartsWithThinking(in.Messages)
	}
	return nil
}

// checkPrefill checks a last message of the assistant, which the model is to continue;
// i is its index. It returns an error if the message ends with white space.
func checkPrefill(i int, content []model.Block) error {
	if len(content) == 0 {
		return nil
	}
	end := content[len(content)-1]
	if end.Type == model.BlockText && strings.TrimRightFunc(end.Text, unicode.IsSpace) != end.Text {
		return fmt.Errorf("messages.%d: the last message, of the assistant, must not end with white space", i)
	}
	return nil
}

// checkToolTurnStartsWithThinking returns an error if the last turn has tool results
// but the model's turn before it does not begin with a thinking block. The API requires
// that while thinking is enabled.
func checkToolTurnStartsWithThinking(messages []model.Message) error {
	turns := mergeAdjacentTurns(messages)
	last := len(turns) - 1
	if last < 1 || len(toolResultIDs(turns[last].Content, false)) == 0 {
		return nil
	}
	switch first := turns[last-1].Content[0]; first.Type {
	case model.BlockThinking, model.BlockRedactedThinking:
		return nil
	default:
		at := turnStartIndexes(messages)[last-1]
		return fmt.Errorf("messages.%d.content.0.type: must be thinking or redacted_thinking, not %s, as thinking is enabled", at, first.Type)
	}
}
