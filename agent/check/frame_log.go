package check

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/internal/protocol"
)

// frame is one message of the agent.
type frame struct {
	protocol.Envelope
	body      []byte
	at        time.Time
	malformed error // why body is no message; nil: it is one
}

// frameLog records what the agent sends, until its connection ends. It is safe for concurrent use.
type frameLog struct {
	mu      sync.Mutex
	frames  []frame
	endErr  error         // why the connection has ended; nil: it has not
	changed chan struct{} // closed and replaced with each change of frames and endErr
}

func newFrameLog() *frameLog { return &frameLog{changed: make(chan struct{})} }

// add appends a frame.
func (l *frameLog) add(f frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, f)
	l.wakeLocked()
}

// end records that the connection has ended with err.
func (l *frameLog) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endErr = err
	l.wakeLocked()
}

// wakeLocked wakes what waits for a change. The caller holds mu.
func (l *frameLog) wakeLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// count returns how many frames have come.
func (l *frameLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.frames)
}

// from returns the frames from number first on, which may not be changed.
func (l *frameLog) from(first int) []frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frames[first:len(l.frames):len(l.frames)]
}

// state returns a channel that is closed with the next change, and why the connection has ended; nil: it has not.
func (l *frameLog) state() (changed <-chan struct{}, endErr error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed, l.endErr
}

// silentError is the error of a wait in which what was waited for has not come.
type silentError struct {
	what   string // such as "no agent_status ready"
	waited time.Duration
}

func (e *silentError) Error() string { return fmt.Sprintf("%s within %v", e.what, e.waited) }

// await waits until ready returns true for the frames from number first on. ready also returns when to ask again
// although no frame has come; zero: never. After timeout it fails with a silentError that says what has not come.
// It also fails when the connection or ctx ends.
func (l *frameLog) await(ctx context.Context, first int, timeout time.Duration, what string, ready func(frames []frame) (isReady bool, again time.Time)) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		changed, endErr := l.state() // before the frames, so that none is missed
		isReady, at := ready(l.from(first))
		if isReady {
			return nil
		}
		if endErr != nil {
			return endErr
		}
		var again <-chan time.Time
		if !at.IsZero() {
			again = time.After(time.Until(at))
		}
		select {
		case <-changed:
		case <-again:
		case <-deadline.C:
			return &silentError{what: what, waited: timeout}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitFrame waits, as await does, for a frame for which matches returns true.
func (l *frameLog) awaitFrame(ctx context.Context, first int, timeout time.Duration, what string, matches func(frame) bool) (found frame, err error) {
	err = l.await(ctx, first, timeout, what, func(frames []frame) (bool, time.Time) {
		for _, f := range frames {
			if matches(f) {
				found = f
				return true, time.Time{}
			}
		}
		return false, time.Time{}
	})
	return found, err
}

// awaitEnd waits until the connection has ended and returns why, or a silentError after timeout.
func (l *frameLog) awaitEnd(ctx context.Context, timeout time.Duration) error {
	return l.await(ctx, 0, timeout, "its connection has not ended", func([]frame) (bool, time.Time) { return false, time.Time{} })
}
