package builtin

import (
	"context"
	"time"
)

// CamelCase is camelCase.
func CamelCase(name string) string { return camelCase(name) }

// Columns is columns.
func Columns(text string) int { return columns(text) }

// CutColumns is cutColumns.
func CutColumns(text string, limit int) string { return cutColumns(text, limit) }

// Characters is characters.
func Characters(text string) (all []string) {
	for c := range characters(text) {
		all = append(all, c)
	}
	return all
}

// Escaped is escaped.
func Escaped(text string) string { return escaped(text) }

// EvalLine is the line of a record: of a failure, if there is one.
func EvalLine(source, result, failure string) string {
	return (&record{source: source, result: result, failure: failure}).line()
}

// ParseTick is parseTick.
func ParseTick(text string) (thought, mood, reply string, ok bool) {
	r, ok := parseTick(text)
	return r.thought, r.mood, r.reply, ok
}

// Store is a store that can be asked twice.
type Store struct{ *store }

// OpenStore is openStore.
func OpenStore(dir string) (Store, error) {
	s, _, err := openStore(dir)
	return Store{s}, err
}

// Save saves a mind of that many ticks.
func (s Store) Save(ticks int) error { return s.save(&mind{tick: ticks}) }

// Write is write.
func (s Store) Write(line string) error { return s.write(line) }

// Commit commits what is there.
func (s Store) Commit(message string) error {
	return s.commit(context.Background(), message, time.Time{})
}
