package builtin

import (
	"slices"

	"assay/internal/model"
)

// keptCompactionRounds is how many of the latest rounds stay in a transcript when it is compacted.
const keptCompactionRounds = 3

// Compaction defines which messages may be dropped from a conversation that is longer than
// the model's context. They are dropped in rounds: a round is a message in which the model
// acts, and the next message, which holds only the outcome. The zero value drops nothing.
type Compaction struct {
	IsRound func(act, outcome model.Message) bool // nil: there are no rounds
	Note    string                                // text for the model in place of what was dropped
}

// Compact returns messages with all rounds except the last three replaced by one message
// with the note, and the number of dropped rounds. If there are at most three rounds it
// returns messages unchanged and 0.
func (c Compaction) Compact(messages []model.Message) (compacted []model.Message, dropped int) {
	starts := c.roundStarts(messages)
	if len(starts) <= keptCompactionRounds {
		return messages, 0
	}
	drop := starts[:len(starts)-keptCompactionRounds]
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

// roundStarts returns, in order, the indexes of the messages that begin a round.
func (c Compaction) roundStarts(messages []model.Message) []int {
	var starts []int
	for i := range len(messages) - 1 {
		if c.IsRound != nil && c.IsRound(messages[i], messages[i+1]) {
			starts = append(starts, i)
		}
	}
	return starts
}
