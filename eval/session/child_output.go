package session

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

const (
	// maxOutputBytes is how much of what the children print is kept, in bytes.
	maxOutputBytes = 10 << 20

	// maxLineBytes is where a line that does not end is broken, in bytes.
	maxLineBytes = 64 << 10
)

// childOutput writes what several children print into one file, by lines, so that
// none is cut by another's, and tells whoever listens.
type childOutput struct {
	mu           sync.Mutex
	writer       io.Writer
	lineSink     func(child string) func(line []byte)
	streams      map[string]*childLines // by the names of children: the newest of each
	writtenBytes int
	isTruncated  bool
}

// childLines is one child.
type childLines struct {
	child      string
	sink       func(line []byte)
	unfinished map[string][]byte // by stream: a line that has not ended
}

// newChildOutput returns one that writes to out and listens with lines; nil of either
// is nobody.
func newChildOutput(out io.Writer, lines func(child string) func(line []byte)) *childOutput {
	if out == nil {
		out = io.Discard
	}
	if lines == nil {
		lines = func(string) func([]byte) { return func([]byte) {} }
	}
	return &childOutput{writer: out, lineSink: lines, streams: map[string]*childLines{}}
}

// sinkFor returns the sink for what a child of this name prints, which is about to
// be started.
func (p *childOutput) sinkFor(name string) func(stream string, chunk []byte) {
	from := &childLines{child: name, sink: p.lineSink(name), unfinished: map[string][]byte{}}
	p.mu.Lock()
	p.streams[name] = from
	p.mu.Unlock()
	return func(stream string, chunk []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		text := append(from.unfinished[stream], chunk...)
		for {
			line, rest, whole := bytes.Cut(text, []byte("\n"))
			if !whole && len(line) < maxLineBytes {
				break
			}
			p.writeLine(from, line)
			text = rest
		}
		from.unfinished[stream] = bytes.Clone(text)
	}
}

func (p *childOutput) writeLine(from *childLines, line []byte) {
	from.sink(line)
	if p.writtenBytes > maxOutputBytes {
		if !p.isTruncated {
			p.isTruncated = true
			_, _ = fmt.Fprintf(p.writer, "[more than %d MiB were printed: the rest is left out]\n", maxOutputBytes>>20)
		}
		return
	}
	p.writtenBytes += len(line)
	_, _ = fmt.Fprintf(p.writer, "%s: %s\n", from.child, line)
}

// flushChild writes the lines of a child that did not end. It has printed its last.
func (p *childOutput) flushChild(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.streams[name]
	if from == nil {
		return
	}
	for stream, line := range from.unfinished {
		if len(line) > 0 {
			p.writeLine(from, line)
		}
		delete(from.unfinished, stream)
	}
}
