package session

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"assay/internal/redact"
)

const (
	// maxOutputBytes is how many bytes of the children's output are written; the rest is
	// replaced by one line that says so.
	maxOutputBytes = 10 << 20

	// maxLineBytes is the length at which a line without end is broken.
	maxLineBytes = 64 << 10
)

// childOutputMerger writes the output of kernel and agent to one writer, line by line, so that lines
// of different children do not mix, and also passes each line to a function per child. It is
// safe for concurrent use.
type childOutputMerger struct {
	mu           sync.Mutex
	writer       io.Writer
	redactor     *redact.Redactor
	lineSink     func(child string) func(line []byte)
	linesByChild map[string]*childLineSplitter // by name; the newest child of that name
	writtenBytes int
	isTruncated  bool // the line that says so has been written
}

// childLineSplitter splits the output of one child process into lines.
type childLineSplitter struct {
	child           string
	sink            func(line []byte)
	unfinishedLines map[string][]byte // by stream, "stdout" or "stderr": the line that has not ended yet
}

// newChildOutputMerger returns a childOutputMerger that writes to [Config.ChildOutput] and
// [Config.ChildLineSink]; either may be nil. Secrets that redactor finds are replaced.
func newChildOutputMerger(writer io.Writer, lineSink func(child string) func(line []byte), redactor *redact.Redactor) *childOutputMerger {
	if writer == nil {
		writer = io.Discard
	}
	if lineSink == nil {
		lineSink = func(string) func([]byte) { return func([]byte) {} }
	}
	return &childOutputMerger{writer: writer, redactor: redactor, lineSink: lineSink, linesByChild: map[string]*childLineSplitter{}}
}

// newChildSink returns the function to which the output of a child that is about to start
// ("kernel" or "agent") is passed, in chunks of any size.
func (o *childOutputMerger) newChildSink(child string) func(stream string, chunk []byte) {
	lines := &childLineSplitter{child: child, sink: o.lineSink(child), unfinishedLines: map[string][]byte{}}
	o.mu.Lock()
	o.linesByChild[child] = lines
	o.mu.Unlock()
	redacted := map[string]*redact.Stream{} // by stream
	return func(stream string, chunk []byte) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if redacted[stream] == nil {
			redacted[stream] = o.redactor.NewStream()
		}
		text := append(lines.unfinishedLines[stream], redacted[stream].Next(chunk)...)
		for {
			line, rest, hasEnd := bytes.Cut(text, []byte("\n"))
			if !hasEnd && len(line) < maxLineBytes {
				break
			}
			o.writeLineLocked(lines, line)
			text = rest
		}
		lines.unfinishedLines[stream] = bytes.Clone(text)
	}
}

// writeLineLocked passes one line of a child's output to the child's sink and writes it. After
// maxOutputBytes of all children it no longer writes, except for one line that says so. The
// caller holds mu.
func (o *childOutputMerger) writeLineLocked(lines *childLineSplitter, line []byte) {
	lines.sink(line)
	if o.writtenBytes > maxOutputBytes {
		if !o.isTruncated {
			o.isTruncated = true
			_, _ = fmt.Fprintf(o.writer, "[more than %d MiB were printed: the rest is left out]\n", maxOutputBytes>>20)
		}
		return
	}
	o.writtenBytes += len(line)
	_, _ = fmt.Fprintf(o.writer, "%s: %s\n", lines.child, line)
}

// flushChild writes the last lines of a child that has ended, even if they have no newline.
func (o *childOutputMerger) flushChild(child string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.linesByChild[child]
	if lines == nil {
		return
	}
	for stream, line := range lines.unfinishedLines {
		if len(line) > 0 {
			o.writeLineLocked(lines, line)
		}
		delete(lines.unfinishedLines, stream)
	}
}
