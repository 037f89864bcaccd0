package main

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inbox keeps all that has come from somewhere, for a test to wait for. It is
// safe for concurrent use.
type inbox[T any] struct {
	mu      sync.Mutex
	items   []T
	changed chan struct{} // closed when there is something new
	err     error         // why nothing more comes
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{changed: make(chan struct{})} }

// fill puts in what next returns until that fails.
func (b *inbox[T]) fill(next func() (T, error)) {
	for {
		item, err := next()
		b.mu.Lock()
		if err == nil {
			b.items = append(b.items, item)
		}
		b.err = err
		close(b.changed)
		b.changed = make(chan struct{})
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (b *inbox[T]) snapshot() (items []T, more <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.items), b.changed, b.err
}

// matching returns what has come so far and matches.
func (b *inbox[T]) matching(match func(T) bool) []T {
	items, _, _ := b.snapshot()
	return slices.DeleteFunc(items, func(item T) bool { return !match(item) })
}

// await returns the first item of all that have come, or will, that matches.
func (b *inbox[T]) await(t *testing.T, what string, match func(T) bool) T {
	t.Helper()
	return b.awaitNth(t, 1, what, match)
}

// awaitNth returns the nth of them, from 1 on.
func (b *inbox[T]) awaitNth(t *testing.T, n int, what string, match func(T) bool) (item T) {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		items, more, err := b.snapshot()
		last := items[max(0, len(items)-10):]
		matching := slices.DeleteFunc(slices.Clone(items), func(item T) bool { return !match(item) })
		if len(matching) >= n {
			return matching[n-1]
		}
		require.NoError(t, err, "waiting for %s; what came last: %v", what, last)
		select {
		case <-more:
		case <-late:
			require.Fail(t, "it did not come", "%s; what came last: %v", what, last)
		}
	}
}

// awaitError returns the error that ended it.
func (b *inbox[T]) awaitError(t *testing.T) error {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		items, more, err := b.snapshot()
		if err != nil {
			return err
		}
		select {
		case <-more:
		case <-late:
			require.Fail(t, "it did not end", "what came: %v", items)
		}
	}
}
