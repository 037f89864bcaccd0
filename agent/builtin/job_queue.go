package builtin

import (
	"context"
	"slices"
	"sync"
)

// jobQueue holds the agent's unfinished jobs in order of arrival: queries, tool calls of an
// external program, and commands such as applying an init. It is unbounded: adding a job
// never blocks. What a job waits for depends on its kind:
//
//	query      the earlier queries of its conversation
//	tool call  nothing
//	command    all earlier jobs; all later jobs wait for it
//
// It is safe for concurrent use.
type jobQueue struct {
	wake chan struct{} // buffer of 1: a job may have become startable

	mu   sync.Mutex
	jobs []*job // waiting and running
}

// job is one unit of work of an agent: a query, a command (such as applying an init), or a
// tool call of an external program.
type job struct {
	run          func()
	conversation *Conversation // nil for a command; a new one for each tool call
	isQuery      bool
	requestID    string                  // of a query; may be ""
	cancel       context.CancelCauseFunc // nil for a command
	started      bool
	isAnswered   bool // the query's work has ended: it can no longer be cancelled
}

func newJobQueue() *jobQueue { return &jobQueue{wake: make(chan struct{}, 1)} }

// addCommand queues a command: a job that waits for all earlier jobs, runs alone and cannot
// be cancelled.
func (q *jobQueue) addCommand(run func()) { q.addJob(&job{run: run}) }

// addQuery queues the work on a query of conversation c. The context that run gets ends with
// ctx, or when the query is cancelled. run returns a function that reports the end of the query,
// which is called once cancelQuery ignores the query: a cancel that answers the report is meant for
// the next one.
func (q *jobQueue) addQuery(ctx context.Context, c *Conversation, requestID string, run func(context.Context) (report func())) {
	j := &job{conversation: c, isQuery: true, requestID: requestID}
	q.addCancellable(ctx, j, func(ctx context.Context) {
		report := run(ctx)
		q.mu.Lock()
		j.isAnswered = true
		q.mu.Unlock()
		report()
	})
}

// addToolCall queues a tool call of an external program. The context that run gets ends with
// ctx, or when all jobs are cancelled.
func (q *jobQueue) addToolCall(ctx context.Context, run func(context.Context)) {
	q.addCancellable(ctx, &job{conversation: &Conversation{}}, run)
}

// addCancellable queues job j, which calls run with a context derived from ctx. j.cancel
// cancels that context.
func (q *jobQueue) addCancellable(ctx context.Context, j *job, run func(context.Context)) {
	ctx, j.cancel = context.WithCancelCause(ctx)
	j.run = func() {
		defer j.cancel(nil)
		run(ctx)
	}
	q.addJob(j)
}

func (q *jobQueue) addJob(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, j)
	q.wakeWorker()
}

// wakeWorker makes the goroutine that runs the jobs check which jobs can be started. It
// never blocks.
func (q *jobQueue) wakeWorker() {
	select {
	case q.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// cancelQuery cancels the context of the unfinished query with that request id, or of the
// first one if requestID is "". It does nothing if there is none. A query that has not
// started stays in the queue and ends when its turn comes.
func (q *jobQueue) cancelQuery(requestID string, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.isQuery && !j.isAnswered && (requestID == "" || j.requestID == requestID) {
			j.cancel(cause)
			return
		}
	}
}

// cancelAll cancels the contexts of all unfinished queries and tool calls with cause.
// Commands are not cancelled.
func (q *jobQueue) cancelAll(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.cancel != nil {
			j.cancel(cause)
		}
	}
}

// run starts jobs until ctx ends. It then waits for the running jobs and returns the
// cause of ctx.
func (q *jobQueue) run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, j := range q.takeStartableJobs() {
			running.Go(func() {
				j.run()
				q.removeJob(j)
			})
		}
	}
}

// takeStartableJobs returns the jobs that have not started and need not wait for others, and
// marks them as started.
func (q *jobQueue) takeStartableJobs() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ready []*job
	busy := map[*Conversation]bool{}
	for i, j := range q.jobs {
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

func (q *jobQueue) removeJob(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = slices.DeleteFunc(q.jobs, func(other *job) bool { return other == j })
	q.wakeWorker()
}
