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

// frameQueue is the first-in, first-out queue of frames that wait to be written to one peer. It is
// safe for concurrent use, but only one goroutine takes frames out.
type frameQueue struct {
	mu      sync.Mutex
	frames  []frame
	bytes   int // of the bodies of frames
	closed  bool
	movedAt time.Time // when a frame was last taken out, or came into the empty queue

	pushed  chan struct{} // holds a token after a push or close
	popped  chan struct{} // holds a token after a pop
	drained chan struct{} // closed by the writer after the last frame of a closed queue
}

// newFrameQueue returns an empty, open queue of frames.
func newFrameQueue() *frameQueue {
	return &frameQueue{pushed: make(chan struct{}, 1), popped: make(chan struct{}, 1), drained: make(chan struct{})}
}

// push appends the frame f to the queue and calls accepted before f can be taken out, so that
// calls of accepted are in the queue's order. If the queue is full or closed it does neither
// and says which.
func (q *frameQueue) push(f frame, accepted func()) (full, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	full = !q.closed && q.isFullLocked(len(f.body))
	if !q.closed && !full {
		q.appendLocked(f, accepted)
	}
	return full, q.closed
}

// pushOverLimit appends the frame f even to a full queue, for frames that must not be lost, and
// calls accepted before f can be taken out. It does nothing if the queue is closed.
func (q *frameQueue) pushOverLimit(f frame, accepted func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.appendLocked(f, accepted)
	}
}

// isFullLocked reports whether the queue has no room for a frame whose body has bodyBytes
// bytes. An empty queue always has room. The caller holds mu.
func (q *frameQueue) isFullLocked(bodyBytes int) bool {
	return len(q.frames) > 0 && (q.bytes+bodyBytes > MaxQueueBytes || len(q.frames) >= MaxQueueFrames)
}

// appendLocked calls accepted, appends the frame f to the queue without checking its limits,
// and wakes the goroutine that takes frames out. The caller holds mu.
func (q *frameQueue) appendLocked(f frame, accepted func()) {
	accepted()
	if len(q.frames) == 0 {
		q.movedAt = time.Now()
	}
	q.frames = append(q.frames, f)
	q.bytes += len(f.body)
	wakeReceiver(q.pushed)
}

// fullness returns whether the queue is full, how many bytes its frames have, and when a frame
// was last taken out or came into the empty queue.
func (q *frameQueue) fullness() (full bool, bytes int, movedAt time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isFullLocked(1), q.bytes, q.movedAt
}

// isHalfFull reports whether the queue holds more than half of MaxQueueBytes or MaxQueueFrames.
// Frames that the peer can do without are then left out.
func (q *frameQueue) isHalfFull() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes > MaxQueueBytes/2 || len(q.frames) > MaxQueueFrames/2
}

// depth returns how many frames wait in the queue, and how many bytes they have.
func (q *frameQueue) depth() (frames, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames), q.bytes
}

// pop takes the first frame out of the queue. If the queue is empty, ok is false; closed then
// says that no frame will come, and otherwise the channel pushed tells when to try again.
func (q *frameQueue) pop() (f frame, ok, closed bool) {
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
	wakeReceiver(q.popped)
	return f, true, false
}

// close makes every later push fail. Frames in the queue can still be taken out.
func (q *frameQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	wakeReceiver(q.pushed)
}

// closeAndEmpty closes the queue, removes all frames from it and returns them.
func (q *frameQueue) closeAndEmpty() []frame {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames := q.frames
	q.frames, q.bytes, q.closed = nil, 0, true
	wakeReceiver(q.pushed)
	return frames
}

// wakeReceiver sends a value to a channel of capacity 1 to wake its receiver. It does
// nothing if the channel is full.
func wakeReceiver(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
