// Package terminaltest emulates a terminal for tests of programs that draw on one.
package terminaltest

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/width"
)

// Emulator is a terminal with what tests need: it moves the cursor up, erases to the
// right of the cursor and below it, breaks lines that are too long, and keeps what has
// scrolled off. It is safe for concurrent use.
type Emulator struct {
	mu            sync.Mutex
	columns, rows int
	lines         [][]rune
	row, col      int    // of the cursor
	partial       []byte // an incomplete control sequence or character
	raw           bytes.Buffer
	writes        int
	changed       chan struct{} // closed by the next write
}

// NewEmulator returns an empty terminal of that size in characters.
func NewEmulator(columns, rows int) *Emulator {
	return &Emulator{columns: columns, rows: rows, lines: [][]rune{nil}, changed: make(chan struct{})}
}

// Size returns the size in characters.
func (e *Emulator) Size() (columns, rows int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.columns, e.rows
}

// Narrow makes the terminal narrower, and breaks the lines that have become too long.
func (e *Emulator) Narrow(columns int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var broken [][]rune
	for _, line := range e.lines {
		for len(line) > columns {
			broken = append(broken, line[:columns:columns])
			line = line[columns:]
		}
		broken = append(broken, line)
	}
	e.columns, e.lines, e.row = columns, broken, len(broken)-1
}

// WriteCount returns the number of calls of Write so far.
func (e *Emulator) WriteCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writes
}

// Write shows what a program prints.
func (e *Emulator) Write(text []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes++
	e.raw.Write(text)
	rest := append(e.partial, text...)
	for len(rest) > 0 {
		n := e.showFirstLocked(rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	e.partial = bytes.Clone(rest)
	close(e.changed)
	e.changed = make(chan struct{})
	return len(text), nil
}

// showFirstLocked executes the first character or control sequence of text and returns
// its length in bytes, or 0 if it is incomplete.
func (e *Emulator) showFirstLocked(text []byte) int {
	if text[0] == '\x1b' {
		sequence := regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`).FindSubmatch(text)
		if sequence == nil {
			return 0
		}
		e.executeControlLocked(string(sequence[2]), string(sequence[1]))
		return len(sequence[0])
	}
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && !utf8.FullRune(text) {
		return 0
	}
	switch r {
	case '\n':
		e.newLineLocked() // the line discipline adds the carriage return
	case '\r':
		e.col = 0
	default:
		e.putRuneLocked(r)
	}
	return n
}

// executeControlLocked executes the control sequence with that final letter: A (cursor up),
// J (erase below) or K (erase to the right).
func (e *Emulator) executeControlLocked(letter, argument string) {
	switch letter {
	case "A":
		up, _ := strconv.Atoi(argument)
		e.row = max(e.row-up, len(e.lines)-e.rows, 0)
	case "J":
		e.lines = e.lines[:e.row+1]
		fallthrough
	case "K":
		e.lines[e.row] = e.lines[e.row][:min(e.col, len(e.lines[e.row]))]
	}
}

func (e *Emulator) newLineLocked() {
	e.row, e.col = e.row+1, 0
	if e.row == len(e.lines) {
		e.lines = append(e.lines, nil)
	}
}

// putRuneLocked puts r at the cursor, and on the next row if it does not fit.
func (e *Emulator) putRuneLocked(r rune) {
	wide := runeWidth(r)
	if e.col+wide > e.columns {
		e.newLineLocked()
	}
	line := e.lines[e.row]
	for len(line) < e.col+wide {
		line = append(line, ' ')
	}
	line[e.col] = r
	e.lines[e.row], e.col = line, e.col+wide
}

// runeWidth returns the columns that r takes. It is independent of package terminal, so
// that a fault there does not hide itself.
func runeWidth(r rune) int {
	kind := width.LookupRune(r).Kind()
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Text returns everything that a user can see after scrolling back to the beginning.
// Lines end without spaces, the text with exactly one line break.
func (e *Emulator) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, line := range e.lines {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// Written returns all bytes that were written, with their control sequences.
func (e *Emulator) Written() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.raw.String()
}

// AwaitText waits until Text matches the regular expression pattern. It fails the test
// after timeout.
func (e *Emulator) AwaitText(t *testing.T, pattern string, timeout time.Duration) {
	t.Helper()
	deadline := time.After(timeout)
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		if regexp.MustCompile(pattern).MatchString(e.Text()) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.Failf(t, "the terminal does not show the text", "%s in\n%s", pattern, e.Text())
		}
	}
}
