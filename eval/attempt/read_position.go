package attempt

import (
	"context"
	"sync"
)

// readPosition is the number of the last trace entry that the watcher has processed. It is safe
// for concurrent use.
type readPosition struct {
	mu      sync.Mutex
	seq     int64
	changed chan struct{} // closed when seq changes; nil: nobody waits for that
}

// advance sets the position. A lower number than before is ignored.
func (p *readPosition) advance(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seq <= p.seq {
		return
	}
	p.seq = seq
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// await waits until the position is at least seq. It fails if ctx ends first.
func (p *readPosition) await(ctx context.Context, seq int64) error {
	for {
		changed := p.changedBefore(seq)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// changedBefore returns a channel that is closed when the position changes; nil if it is at least
// seq.
func (p *readPosition) changedBefore(seq int64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seq >= seq {
		return nil
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}
