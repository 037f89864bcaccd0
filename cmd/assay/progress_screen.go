package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// redrawEvery is how far apart, at least, a screen's drawings are.
const redrawEvery = 200 * time.Millisecond

// screen is where stderr goes. Usually it passes on what is written. While
// something is shown, that stands in lines at the bottom of the terminal, and
// what is written scrolls above it, held back until the next drawing.
//
// A write that is empty does no more than draw when it is time to. So everything
// that reaches the terminal comes through one writer in front of this, and none
// of it can fall between a drawing's lines. The cursor rests below them: a
// program that is killed leaves them behind, and nothing else.
//
// It is safe for concurrent use.
type screen struct {
	out  io.Writer
	size func() (columns, rows int)

	mu      sync.Mutex
	bottom  func(columns, rows int) []string // what to show; nil: nothing
	shown   []int                            // the columns that each line shown now takes
	held    []byte                           // text that came since the last drawing
	drawn   time.Time
	cleared chan struct{} // closed when nothing is shown any more; nil: nobody waits
}

// newScreen returns a screen that shows nothing. The size is asked of out when
// that is a terminal.
func newScreen(out io.Writer) *screen {
	return &screen{out: out, size: func() (int, int) {
		if file, ok := out.(*os.File); ok {
			if columns, rows, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 && rows > 0 {
				return columns, rows
			}
		}
		return 80, 24
	}}
}

// isTerminal tells whether what is written to out is seen by a person at once.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// show lets bottom say, at each drawing, which lines stand at the bottom of a
// terminal of that size. They have no control characters; what does not fit into
// a row is cut.
func (s *screen) show(bottom func(columns, rows int) []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bottom = bottom
}

// clear shows nothing from now on, and waits a moment until the terminal shows
// nothing. through is the writer in front of the screen.
func (s *screen) clear(through io.Writer) {
	cleared := make(chan struct{})
	s.mu.Lock()
	s.bottom, s.cleared = nil, cleared
	s.mu.Unlock()
	_, _ = through.Write(nil)
	select {
	case <-cleared:
	case <-time.After(stderrFlush):
	}
}

// Write writes text, now or with the next drawing.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cleared != nil {
		defer func() { close(s.cleared); s.cleared = nil }()
	}
	switch {
	case s.bottom == nil && len(s.shown)+len(s.held) == 0:
		return s.out.Write(text)
	case s.bottom != nil && time.Since(s.drawn) < redrawEvery:
		s.held = append(s.held, text...)
		return len(text), nil
	}
	s.held = append(s.held, text...)
	return len(text), s.draw()
}

// draw replaces what is shown, in one write. The caller holds mu.
func (s *screen) draw() error {
	columns, rows := s.size()
	text := append(s.erase(columns), s.held...)
	if len(s.held) > 0 && !bytes.HasSuffix(s.held, []byte("\n")) {
		text = append(text, '\n')
	}
	s.held, s.shown = nil, nil
	if s.bottom != nil {
		for _, line := range s.bottom(columns, rows) {
			line = fit(line, columns-1) // the last column would begin a new row on some terminals
			text = append(text, line+"\n"...)
			s.shown = append(s.shown, columnsOf(line))
		}
	}
	s.drawn = time.Now()
	_, err := s.out.Write(text)
	return err
}

// erase makes the terminal forget what is shown. A terminal that has become
// narrower has broken the lines.
func (s *screen) erase(columns int) []byte {
	rows := 0
	for _, length := range s.shown {
		rows += max(1, (length+columns-1)/columns)
	}
	if rows == 0 {
		return nil
	}
	return fmt.Appendf(nil, "\r\x1b[%dA\x1b[J", rows)
}

// fit cuts text to so many columns.
func fit(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	var cut strings.Builder
	left := columns - 1
	for _, r := range text {
		if left -= columnsOfRune(r); left < 0 {
			break
		}
		cut.WriteRune(r)
	}
	return cut.String() + "…"
}

// columnsOf is how many columns of a terminal printable text takes.
func columnsOf(text string) (columns int) {
	for _, r := range text {
		columns += columnsOfRune(r)
	}
	return columns
}

func columnsOfRune(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
