package builtin

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
)

// keptRounds is how many rounds a compacted transcript keeps.
const keptRounds = 3

// rounds tell what may go of a conversation that is too long: a round is a message
// in which the model acts, and the next, which says what came of it and nothing
// else. Without any, nothing may.
type rounds struct {
	is   func(act, outcome model.Message) bool // nil: none is
	note string                                // what stands in the place of those that went
}

// toolRounds are calls and their results.
func toolRounds() rounds {
	return rounds{
		note: "[Earlier tool calls and their results were dropped here to make room. The notebook still shows what they did.]",
		is: func(act, outcome model.Message) bool {
			other := slices.ContainsFunc(outcome.Content, func(b model.Block) bool { return b.Type != model.BlockToolResult })
			return len(callIDs(act.Content)) > 0 && len(outcome.Content) > 0 && !other
		},
	}
}

// blockRounds are replies with code that is run, and its outputs.
func blockRounds(language string) rounds {
	heading := fmt.Sprintf(outputHeading, 1)
	return rounds{
		note: "[Earlier code blocks and their outputs were dropped here to make room. What they defined is still in the kernel.]",
		is: func(act, outcome model.Message) bool {
			return act.Role == model.RoleAssistant && len(codeIn(model.PlainText(act.Content), language)) > 0 &&
				outcome.Role == model.RoleUser && strings.HasPrefix(model.PlainText(outcome.Content), heading)
		},
	}
}

// compact drops the oldest rounds and leaves a note in their place. It returns how
// many it dropped; the last three stay.
func (r rounds) compact(messages []model.Message) ([]model.Message, int) {
	found := r.in(messages)
	if len(found) <= keptRounds {
		return messages, 0
	}
	drop := found[:len(found)-keptRounds]
	var out []model.Message
	for i, m := range messages {
		if i == drop[0] {
			out = append(out, userMessage(model.Text(r.note)))
		}
		if !slices.Contains(drop, i) && !slices.Contains(drop, i-1) {
			out = append(out, m)
		}
	}
	return out, len(drop)
}

// in lists where rounds begin.
func (r rounds) in(messages []model.Message) []int {
	var found []int
	for i := range len(messages) - 1 {
		if r.is != nil && r.is(messages[i], messages[i+1]) {
			found = append(found, i)
		}
	}
	return found
}
