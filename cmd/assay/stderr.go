package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// stderrQueue is how many writes may wait for a terminal that does not take
	// them; what comes then is left out, and counted.
	stderrQueue = 1024

	// stderrFlush is how long the end of the program waits for them.
	stderrFlush = time.Second
)

// patient is a writer that never waits: logs and progress must not hold up a
// session because somebody has stopped a terminal. It is safe for concurrent
// use. Whoever made it must close it.
type patient struct {
	lines chan []byte
	done  chan struct{}

	mu      sync.Mutex
	dropped int
	closed  bool
}

// newPatient returns a writer in front of out.
func newPatient(out io.Writer) *patient {
	p := &patient{lines: make(chan []byte, stderrQueue), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for line := range p.lines {
			_, _ = out.Write(line) // there is nowhere to complain
		}
	}()
	return p
}

// Write takes a copy of text, or drops it when too much waits. It never fails.
func (p *patient) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(text), nil
	}
	line := append([]byte{}, text...)
	if p.dropped > 0 {
		line = append(fmt.Appendf(nil, "[%d lines were left out here]\n", p.dropped), line...)
	}
	select {
	case p.lines <- line:
		p.dropped = 0
	default:
		p.dropped++
	}
	return len(text), nil
}

// close waits a moment until what was written is out. A write that is stuck is
// left to the end of the process.
func (p *patient) close() {
	p.mu.Lock()
	p.closed = true
	close(p.lines)
	p.mu.Unlock()
	select {
	case <-p.done:
	case <-time.After(stderrFlush):
	}
}
