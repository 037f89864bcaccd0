package terminal

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// RedrawInterval is the shortest time between two drawings of a [Screen].
const RedrawInterval = 200 * time.Millisecond

// Screen writes to a terminal. It passes on what is written. Between Show and Clear it
// also keeps lines at the bottom of the terminal: written text scrolls above them, and
// is held back until the next drawing.
//
// An empty write only draws, if it is time to. Therefore everything that reaches the
// terminal can come through one writer in front of the Screen, and no other text gets
// between the lines of a drawing. The cursor rests below the lines: a program that is
// killed leaves them on the terminal, and nothing else.
//
// It is safe for concurrent use.
type Screen struct {
	out  io.Writer
	size func() (columns, rows int)

	mu           sync.Mutex
	bottomLines  func(columns, rows int) []string // nil if no lines are kept at the bottom
	shownColumns []int                            // columns of each line that is at the bottom now
	heldText     []byte                           // text written since the last drawing
	drawnAt      time.Time
	cleared      chan struct{} // closed when the bottom is empty; nil if no Clear waits
}

// NewScreen returns a Screen on out without lines at the bottom. If out is not a
// terminal it assumes 80 columns and 24 rows.
func NewScreen(out io.Writer) *Screen {
	return &Screen{out: out, size: func() (int, int) { return terminalSize(out) }}
}

// IsTerminal reports whether the Screen writes to a terminal.
func (s *Screen) IsTerminal() bool { return IsTerminal(s.out) }

// ShowBottomLines keeps the lines that bottomLines returns at the bottom of the terminal.
// Each drawing calls it with the size of the terminal in characters. The lines must have
// no control characters; a line longer than a row is cut.
func (s *Screen) ShowBottomLines(bottomLines func(columns, rows int) []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bottomLines = bottomLines
}

// ClearBottomLines removes the lines from the bottom, and waits until the terminal shows none, but
// no longer than a second. through is the writer in front of the Screen.
func (s *Screen) ClearBottomLines(through io.Writer) {
	cleared := make(chan struct{})
	s.mu.Lock()
	s.bottomLines, s.cleared = nil, cleared
	s.mu.Unlock()
	_, _ = through.Write(nil)
	select {
	case <-cleared:
	case <-time.After(flushTimeout):
	}
}

// Write writes text, now or with the next drawing.
func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cleared != nil {
		defer func() { close(s.cleared); s.cleared = nil }()
	}
	switch {
	case s.bottomLines == nil && len(s.shownColumns)+len(s.heldText) == 0:
		return s.out.Write(text)
	case s.bottomLines != nil && time.Since(s.drawnAt) < RedrawInterval:
		s.heldText = append(s.heldText, text...)
		return len(text), nil
	}
	s.heldText = append(s.heldText, text...)
	return len(text), s.drawLocked()
}

// drawLocked replaces the lines at the bottom, in one write.
func (s *Screen) drawLocked() error {
	columns, rows := s.size()
	text := append(s.eraseSequence(columns), s.heldText...)
	if len(s.heldText) > 0 && !bytes.HasSuffix(s.heldText, []byte("\n")) {
		text = append(text, '\n')
	}
	s.heldText, s.shownColumns = nil, nil
	if s.bottomLines != nil {
		for _, line := range s.bottomLines(columns, rows) {
			line = Fit(line, columns-1) // the last column would begin a new row on some terminals
			text = append(text, line+"\n"...)
			s.shownColumns = append(s.shownColumns, Width(line))
		}
	}
	s.drawnAt = time.Now()
	_, err := s.out.Write(text)
	return err
}

// eraseSequence returns the control sequence that erases the lines at the bottom. They
// take more rows than lines if the terminal has become narrower since they were drawn.
func (s *Screen) eraseSequence(columns int) []byte {
	rows := 0
	for _, width := range s.shownColumns {
		rows += max(1, (width+columns-1)/columns)
	}
	if rows == 0 {
		return nil
	}
	return fmt.Appendf(nil, "\r\x1b[%dA\x1b[J", rows)
}
