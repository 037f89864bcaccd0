package server

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// printedKept is how much of what kernels print is kept, and as much of what
	// agents do, in bytes: the newest.
	printedKept = 64 << 10

	// printedLeast is what a line counts at least, so that short ones are not
	// without number.
	printedLeast = 64
)

// printed is what the kernels and agents behind an id have printed last. It is
// safe for concurrent use.
type printed struct {
	mu      sync.Mutex
	last    int64                   // number of the newest line
	started int                     // processes
	of      map[string]*printedTail // by the names of children
	closed  bool                    // nothing more will come
	changed chan struct{}           // closed, and made anew, with each line and when it is closed
}

// printedTail is what is kept of children of one name.
type printedTail struct {
	lines []OutputLine
	size  int
}

// OutputLine is a line that a kernel or agent process wrote to stdout or stderr.
type OutputLine struct {
	N       int64     `json:"n"` // from 1; lines that are missing between two were dropped
	At      time.Time `json:"at"`
	Name    string    `json:"name"`    // kernel or agent
	Process int       `json:"process"` // number of the process, from 1, counted over all sessions of the id
	Text    string    `json:"text"`    // without the line end
}

func newPrinted() *printed {
	return &printed{of: map[string]*printedTail{}, changed: make(chan struct{})}
}

// from returns what takes in the lines of a child that is about to be started.
func (p *printed) from(name string) func(line []byte) {
	p.mu.Lock()
	p.started++
	process := p.started
	p.mu.Unlock()
	return func(line []byte) { p.add(name, process, string(line)) }
}

func (p *printed) add(name string, process int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tail := p.of[name]
	if tail == nil {
		tail = &printedTail{}
		p.of[name] = tail
	}
	p.last++
	tail.add(OutputLine{N: p.last, At: time.Now().UTC(), Name: name, Process: process, Text: text})
	p.tellLocked()
}

// close says that nothing more will come.
func (p *printed) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.tellLocked()
}

func (p *printed) tellLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (t *printedTail) add(line OutputLine) {
	t.lines = append(t.lines, line)
	t.size += max(len(line.Text), printedLeast)
	for t.size > printedKept && len(t.lines) > 1 {
		t.size -= max(len(t.lines[0].Text), printedLeast)
		t.lines[0] = OutputLine{} // its text is let go
		t.lines = t.lines[1:]
	}
}

// behind returns the lines that are kept and come behind the line n, in their
// order, and what is closed when there are more; nil: there will be none.
func (p *printed) behind(n int64) (lines []OutputLine, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for tail := range maps.Values(p.of) {
		at, _ := slices.BinarySearchFunc(tail.lines, n+1, func(line OutputLine, n int64) int { return cmp.Compare(line.N, n) })
		lines = append(lines, tail.lines[at:]...)
	}
	slices.SortFunc(lines, func(a, b OutputLine) int { return cmp.Compare(a.N, b.N) })
	if p.closed {
		return lines, nil
	}
	return lines, p.changed
}
