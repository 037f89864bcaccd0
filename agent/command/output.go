package command

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

const (
	// maxLineBytes is the length at which a line of a program's output is passed on although
	// it has not ended.
	maxLineBytes = 64 << 10

	// maxTailBytes is how much of the end of a program's output is kept.
	maxTailBytes = 2 << 10
)

// output passes on the output of a program and keeps the last maxTailBytes bytes. It is
// safe for concurrent use.
type output struct {
	mu   sync.Mutex
	out  io.Writer
	last []byte // at most maxTailBytes
}

func (o *output) writeLine(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.out.Write(line) // only for people who watch: an error changes nothing
	o.last = append(o.last, line...)
	if more := len(o.last) - maxTailBytes; more > 0 {
		o.last = append(o.last[:0], o.last[more:]...)
	}
}

// tail returns the last 2 KiB of the program's output without surrounding white space.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(o.last), ""))
}

// lineWriter passes on one stream of a program by whole lines, so that stdout and stderr do
// not mix within a line. It is used by one goroutine at a time.
type lineWriter struct {
	output  *output
	pending []byte // beginning of a line
}

// Write passes on the lines that end in p and keeps the rest.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	for {
		end := bytes.IndexByte(w.pending, '\n') + 1
		if end == 0 && len(w.pending) >= maxLineBytes {
			w.pending = append(w.pending, '\n')
			end = len(w.pending)
		}
		if end == 0 {
			return len(p), nil
		}
		w.output.writeLine(w.pending[:end])
		w.pending = append(w.pending[:0], w.pending[end:]...)
	}
}

// flush passes on a last line without a newline.
func (w *lineWriter) flush() {
	if len(w.pending) > 0 {
		w.output.writeLine(append(w.pending, '\n'))
		w.pending = nil
	}
}
