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
// none is cut by another's, and tells whoever listens.
type printed struct {
	mu      sync.Mutex
	out     io.Writer
	lines   func(child string) func(line []byte)
	sources map[string]*source // by the names of children: the newest of each
	size    int
	ended   bool
}

// source is one child.
type source struct {
	name  string
	heard func(line []byte)
	open  map[string][]byte // by stream: a line that has not ended
}

// newPrinted returns one that writes to out and listens with lines; nil of either
// is nobody.
func newPrinted(out io.Writer, lines func(child string) func(line []byte)) *printed {
	if out == nil {
		out = io.Discard
	}
	if lines == nil {
		lines = func(string) func([]byte) { return func([]byte) {} }
	}
	return &printed{out: out, lines: lines, sources: map[string]*source{}}
}

// from returns the sink for what a child of this name prints, which is about to
// be started.
func (p *printed) from(name string) func(stream string, chunk []byte) {
	from := &source{name: name, heard: p.lines(name), open: map[string][]byte{}}
	p.mu.Lock()
	p.sources[name] = from
	p.mu.Unlock()
	return func(stream string, chunk []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		text := append(from.open[stream], chunk...)
		for {
			line, rest, whole := bytes.Cut(text, []byte("\n"))
			if !whole && len(line) < longLine {
				break
			}
			p.line(from, line)
			text = rest
		}
		from.open[stream] = bytes.Clone(text)
	}
}

func (p *printed) line(from *source, line []byte) {
	from.heard(line)
	if p.size > printedLimit {
		if !p.ended {
			p.ended = true
			_, _ = fmt.Fprintf(p.out, "[more than %d MiB were printed: the rest is left out]\n", printedLimit>>20)
		}
		return
	}
	p.size += len(line)
	_, _ = fmt.Fprintf(p.out, "%s: %s\n", from.name, line)
}

// flush writes the lines of a child that did not end. It has printed its last.
func (p *printed) flush(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.sources[name]
	if from == nil {
		return
	}
	for stream, line := range from.open {
		if len(line) > 0 {
			p.line(from, line)
		}
		delete(from.open, stream)
	}
}
