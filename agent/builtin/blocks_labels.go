package builtin

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	firstLabel = "1"
	maxLabel   = 64 // bytes
	maxTitle   = 30 // characters of a query that name the work on it
)

// labels are the conversations of an agent that has one for each label. A label
// is made by the first query to it. It is safe for concurrent use.
type labels struct {
	core *core

	mu      sync.Mutex
	current string // label of the last query
	made    map[string]*conversation
}

func newLabels(c *core) *labels {
	return &labels{core: c, current: firstLabel, made: map[string]*conversation{}}
}

// bind returns the conversation that a query goes to, and its text. If it may
// switch, "@label text" switches to the label, and has the text behind it; any
// other query goes to the label of the one before, as it stands.
func (l *labels) bind(query string, switches bool) (c *conversation, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if label, rest, ok := cutLabel(query); ok && switches {
		l.current, query = label, rest
	}
	if l.made[l.current] == nil {
		l.made[l.current] = newConversation(l.core)
		l.made[l.current].label = l.current
	}
	return l.made[l.current], query
}

// all lists the conversations, in the order of their labels.
func (l *labels) all() []*conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*conversation
	for _, label := range slices.Sorted(maps.Keys(l.made)) {
		all = append(all, l.made[label])
	}
	return all
}

// cutLabel parts "@label text". The label is of letters, digits, - and _, and
// both are there, or the query has no label.
func cutLabel(query string) (label, text string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(query), "@")
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if !ok || end < 1 || end > maxLabel || strings.ContainsFunc(rest[:end], outsideLabel) {
		return "", "", false
	}
	return rest[:end], strings.TrimSpace(rest[end:]), true
}

func outsideLabel(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

// taskTitle names the work on a query, on one line.
func taskTitle(label, text string) string {
	runes := []rune(strings.TrimSpace(text))
	runes = runes[:min(len(runes), maxTitle)]
	return "ai:" + label + ":" + strings.Map(blankSpace, string(runes))
}

func blankSpace(r rune) rune {
	if unicode.IsSpace(r) || unicode.IsControl(r) {
		return ' '
	}
	return r
}
