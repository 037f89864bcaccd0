package builtin

import (
	"context"
	"fmt"
	"sync"
)

// turns lets one call at a time have the same cell run: the ends of two runs
// could not be told apart.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by cell; closed when it is free again
}

// take waits until nobody else runs the cell. leave gives it back.
func (t *turns) take(ctx context.Context, cellID string) (leave func(), err error) {
	for {
		t.mu.Lock()
		taken, busy := t.taken[cellID]
		if !busy {
			mine := make(chan struct{})
			t.taken[cellID] = mine
			t.mu.Unlock()
			return func() { t.leave(cellID, mine) }, nil
		}
		t.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, fmt.Errorf("another call runs cell %s, and the wait for it was given up: %w", cellID, context.Cause(ctx))
		}
	}
}

func (t *turns) leave(cellID string, mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, cellID)
	close(mine)
}
