package attempt

import (
	"sync"
	"time"

	"assay/eval/runs"
)

// Progress is what an attempt is doing, or waiting for, at the moment, and what it
// has used so far. It is safe for concurrent use; the zero value is an attempt
// that has not begun.
type Progress struct {
	mu    sync.Mutex
	text  string
	since time.Time
	used  runs.Usage
}

func (d *Progress) set(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text != text {
		d.text, d.since = text, time.Now()
	}
}

func (d *Progress) use(used runs.Usage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = used
}

// Activity returns it in a few words for people, and for how long it has been so.
func (d *Progress) Activity() (text string, lasting time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text == "" {
		return "beginning", 0
	}
	return d.text, time.Since(d.since)
}

// Usage returns what has been used so far.
func (d *Progress) Usage() runs.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}
