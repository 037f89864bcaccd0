package builtin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Who speaks in an entry of a journal.
const (
	speakerUser      = "user"
	speakerAssistant = "assistant"
	speakerOutput    = "output"
)

const (
	journalHeading = "## Other Sessions"
	maxEntries     = 20   // that are told of other labels, and that are kept of each
	maxEntry       = 200  // characters of an entry's text
	maxSection     = 2000 // characters of a section of the first message
)

// journal is what was said in all labels, for the others to know: each prompt,
// reply and feedback is an entry, on one line. It is safe for concurrent use.
type journal struct {
	mu      sync.Mutex
	entries []journalEntry // in the order in which they were said
}

type journalEntry struct{ label, line string }

// add enters what was said in a label. The oldest entry of the label makes room.
func (j *journal) add(label, speaker, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	line := fmt.Sprintf("[%s] %s: %s", label, speaker, shorten(text, maxEntry))
	j.entries = append(j.entries, journalEntry{label, line})
	ofLabel := func(e journalEntry) bool { return e.label == label }
	if count(j.entries, ofLabel) > maxEntries {
		oldest := slices.IndexFunc(j.entries, ofLabel)
		j.entries = slices.Delete(j.entries, oldest, oldest+1)
	}
}

// forget drops all entries.
func (j *journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = nil
}

// others is the section that tells a label what was said last in the others, ""
// if nothing was. The newest entries that find room are in it, in their order.
func (j *journal) others(label string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var newest []string
	for _, e := range slices.Backward(j.entries) {
		if e.label != label && len(newest) < maxEntries {
			newest = append(newest, e.line)
		}
	}
	if len(newest) == 0 {
		return ""
	}
	newest = newest[:fitting(newest, maxSection-len(journalHeading)-1)]
	slices.Reverse(newest)
	return journalHeading + "\n\n" + strings.Join(newest, "\n")
}

func count[T any](items []T, is func(T) bool) int {
	n := 0
	for _, item := range items {
		if is(item) {
			n++
		}
	}
	return n
}
