package ticks

import (
	"context"
	"time"
)

// CamelCase calls camelCase, which turns a name of Lisp into one of JSON.
func CamelCase(name string) string { return camelCase(name) }

// TerminalColumns calls terminalColumns, which measures a text in columns.
func TerminalColumns(text string) int { return terminalColumns(text) }

// CutColumns calls cutColumns, which shortens a text to at most limit columns.
func CutColumns(text string, limit int) string { return cutColumns(text, limit) }

// Graphemes returns the characters of a text as people see them.
func Graphemes(text string) (all []string) {
	for c := range graphemes(text) {
		all = append(all, c)
	}
	return all
}

// EscapeLine calls escapeLine, which puts a text on one line.
func EscapeLine(text string) string { return escapeLine(text) }

// EvalMonologueLine returns the line of the monologue for an eval with that result, or with that
// failure unless it is "".
func EvalMonologueLine(source, result, failure string) string {
	return (&evalRecord{source: source, result: result, failure: failure}).monologueLine()
}

// ParseReply calls parseTickReply and returns some fields of the reply.
func ParseReply(text string) (thought, mood, reply string, ok bool) {
	r, ok := parseTickReply(text)
	return r.thought, r.mood, r.reply, ok
}

// Store is a stateStore.
type Store struct{ *stateStore }

// OpenStore opens the store in a folder, which it creates if it is missing.
func OpenStore(dir string) (Store, error) {
	s, _, err := openStateStore(dir)
	return Store{s}, err
}

// Save saves a state that has only that tick.
func (s Store) Save(tick int) error { return s.save(&tickState{tick: tick}) }

// AppendMonologue appends a line to the monologue file.
func (s Store) AppendMonologue(line string) error { return s.appendMonologue(line) }

// Commit commits the files of the store with git.
func (s Store) Commit(message string) error {
	return s.commit(context.Background(), message, time.Time{})
}
