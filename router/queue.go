package router

import (
	"sync"
	"time"
)

const (
	// MaxQueueBytes and MaxQueueFrames limit how much may wait to be written to one
	// peer. An empty queue takes one frame of any size.
	MaxQueueBytes  = 8 << 20
	MaxQueueFrames = 8192
)

// queue holds the frames that wait to be written to one peer, first in, first out.
// It is safe for concurrent use; one goroutine takes frames out.
type queue struct {
	mu      sync.Mutex
	frames  []frame
	bytes   int // of the bodies of frames
	closed  bool
	movedAt time.Time // when a frame was last taken out, or came into the empty queue

	pushed  chan struct{} // holds a token after a push or close
	popped  chan struct{} // holds a token after a pop
	drained chan struct{} // closed by the writer after the last frame of a closed queue
}

func newQueue() *queue {
	return &queue{pushed: make(chan struct{}, 1), popped: make(chan struct{}, 1), drained: make(chan struct{})}
}

// push appends f and calls accepted before anyone can take f out, so that accepted
// is called in the order of the queue. It does neither if the queue is full or
// closed, and returns which of the two it is.
func (q *queue) push(f frame, accepted func()) (full, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	full = !q.closed && q.isFullLocked(len(f.body))
	if !q.closed && !full {
		q.appendLocked(f, accepted)
	}
	return full, q.closed
}

// pushOverLimit is push for a frame that must not be lost: it appends f to a full
// queue too. It does nothing if the queue is closed.
func (q *queue) pushOverLimit(f frame, accepted func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.appendLocked(f, accepted)
	}
}

// isFullLocked reports whether the queue has no room for a frame with a body of
// so many bytes. The caller holds mu.
func (q *queue) isFullLocked(bodyBytes int) bool {
	return len(q.frames) > 0 && (q.bytes+bodyBytes > MaxQueueBytes || len(q.frames) >= MaxQueueFrames)
}

func (q *queue) appendLocked(f frame, accepted func()) {
	accepted()
	if len(q.frames) == 0 {
		q.movedAt = time.Now()
	}
	q.frames = append(q.frames, f)
	q.bytes += len(f.body)
	putToken(q.pushed)
}

// fullness returns whether the queue is full, how many bytes it holds, and when a
// frame was last taken out.
func (q *queue) fullness() (full bool, bytes int, movedAt time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isFullLocked(1), q.bytes, q.movedAt
}

// isHalfFull reports whether more than half of the queue's bytes or frames are
// taken. Frames that a peer can do without are then left out.
func (q *queue) isHalfFull() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes > MaxQueueBytes/2 || len(q.frames) > MaxQueueFrames/2
}

// depth returns how many frames and bytes wait.
func (q *queue) depth() (frames, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames), q.bytes
}

// pop takes the first frame out. If the queue is empty, ok is false and closed says
// whether it stays so; otherwise the channel pushed says when to try again.
func (q *queue) pop() (f frame, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		q.frames = nil
		return frame{}, false, q.closed
	}
	f = q.frames[0]
	q.frames[0] = frame{}
	q.frames = q.frames[1:]
	q.bytes -= len(f.body)
	q.movedAt = time.Now()
	putToken(q.popped)
	return f, true, false
}

// close makes every later push fail. What is in the queue can still be taken out.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	putToken(q.pushed)
}

// closeAndEmpty closes the queue and returns the frames that were in it.
func (q *queue) closeAndEmpty() []frame {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames := q.frames
	q.frames, q.bytes, q.closed = nil, 0, true
	putToken(q.pushed)
	return frames
}

// putToken puts a token into a channel of capacity 1 unless it has one.
func putToken(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
