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

// crossLabelLog records in short what was said in all labels, so that each label can be told
// about the others. Every prompt, reply and feedback is an entry of one line. It is safe
// for concurrent use.
type crossLabelLog struct {
	mu      sync.Mutex
	entries []labelLogEntry // in the order in which they were said
}

type labelLogEntry struct{ label, line string }

// add records what a speaker said in a label. The label's oldest entry is dropped if there are
// too many.
func (o *crossLabelLog) add(label, speaker, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := fmt.Sprintf("[%s] %s: %s", label, speaker, shortenToOneLine(text, maxLogEntryChars))
	o.entries = append(o.entries, labelLogEntry{label, line})
	isOfLabel := func(e labelLogEntry) bool { return e.label == label }
	if countMatching(o.entries, isOfLabel) > maxLogEntries {
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

// sectionFor returns the section of the first message that shows a label what was said last
// in the others, oldest first, or "" if nothing was said. It has as many of the newest
// entries as fit.
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

// countMatching returns how many items satisfy a condition.
func countMatching[T any](items []T, condition func(T) bool) int {
	n := 0
	for _, item := range items {
		if condition(item) {
			n++
		}
	}
	return n
}
