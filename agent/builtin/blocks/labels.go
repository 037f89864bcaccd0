package blocks

import (
	"cmp"
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

// labelledConversations holds the conversations, one per label. A conversation is created by the first
// query to its label. It is safe for concurrent use.
type labelledConversations struct {
	core *builtin.AgentCore

	mu            sync.Mutex
	current       string // label of the latest query
	conversations map[string]*builtin.Conversation
}

func newLabels(core *builtin.AgentCore) *labelledConversations {
	return &labelledConversations{core: core, current: firstLabel, conversations: map[string]*builtin.Conversation{}}
}

// conversationFor returns the conversation of a query, and the query's text. If canSwitch,
// a query "@label text" switches to the label, and its text is what follows. Any other
// query goes to the label of the query before, unchanged.
func (l *labelledConversations) conversationFor(query string, canSwitch bool) (c *builtin.Conversation, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if label, rest, ok := cutLabel(query); ok && canSwitch {
		l.current, query = label, rest
	}
	if l.conversations[l.current] == nil {
		c := builtin.NewConversation(l.core)
		c.Label = l.current
		l.conversations[l.current] = c
	}
	return l.conversations[l.current], query
}

// all returns all conversations in the order of their labels.
func (l *labelledConversations) all() []*builtin.Conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*builtin.Conversation
	for _, label := range slices.Sorted(maps.Keys(l.conversations)) {
		all = append(all, l.conversations[label])
	}
	return all
}

// cutLabel splits "@label text". ok is false if there is no label of letters, digits, - and
// _, at most 64 bytes long, and white space behind it.
func cutLabel(query string) (label, text string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(query), "@")
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if !ok || end < 1 || end > maxLabelBytes || strings.ContainsFunc(rest[:end], isInvalidLabelRune) {
		return "", "", false
	}
	return rest[:end], strings.TrimSpace(rest[end:]), true
}

// isInvalidLabelRune reports whether a character may not stand in a label.
func isInvalidLabelRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

// NameTask returns the label to which an agent assigns a query, and the name of the work on
// it, ai:LABEL:TEXT. current is the label of the query before, "" for the first query.
// hasLabels says whether the agent uses this strategy; agents of other strategies keep the
// first label.
func NameTask(query, current string, hasLabels bool) (label, name string) {
	label = cmp.Or(current, firstLabel)
	if hasLabels {
		if cut, text, ok := cutLabel(query); ok {
			label, query = cut, text
		}
	}
	return label, taskName(label, query)
}

// taskName returns the name of the work on a query, one line with the first 30 characters
// of the query.
func taskName(label, query string) string {
	runes := []rune(strings.TrimSpace(query))
	runes = runes[:min(len(runes), maxTaskNameChars)]
	return "ai:" + label + ":" + strings.Map(spaceForControl, string(runes))
}

// spaceForControl replaces white space and control characters by a space.
func spaceForControl(r rune) rune {
	if unicode.IsSpace(r) || unicode.IsControl(r) {
		return ' '
	}
	return r
}
