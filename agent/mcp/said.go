package mcp

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

const (
	// longestLine is how much of a line is waited for, in bytes.
	longestLine = 64 << 10

	// keptTail is how much of what a program has printed is kept, in bytes.
	keptTail = 2 << 10
)

// said is where what a program prints goes to, and the end of it.
type said struct {
	mu   sync.Mutex
	out  io.Writer
	last []byte
}

func (s *said) line(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(line) // nothing hangs on it
	s.last = append(s.last, line...)
	if more := len(s.last) - keptTail; more > 0 {
		s.last = append(s.last[:0], s.last[more:]...)
	}
}

// tail is the last that was printed.
func (s *said) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(s.last), ""))
}

// lines passes on one stream by whole lines, so that two do not mix. It is for
// one goroutine.
type lines struct {
	said *said
	rest []byte
}

// Write takes in a piece.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n') + 1
		if end == 0 && len(l.rest) >= longestLine {
			l.rest = append(l.rest, '\n')
			end = len(l.rest)
		}
		if end == 0 {
			return len(p), nil
		}
		l.said.line(l.rest[:end])
		l.rest = append(l.rest[:0], l.rest[end:]...)
	}
}

// flush passes on a last line that was not ended.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.said.line(append(l.rest, '\n'))
		l.rest = nil
	}
}
