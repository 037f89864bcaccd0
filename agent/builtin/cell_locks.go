package builtin

import (
	"context"
	"fmt"
	"sync"
)

// cellLocks lets one call at a time have the same cell run: the ends of two runs
// could not be told apart.
type cellLocks struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by cell; closed when it is free again
}

// take waits until nobody else runs the cell. leave gives it back.
func (l *cellLocks) take(ctx context.Context, cellID string) (leave func(), err error) {
	for {
		l.mu.Lock()
		taken, busy := l.taken[cellID]
		if !busy {
			mine := make(chan struct{})
			l.taken[cellID] = mine
			l.mu.Unlock()
			return func() { l.leave(cellID, mine) }, nil
		}
		l.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, fmt.Errorf("another call runs cell %s, and the wait for it was given up: %w", cellID, context.Cause(ctx))
		}
	}
}

func (l *cellLocks) leave(cellID string, mine chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.taken, cellID)
	close(mine)
}
