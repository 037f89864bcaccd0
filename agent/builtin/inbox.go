package builtin

import (
	"context"
	"slices"
	"sync"
)

// inbox is what the agent has been asked to do and has not finished. It keeps
// everything, in order; whoever adds never waits. A query waits for those before
// it of the same conversation, a call for nobody, a command for everything before
// it, and everything behind a command for the command. It is safe for concurrent
// use.
type inbox struct {
	changed chan struct{} // has room for one: something may be started

	mu   sync.Mutex
	jobs []*job // some of them may be under way
}

// job is a query, a command, or a call of a tool by another program.
type job struct {
	run          func()
	conversation *conversation // of a query, and one of its own of a call; nil for a command
	query        bool
	requestID    string                  // of a query, may be empty
	cancel       context.CancelCauseFunc // nil for a command
	started      bool
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{}, 1)} }

// command puts something at the end that is done at once.
func (b *inbox) command(run func()) { b.add(&job{run: run}) }

// query puts a query at the end. Its context ends with ctx, or when the query
// is cancelled.
func (b *inbox) query(ctx context.Context, c *conversation, requestID string, run func(context.Context)) {
	b.addEndable(ctx, &job{conversation: c, query: true, requestID: requestID}, run)
}

// call puts a call of a tool at the end. Its context ends with ctx, or when
// everything is cancelled.
func (b *inbox) call(ctx context.Context, run func(context.Context)) {
	b.addEndable(ctx, &job{conversation: &conversation{}}, run)
}

// addEndable adds a job with a context of its own.
func (b *inbox) addEndable(ctx context.Context, j *job, run func(context.Context)) {
	ctx, j.cancel = context.WithCancelCause(ctx)
	j.run = func() {
		defer j.cancel(nil)
		run(ctx)
	}
	b.add(j)
}

func (b *inbox) add(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = append(b.jobs, j)
	b.signal()
}

// signal is called with mu held, when something may be started.
func (b *inbox) signal() {
	select {
	case b.changed <- struct{}{}:
	default: // it is known already
	}
}

// cancel ends the query of that id, or with an empty id the first that there is,
// for that cause. A query that still waits is ended when its time comes.
func (b *inbox) cancel(requestID string, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.query && (requestID == "" || j.requestID == requestID) {
			j.cancel(cause)
			return
		}
	}
}

// cancelAll ends every query and call that there is now.
func (b *inbox) cancelAll(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.cancel != nil {
			j.cancel(cause)
		}
	}
}

// work runs the jobs until ctx ends and returns its cause, after those that are
// under way.
func (b *inbox) work(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-b.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, j := range b.startable() {
			running.Go(func() {
				j.run()
				b.finish(j)
			})
		}
	}
}

// startable marks what need not wait any longer as started, and returns it.
func (b *inbox) startable() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ready []*job
	busy := map[*conversation]bool{}
	for i, j := range b.jobs {
		if j.conversation == nil && i > 0 {
			break
		}
		if !j.started && !busy[j.conversation] {
			j.started = true
			ready = append(ready, j)
		}
		busy[j.conversation] = true
		if j.conversation == nil {
			break
		}
	}
	return ready
}

func (b *inbox) finish(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = slices.DeleteFunc(b.jobs, func(other *job) bool { return other == j })
	b.signal()
}
