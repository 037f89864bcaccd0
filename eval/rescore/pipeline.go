package rescore

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// maxPendingBytes is how much work may have been taken and not handed over yet: the sum of
// the costs, in bytes. So slow work holds up what is behind it only when much has
// come meanwhile, and memory has a bound.
const maxPendingBytes = 512 << 20

// task is a piece of work that can be done beside others.
type task[R any] struct {
	memoryBytes int64 // roughly what it holds in memory, in bytes; more than all the room takes all of it
	run         func(context.Context) R
}

// startedTask is a task that has begun, or soon will.
type startedTask[R any] struct {
	memoryBytes int64
	result      chan R // gets the one result
}

// consumer gets the results of tasks in the order in which these were given.
type consumer[R any] struct {
	consume func(R) error
	onIdle  func() error // called before it is waited for a result or a task; nil: nothing is to be done then
}

// processInOrder does the tasks that next returns until its error, as many at once as
// there are processors. An io.EOF is the end, any other error is returned after
// all that came before it was handed over. An error of the taker, and the end of
// ctx, end it at once, except that a call of next is waited for.
func processInOrder[R any](ctx context.Context, next func() (task[R], error), to consumer[R]) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	q := &orderedQueue[R]{tasks: make(chan startedTask[R], 1024), memory: semaphore.NewWeighted(maxPendingBytes)}
	var feeding errgroup.Group
	feeding.Go(func() error { return q.startTasks(ctx, next) })
	err := q.deliverResults(ctx, to)
	if err != nil {
		stop()
	}
	fed := feeding.Wait()
	if err != nil {
		return err
	}
	return fed
}

// orderedQueue is the tasks between being taken and being handed over.
type orderedQueue[R any] struct {
	tasks  chan startedTask[R] // in order; closed after the last
	memory *semaphore.Weighted
}

func (q *orderedQueue[R]) startTasks(ctx context.Context, next func() (task[R], error)) error {
	defer close(q.tasks)
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	defer func() { _ = workers.Wait() }() // none of them fails
	for {
		t, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		begun := startedTask[R]{memoryBytes: min(t.memoryBytes, maxPendingBytes), result: make(chan R, 1)}
		if err := q.memory.Acquire(ctx, begun.memoryBytes); err != nil {
			return context.Cause(ctx)
		}
		select {
		case q.tasks <- begun:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		workers.Go(func() error {
			begun.result <- t.run(ctx)
			return nil
		})
	}
}

func (q *orderedQueue[R]) deliverResults(ctx context.Context, to consumer[R]) error {
	for {
		begun, ok, err := receiveOrIdle(ctx, q.tasks, to.onIdle)
		if err != nil || !ok {
			return err
		}
		result, _, err := receiveOrIdle(ctx, begun.result, to.onIdle)
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // it may be the result of having been stopped
			return context.Cause(ctx)
		}
		if err := to.consume(result); err != nil {
			return err
		}
		q.memory.Release(begun.memoryBytes)
	}
}

// receiveOrIdle receives from a channel; ok is false when it is closed. It calls idle
// if it has to wait.
func receiveOrIdle[T any](ctx context.Context, from <-chan T, idle func() error) (v T, ok bool, err error) {
	select {
	case v, ok = <-from:
		return v, ok, nil
	default:
	}
	if idle != nil {
		if err := idle(); err != nil {
			return v, false, err
		}
	}
	select {
	case v, ok = <-from:
		return v, ok, nil
	case <-ctx.Done():
		return v, false, context.Cause(ctx)
	}
}
