package blocks

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Speakers of an entry.
const (
	speakerUser      = "user"
	speakerAssistant = "assistant"
	speakerOutput    = "output"
)

const (
	crossLabelHeading = "## Other Sessions"
	maxLogEntries     = 20   // kept of each label, and shown of all other labels together
	maxLogEntryChars  = 200  // of the text of an entry
	maxSectionChars   = 2000 // of a section of the first message
)

// crossLabelLog records, for all labels of an agent, every prompt, reply and block output as
// one short line, so that the first message of a query can show a label what happened in the
// others. It is safe for concurrent use.
type crossLabelLog struct {
	mu      sync.Mutex
	entries []labelLogEntry // in the order in which they were said
}

type labelLogEntry struct{ label, line string }

// add appends an entry: the speaker (user, assistant or output), and the text shortened to
// 200 characters. It drops the oldest entry of the label if the label has more than 20.
func (o *crossLabelLog) add(label, speaker, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := fmt.Sprintf("[%s] %s: %s", label, speaker, shortenToOneLine(text, maxLogEntryChars))
	o.entries = append(o.entries, labelLogEntry{label, line})
	isOfLabel := func(e labelLogEntry) bool { return e.label == label }
	if countItemsWhere(o.entries, isOfLabel) > maxLogEntries {
		oldest := slices.IndexFunc(o.entries, isOfLabel)
		o.entries = slices.Delete(o.entries, oldest, oldest+1)
	}
}

// clear removes all entries of the log.
func (o *crossLabelLog) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries = nil
}

// sectionFor returns a prompt section with the newest log entries of all labels except
// label, oldest first: at most 20 entries and 2,000 characters. It returns "" if the other
// labels have no entries.
func (o *crossLabelLog) sectionFor(label string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var newest []string
	for _, e := range slices.Backward(o.entries) {
		if e.label != label && len(newest) < maxLogEntries {
			newest = append(newest, e.line)
		}
	}
	if len(newest) == 0 {
		return ""
	}
	newest = newest[:countFittingLines(newest, maxSectionChars-len(crossLabelHeading)-1)]
	slices.Reverse(newest)
	return crossLabelHeading + "\n\n" + strings.Join(newest, "\n")
}

// countItemsWhere returns how many items satisfy a condition.
func countItemsWhere[T any](items []T, condition func(T) bool) int {
	n := 0
	for _, item := range items {
		if condition(item) {
			n++
		}
	}
	return n
}
