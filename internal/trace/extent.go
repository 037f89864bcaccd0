package trace

import (
	"context"
	"io"
	"sync"
)

// growingOutput is a file that is written, and how far it has come, for those who read
// it meanwhile. It is safe for concurrent use, but for its Write.
type growingOutput struct {
	out io.Writer

	mu      sync.Mutex
	size    int64
	closed  bool
	changed chan struct{} // closed when there is more, or the end; nil while nobody waits
}

// Write writes on, and wakes those who wait for it.
func (e *growingOutput) Write(p []byte) (int, error) {
	n, err := e.out.Write(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.size += int64(n)
	wakeWaiters(&e.changed)
	return n, err
}

// close says that nothing more will be written.
func (e *growingOutput) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	wakeWaiters(&e.changed)
}

// awaitSize waits until there are more than beyond bytes and returns how many; at
// the end without more, io.EOF.
func (e *growingOutput) awaitSize(ctx context.Context, beyond int64) (int64, error) {
	for {
		e.mu.Lock()
		size, ended, more := e.size, e.closed, waitChannel(&e.changed)
		e.mu.Unlock()
		switch {
		case size > beyond:
			return size, nil
		case ended:
			return size, io.EOF
		}
		select {
		case <-more:
		case <-ctx.Done():
			return size, context.Cause(ctx)
		}
	}
}
