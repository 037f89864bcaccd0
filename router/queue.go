package router

import (
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

const (
	// MaxQueueBytes and MaxQueueFrames bound what waits for one peer; one frame of
	// any size is always taken.
	MaxQueueBytes  = 8 << 20
	MaxQueueFrames = 8192
)

// item is a frame on its way.
type item struct {
	env  protocol.Envelope
	body []byte
	note trace.Note // for the entry it leaves in the trace
	ref  int64      // the entry that has body; 0: none has yet

	recorded []byte // what the trace has in place of body, where that would be too much; nil: body

	cause int64 // the entry that it was made out of; 0: none
}

// queue is what waits to be written to one peer.
type queue struct {
	mu     sync.Mutex
	items  []item
	bytes  int
	closed bool
	moved  time.Time // when the last one was taken, or the first one came

	wake    chan struct{} // holds a token when there is something new
	freed   chan struct{} // holds a token when something was taken
	drained chan struct{} // closed by the writer when it has written the last
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), freed: make(chan struct{}, 1), drained: make(chan struct{})}
}

// push takes it and calls accept, in the order of the queue, unless the queue
// is full or closed.
func (q *queue) push(it item, accept func()) (full, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	full = !q.closed && q.fullLocked(len(it.body))
	if !q.closed && !full {
		q.takeLocked(it, accept)
	}
	return full, q.closed
}

// force takes it even when the queue is full.
func (q *queue) force(it item, accept func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.takeLocked(it, accept)
	}
}

func (q *queue) fullLocked(more int) bool {
	return len(q.items) > 0 && (q.bytes+more > MaxQueueBytes || len(q.items) >= MaxQueueFrames)
}

func (q *queue) takeLocked(it item, accept func()) {
	accept()
	if len(q.items) == 0 {
		q.moved = time.Now()
	}
	q.items = append(q.items, it)
	q.bytes += len(it.body)
	poke(q.wake)
}

// state tells whether the queue is full, how many bytes it holds, and since
// when it has not moved.
func (q *queue) state() (full bool, bytes int, moved time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fullLocked(1), q.bytes, q.moved
}

// busy tells whether so much waits that what can be done without is left out.
func (q *queue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes > MaxQueueBytes/2 || len(q.items) > MaxQueueFrames/2
}

// depth returns how many frames and bytes wait.
func (q *queue) depth() (frames, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items), q.bytes
}

func poke(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// pop takes the first item. Where there is none, either the queue is closed or
// wake tells when to try again.
func (q *queue) pop() (it item, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		q.items = nil
		return item{}, false, q.closed
	}
	it = q.items[0]
	q.items[0] = item{}
	q.items = q.items[1:]
	q.bytes -= len(it.body)
	q.moved = time.Now()
	poke(q.freed)
	return it, true, false
}

// close lets nothing more in.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	poke(q.wake)
}

// rest closes the queue and takes everything that was not popped.
func (q *queue) rest() []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items, q.bytes, q.closed = nil, 0, true
	poke(q.wake)
	return items
}
