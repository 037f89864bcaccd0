package ticks

import (
	"context"
	"time"
)

// CamelCase exports camelCase.
func CamelCase(name string) string { return camelCase(name) }

// TerminalColumns exports columns.
func TerminalColumns(text string) int { return terminalColumns(text) }

// CutColumns exports cutColumns.
func CutColumns(text string, limit int) string { return cutColumns(text, limit) }

// Graphemes collects what characters yields.
func Graphemes(text string) (all []string) {
	for c := range graphemes(text) {
		all = append(all, c)
	}
	return all
}

// EscapeLine exports escapeLine.
func EscapeLine(text string) string { return escapeLine(text) }

// EvalLine returns the line of the monologue for an eval with that result, or with that
// failure unless it is "".
func EvalLine(source, result, failure string) string {
	return (&evalRecord{source: source, result: result, failure: failure}).monologueLine()
}

// ParseReply exports some fields of what parseReply returns.
func ParseReply(text string) (thought, mood, reply string, ok bool) {
	r, ok := parseReply(text)
	return r.thought, r.mood, r.reply, ok
}

// Store exports store.
type Store struct{ *stateStore }

// OpenStore exports openStore.
func OpenStore(dir string) (Store, error) {
	s, _, err := openStore(dir)
	return Store{s}, err
}

// Save saves a state with that tick.
func (s Store) Save(tick int) error { return s.save(&tickState{tick: tick}) }

// AppendMonologue exports appendMonologue.
func (s Store) AppendMonologue(line string) error { return s.appendMonologue(line) }

// Commit exports commit.
func (s Store) Commit(message string) error {
	return s.commit(context.Background(), message, time.Time{})
}
