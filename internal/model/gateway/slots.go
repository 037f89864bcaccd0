package gateway

import (
	"context"

	"golang.org/x/sync/semaphore"

	"assay/internal/model"
)

// Slots bounds the calls in flight over several endpoints and clients, first come first served. It is safe
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

// Limit returns a client each of whose calls waits for a slot before it calls client: client itself
// if s is nil.
func (s *Slots) Limit(client model.Client) model.Client {
	if s == nil {
		return client
	}
	return limitedClient{s, client}
}

type limitedClient struct {
	slots  *Slots
	client model.Client
}

func (c limitedClient) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if err := c.slots.acquire(ctx); err != nil {
		return nil, context.Cause(ctx)
	}
	defer c.slots.release()
	return c.client.Complete(ctx, req, onDelta)
}
