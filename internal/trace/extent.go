package trace

import (
	"context"
	"io"
	"sync"
)

// extent is a file that is written, and how far it has come, for those who read
// it meanwhile. It is safe for concurrent use, but for its Write.
type extent struct {
	out io.Writer

	mu    sync.Mutex
	size  int64
	ended bool
	more  chan struct{} // closed when there is more, or the end; nil while nobody waits
}

// Write writes on, and wakes those who wait for it.
func (e *extent) Write(p []byte) (int, error) {
	n, err := e.out.Write(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.size += int64(n)
	wake(&e.more)
	return n, err
}

// end says that nothing more will be written.
func (e *extent) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	wake(&e.more)
}

// await waits until there are more than beyond bytes and returns how many; at
// the end without more, io.EOF.
func (e *extent) await(ctx context.Context, beyond int64) (int64, error) {
	for {
		e.mu.Lock()
		size, ended, more := e.size, e.ended, waiting(&e.more)
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
