package builtin

import (
	"slices"

	"assay/internal/model"
)

// keptRounds is how many rounds a compacted transcript keeps.
const keptRounds = 3

// Compaction says which messages may be dropped from a conversation that is too long. A
// round is a message in which the model acts and the next message, which holds only the
// outcome. The zero value allows nothing to be dropped.
type Compaction struct {
	IsRound func(act, outcome model.Message) bool // nil: there are no rounds
	Note    string                                // text for the model in place of what was dropped
}

// Compact replaces all rounds but the last three by the note and returns how many it
// dropped.
func (c Compaction) Compact(messages []model.Message) (compacted []model.Message, dropped int) {
	starts := c.roundStarts(messages)
	if len(starts) <= keptRounds {
		return messages, 0
	}
	drop := starts[:len(starts)-keptRounds]
	for i, m := range messages {
		if i == drop[0] {
			compacted = append(compacted, UserMessage(model.Text(c.Note)))
		}
		if !slices.Contains(drop, i) && !slices.Contains(drop, i-1) {
			compacted = append(compacted, m)
		}
	}
	return compacted, len(drop)
}

// roundStarts returns the indexes of the messages with which rounds begin.
func (c Compaction) roundStarts(messages []model.Message) []int {
	var starts []int
	for i := range len(messages) - 1 {
		if c.IsRound != nil && c.IsRound(messages[i], messages[i+1]) {
			starts = append(starts, i)
		}
	}
	return starts
}
