package blocks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"assay/agent/builtin"
)

const (
	firstLabel       = "1"
	maxLabelBytes    = 64
	maxTaskNameChars = 30 // of the query in the name of a task
)

// labelledConversations holds one conversation per label; the first query to a label creates
// its conversation. It is safe for concurrent use.
type labelledConversations struct {
	core *builtin.AgentCore

	mu            sync.Mutex
	current       string // label of the latest query
	conversations map[string]*builtin.Conversation
	subLabels     map[string]int // how many labels newSubLabel has made from each label
}

func newLabelledConversations(core *builtin.AgentCore) *labelledConversations {
	return &labelledConversations{core: core, current: firstLabel, conversations: map[string]*builtin.Conversation{}, subLabels: map[string]int{}}
}

// conversationFor returns the conversation that a query belongs to, and the query's text
// without its label. If canSwitch, a query "@label text" switches to that label; any other
// query stays in the label of the previous query.
func (l *labelledConversations) conversationFor(query string, canSwitch bool) (c *builtin.Conversation, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if label, rest, ok := splitLabel(query); ok && canSwitch {
		l.current, query = label, rest
	}
	if l.conversations[l.current] == nil {
		c := builtin.NewConversation(l.core)
		c.Label = l.current
		l.conversations[l.current] = c
	}
	return l.conversations[l.current], query
}

// newSubLabel returns a label for a conversation that code of this label has started with
// ai(): "1-1", "1-2" and so on for the label "1". It is in no list of conversations.
func (l *labelledConversations) newSubLabel(label string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subLabels[label]++
	return fmt.Sprintf("%s-%d", label, l.subLabels[label])
}

// allConversations returns the conversations of all labels, sorted by label.
func (l *labelledConversations) allConversations() []*builtin.Conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*builtin.Conversation
	for _, label := range slices.Sorted(maps.Keys(l.conversations)) {
		all = append(all, l.conversations[label])
	}
	return all
}

// splitLabel splits a query "@label text" into label and text. ok is false unless the query
// begins with @ and a label of letters, digits, - and _ of at most 64 bytes, followed by
// white space.
func splitLabel(query string) (label, text string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(query), "@")
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if !ok || end < 1 || end > maxLabelBytes || strings.ContainsFunc(rest[:end], isInvalidLabelRune) {
		return "", "", false
	}
	return rest[:end], strings.TrimSpace(rest[end:]), true
}

// isInvalidLabelRune reports whether a character is neither a letter, a digit, - nor _, so
// that a label may not contain it.
func isInvalidLabelRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

// LabelAndTaskName returns the label to which an agent assigns a query, and the name of the query's
// task, "ai:LABEL:TEXT". current is the label of the previous query, "" for the first query.
// hasLabels says whether the agent uses the blocks strategy; agents of other strategies keep
// one label.
func LabelAndTaskName(query, current string, hasLabels bool) (label, name string) {
	label = cmp.Or(current, firstLabel)
	if hasLabels {
		if cut, text, ok := splitLabel(query); ok {
			label, query = cut, text
		}
	}
	return label, taskName(label, query)
}

// taskName returns the name of a query's task, "ai:LABEL:TEXT", on one line; TEXT is the
// first 30 characters of the query.
func taskName(label, query string) string {
	runes := []rune(strings.TrimSpace(query))
	runes = runes[:min(len(runes), maxTaskNameChars)]
	return "ai:" + label + ":" + strings.Map(controlRuneToSpace, string(runes))
}

// controlRuneToSpace returns a space if r is white space or a control character, otherwise r.
func controlRuneToSpace(r rune) rune {
	if unicode.IsSpace(r) || unicode.IsControl(r) {
		return ' '
	}
	return r
}
