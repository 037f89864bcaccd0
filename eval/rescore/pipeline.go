package rescore

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// room is how much work may have been taken and not handed over yet: the sum of
// the costs, in bytes. So slow work holds up what is behind it only when much has
// come meanwhile, and memory has a bound.
const room = 512 << 20

// task is a piece of work that can be done beside others.
type task[R any] struct {
	cost int64 // roughly what it holds in memory, in bytes; more than all the room takes all of it
	do   func(context.Context) R
}

// taken is a task that has begun, or soon will.
type taken[R any] struct {
	cost   int64
	result chan R // gets the one result
}

// taker gets the results of tasks in the order in which these were given.
type taker[R any] struct {
	take func(R) error
	idle func() error // called before it is waited for a result or a task; nil: nothing is to be done then
}

// inOrder does the tasks that next returns until its error, as many at once as
// there are processors. An io.EOF is the end, any other error is returned after
// all that came before it was handed over. An error of the taker, and the end of
// ctx, end it at once, except that a call of next is waited for.
func inOrder[R any](ctx context.Context, next func() (task[R], error), to taker[R]) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	q := &queue[R]{tasks: make(chan taken[R], 1024), room: semaphore.NewWeighted(room)}
	var feeding errgroup.Group
	feeding.Go(func() error { return q.feed(ctx, next) })
	err := q.drain(ctx, to)
	if err != nil {
		stop()
	}
	fed := feeding.Wait()
	if err != nil {
		return err
	}
	return fed
}

// queue is the tasks between being taken and being handed over.
type queue[R any] struct {
	tasks chan taken[R] // in order; closed after the last
	room  *semaphore.Weighted
}

func (q *queue[R]) feed(ctx context.Context, next func() (task[R], error)) error {
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
		begun := taken[R]{cost: min(t.cost, room), result: make(chan R, 1)}
		if err := q.room.Acquire(ctx, begun.cost); err != nil {
			return context.Cause(ctx)
		}
		select {
		case q.tasks <- begun:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		workers.Go(func() error {
			begun.result <- t.do(ctx)
			return nil
		})
	}
}

func (q *queue[R]) drain(ctx context.Context, to taker[R]) error {
	for {
		begun, ok, err := receive(ctx, q.tasks, to.idle)
		if err != nil || !ok {
			return err
		}
		result, _, err := receive(ctx, begun.result, to.idle)
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // it may be the result of having been stopped
			return context.Cause(ctx)
		}
		if err := to.take(result); err != nil {
			return err
		}
		q.room.Release(begun.cost)
	}
}

// receive receives from a channel; ok is false when it is closed. It calls idle
// if it has to wait.
func receive[T any](ctx context.Context, from <-chan T, idle func() error) (v T, ok bool, err error) {
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
