package gateway

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Slots bounds the calls in flight over several endpoints, first come first served. It is safe
// for concurrent use. A nil *Slots has no limit.
type Slots struct{ free *semaphore.Weighted }

// NewSlots returns n slots, or nil, which is no limit, if n is 0.
func NewSlots(n int) *Slots {
	if n == 0 {
		return nil
	}
	return &Slots{free: semaphore.NewWeighted(int64(n))}
}

// tryAcquire takes a slot if one is free and nobody waits for one.
func (s *Slots) tryAcquire() bool { return s == nil || s.free.TryAcquire(1) }

// acquire waits for a slot. It fails if ctx ends.
func (s *Slots) acquire(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return s.free.Acquire(ctx, 1)
}

// release gives a slot back.
func (s *Slots) release() {
	if s != nil {
		s.free.Release(1)
	}
}
