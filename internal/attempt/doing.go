package attempt

import (
	"sync"
	"time"
)

// Doing is what an attempt is doing, or waiting for, at the moment. It is safe
// for concurrent use; the zero value is an attempt that has not begun.
type Doing struct {
	mu    sync.Mutex
	text  string
	since time.Time
}

func (d *Doing) set(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text != text {
		d.text, d.since = text, time.Now()
	}
}

// Now returns it in a few words for people, and for how long it has been so.
func (d *Doing) Now() (text string, lasting time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text == "" {
		return "beginning", 0
	}
	return d.text, time.Since(d.since)
}
