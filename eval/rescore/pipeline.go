package rescore

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	// maxPendingBytes bounds the memory of the tasks that have been started and whose results have
	// not been consumed yet, by their own estimates. A slow task delays later ones only when they
	// have reached this bound.
	maxPendingBytes = 512 << 20

	// maxPendingTasks bounds the number of tasks that have been started and whose results have not been
	// consumed yet. When it is reached, no further task is started.
	maxPendingTasks = 1024
)

// pipelineTask is work with a result of type R that can run at the same time as other tasks.
type pipelineTask[R any] struct {
	memoryBytes int64 // estimate of the memory that it takes; more than maxPendingBytes counts as that
	run         func(context.Context) R
}

// startedTask is a pipelineTask that is running or waits for a processor.
type startedTask[R any] struct {
	memoryBytes int64
	result      chan R // gets the result once; buffered
}

// resultConsumer gets the results of tasks, in the order of the tasks.
type resultConsumer[R any] struct {
	consume func(R) error
	onIdle  func() error // called before waiting for the next result; nil: nothing is called
}

// runTasksInOrder runs the tasks that next returns, as many at once as there are processors, and
// passes their results to the consumer in order. It ends after the last result when next
// returns io.EOF; any other error of next is returned after the results of the earlier tasks
// were consumed. An error of the consumer, and the end of ctx, end it at once, except that it
// waits for a call of next that has begun.
func runTasksInOrder[R any](ctx context.Context, next func() (pipelineTask[R], error), to resultConsumer[R]) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	q := &orderedQueue[R]{tasks: make(chan startedTask[R], maxPendingTasks), memoryBudget: semaphore.NewWeighted(maxPendingBytes)}
	var starter errgroup.Group
	starter.Go(func() error { return q.startTasks(ctx, next) })
	err := q.deliverResults(ctx, to)
	if err != nil {
		stop()
	}
	startErr := starter.Wait()
	if err != nil {
		return err
	}
	return startErr
}

// orderedQueue holds the tasks that were started and whose results were not consumed yet, in
// order.
type orderedQueue[R any] struct {
	tasks        chan startedTask[R] // in order; closed after the last
	memoryBudget *semaphore.Weighted // maxPendingBytes
}

// startTasks starts the tasks that next returns, waits until they have ended, and closes
// q.tasks. It fails with the error of next, unless that is io.EOF, and with the cause of ctx.
func (q *orderedQueue[R]) startTasks(ctx context.Context, next func() (pipelineTask[R], error)) error {
	defer close(q.tasks)
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	defer func() { _ = workers.Wait() }() // the workers return no errors
	for {
		t, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		started := startedTask[R]{memoryBytes: min(t.memoryBytes, maxPendingBytes), result: make(chan R, 1)}
		if err := q.memoryBudget.Acquire(ctx, started.memoryBytes); err != nil {
			return context.Cause(ctx)
		}
		select {
		case q.tasks <- started:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		workers.Go(func() error {
			started.result <- t.run(ctx)
			return nil
		})
	}
}

// deliverResults passes the results of the tasks to the consumer, in order, until q.tasks is
// closed. It fails with the first error of the consumer, and with the cause of ctx.
func (q *orderedQueue[R]) deliverResults(ctx context.Context, to resultConsumer[R]) error {
	for {
		started, isOpen, err := receiveOrCallIdle(ctx, q.tasks, to.onIdle)
		if err != nil || !isOpen {
			return err
		}
		result, _, err := receiveOrCallIdle(ctx, started.result, to.onIdle)
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // the task may have been cancelled
			return context.Cause(ctx)
		}
		if err := to.consume(result); err != nil {
			return err
		}
		q.memoryBudget.Release(started.memoryBytes)
	}
}

// receiveOrCallIdle receives a value from a channel; isOpen is false if the channel is closed.
// If it has to wait it calls onIdle first, unless that is nil. It fails with the error of
// onIdle, and with the cause of ctx.
func receiveOrCallIdle[T any](ctx context.Context, from <-chan T, onIdle func() error) (v T, isOpen bool, err error) {
	select {
	case v, isOpen = <-from:
		return v, isOpen, nil
	default:
	}
	if onIdle != nil {
		if err := onIdle(); err != nil {
			return v, false, err
		}
	}
	select {
	case v, isOpen = <-from:
		return v, isOpen, nil
	case <-ctx.Done():
		return v, false, context.Cause(ctx)
	}
}
