package builtin

import (
	"context"
	"sync"
)

// inbox is what the agent has been asked to do and has not finished. It keeps
// everything, in order; whoever adds never waits. It is safe for concurrent
// use.
type inbox struct {
	arrived chan struct{} // has room for one: something is there

	mu   sync.Mutex
	jobs []*job // the first of them may be under way
}

// job is a query or a command.
type job struct {
	run       func()
	requestID string                  // of a query, may be empty
	cancel    context.CancelCauseFunc // of a query; nil for a command, which cannot be cancelled
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1)} }

// command puts something at the end that is done at once.
func (b *inbox) command(run func()) { b.add(&job{run: run}) }

// query puts a query at the end. Its context ends with ctx, or when the query
// is cancelled.
func (b *inbox) query(ctx context.Context, requestID string, run func(context.Context)) {
	ctx, cancel := context.WithCancelCause(ctx)
	b.add(&job{requestID: requestID, cancel: cancel, run: func() {
		defer cancel(nil)
		run(ctx)
	}})
}

func (b *inbox) add(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = append(b.jobs, j)
	select {
	case b.arrived <- struct{}{}:
	default: // it is known already
	}
}

// cancel ends the query of that id, or with an empty id the next one to end,
// for that cause. A query that still waits is ended when its time comes.
func (b *inbox) cancel(requestID string, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.cancel != nil && (requestID == "" || j.requestID == requestID) {
			j.cancel(cause)
			return
		}
	}
}

// cancelAll ends every query that there is now.
func (b *inbox) cancelAll(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.cancel != nil {
			j.cancel(cause)
		}
	}
}

// work runs the jobs until ctx ends, and returns its cause.
func (b *inbox) work(ctx context.Context) error {
	for {
		select {
		case <-b.arrived:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for j := b.first(); j != nil && ctx.Err() == nil; j = b.first() {
			j.run()
			b.finish()
		}
	}
}

func (b *inbox) first() *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) == 0 {
		return nil
	}
	return b.jobs[0]
}

func (b *inbox) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = b.jobs[1:]
}
