package terminal

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxQueuedWrites is the number of writes that an AsyncWriter queues. Further writes
	// are dropped and their lines counted.
	maxQueuedWrites = 1024

	// flushTimeout is how long Close of an AsyncWriter, and Clear of a Screen, wait for
	// a terminal that takes no text.
	flushTimeout = time.Second
)

// AsyncWriter is a writer whose Write never waits: logs and progress must not hold up a
// session because a user has stopped the terminal. It queues up to 1024 writes, drops
// further ones, and says later how many lines they had. It is safe for concurrent use. Close ends it.
type AsyncWriter struct {
	queue   chan []byte
	drained chan struct{} // closed when the queue is closed and written

	mu           sync.Mutex
	droppedLines int // in the writes since the last one that was queued
	closed       bool
}

// NewAsyncWriter returns a writer that passes on to out what is written. It ignores
// errors of out.
func NewAsyncWriter(out io.Writer) *AsyncWriter {
	w := &AsyncWriter{queue: make(chan []byte, maxQueuedWrites), drained: make(chan struct{})}
	go func() {
		defer close(w.drained)
		for text := range w.queue {
			_, _ = out.Write(text) // the errors of stderr have nowhere to go
		}
	}()
	return w
}

// Write queues a copy of text, or drops it if the queue is full or closed. It never
// fails.
func (w *AsyncWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(text), nil
	}
	queued := append([]byte{}, text...)
	if w.droppedLines > 0 {
		queued = append(fmt.Appendf(nil, "[%d lines were left out here]\n", w.droppedLines), queued...)
	}
	select {
	case w.queue <- queued:
		w.droppedLines = 0
	default:
		w.droppedLines += max(1, bytes.Count(text, []byte("\n")))
	}
	return len(text), nil
}

// Close waits until the queue is written, but no longer than a second. A write that is
// still stuck then is left to the end of the process. Close may be called only once.
func (w *AsyncWriter) Close() {
	w.mu.Lock()
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
	select {
	case <-w.drained:
	case <-time.After(flushTimeout):
	}
}
