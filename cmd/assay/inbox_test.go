package main

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inbox collects items from one source, such as a connection or the lines of a pipe, and lets
// tests wait for them. It is safe for concurrent use.
type inbox[T any] struct {
	mu      sync.Mutex
	items   []T
	changed chan struct{} // closed and replaced when an item or the error is added
	err     error         // why the source ended; nil while it has not
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{changed: make(chan struct{})} }

// readItemsFrom adds the items that next returns, until next returns an error.
func (b *inbox[T]) readItemsFrom(next func() (T, error)) {
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

// snapshot returns the items so far, a channel that is closed at the next change, and the error
// that ended the source.
func (b *inbox[T]) snapshot() (items []T, changed <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.items), b.changed, b.err
}

// itemsMatching returns the items so far that match.
func (b *inbox[T]) itemsMatching(match func(T) bool) []T {
	items, _, _ := b.snapshot()
	return slices.DeleteFunc(items, func(item T) bool { return !match(item) })
}

// awaitItem waits for an item that matches and returns the first one. After waitTimeout, or when
// the source has ended, it fails the test with what.
func (b *inbox[T]) awaitItem(t *testing.T, what string, match func(T) bool) T {
	t.Helper()
	return b.awaitNthItem(t, 1, what, match)
}

// awaitNthItem is await for the nth matching item, counted from 1.
func (b *inbox[T]) awaitNthItem(t *testing.T, n int, what string, match func(T) bool) (item T) {
	t.Helper()
	timeout := time.After(waitTimeout)
	for {
		items, changed, err := b.snapshot()
		last := items[max(0, len(items)-10):]
		matching := slices.DeleteFunc(slices.Clone(items), func(item T) bool { return !match(item) })
		if len(matching) >= n {
			return matching[n-1]
		}
		require.NoError(t, err, "waiting for %s; the last items: %v", what, last)
		select {
		case <-changed:
		case <-timeout:
			require.Fail(t, "timed out", "waiting for %s; the last items: %v", what, last)
		}
	}
}

// awaitError waits until the source has ended and returns its error.
func (b *inbox[T]) awaitError(t *testing.T) error {
	t.Helper()
	timeout := time.After(waitTimeout)
	for {
		items, changed, err := b.snapshot()
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-timeout:
			require.Fail(t, "the source did not end", "items: %v", items)
		}
	}
}
