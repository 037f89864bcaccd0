package session

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

const (
	// printedLimit is how much of what the children print is kept, in bytes.
	printedLimit = 10 << 20

	// longLine is where a line that does not end is broken, in bytes.
	longLine = 64 << 10
)

// printed writes what several children print into one file, by lines, so that
// none is cut by another's.
type printed struct {
	mu    sync.Mutex
	out   io.Writer
	open  map[string][]byte // by child and stream: a line that has not ended
	size  int
	ended bool
}

func newPrinted(out io.Writer) *printed {
	if out == nil {
		out = io.Discard
	}
	return &printed{out: out, open: map[string][]byte{}}
}

// from returns the sink for what the child of this name prints.
func (p *printed) from(name string) func(stream string, chunk []byte) {
	return func(stream string, chunk []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		key := name + "\x00" + stream
		text := append(p.open[key], chunk...)
		for {
			line, rest, whole := bytes.Cut(text, []byte("\n"))
			if !whole && len(line) < longLine {
				break
			}
			p.line(name, line)
			text = rest
		}
		p.open[key] = bytes.Clone(text)
	}
}

func (p *printed) line(name string, line []byte) {
	if p.size > printedLimit {
		if !p.ended {
			p.ended = true
			_, _ = fmt.Fprintf(p.out, "[more than %d MiB were printed: the rest is left out]\n", printedLimit>>20)
		}
		return
	}
	p.size += len(line)
	_, _ = fmt.Fprintf(p.out, "%s: %s\n", name, line)
}

// flush writes the lines that did not end.
func (p *printed) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, line := range p.open {
		if len(line) > 0 {
			name, _, _ := bytes.Cut([]byte(key), []byte("\x00"))
			p.line(string(name), line)
		}
	}
	p.open = map[string][]byte{}
}
