package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// MaxUnwrittenBytes is how many bytes may wait for the file, or for another follower
	// that must miss nothing, before [Journal.Room] makes its caller wait.
	MaxUnwrittenBytes = 16 << 20

	// RoomTimeout is how long Room waits at most.
	RoomTimeout = 5 * time.Second

	// entryOverheadBytes stands for what an entry takes beside its body, in bytes.
	entryOverheadBytes = 256
)

// ErrCannotWrite is what [Journal.Room] returns, with the reason: somebody cannot
// keep up, or the file cannot be written at all.
var ErrCannotWrite = errors.New("the trace cannot be written")

// Journal gives a session its one order. It is a list that followers walk at
// their own pace, so nobody who appends ever waits for one who reads, and what
// everybody has read is garbage. It is safe for concurrent use.
type Journal struct {
	SessionID string
	Started   time.Time

	mu         sync.Mutex
	newest     *node
	totalBytes int64 // of the costs of all entries
	closed     bool
	appended   chan struct{} // closed when there is more to read; nil while nobody waits

	backpressured []*Follower   // whose pace Room watches
	roomFreed     chan struct{} // closed when one of them has moved on; nil while nobody waits
	writeErr      error         // why the writer gave up
}

type node struct {
	entry      Entry
	totalBytes int64 // of the costs up to and with this one
	next       *node
}

// NewJournal returns the journal of a session that begins now.
func NewJournal(session string) *Journal {
	return &Journal{SessionID: session, Started: time.Now(), newest: &node{}}
}

// Append puts e at the end and returns its Seq. On a closed journal it does
// nothing and returns 0.
func (j *Journal) Append(e Entry) int64 {
	if e.BodyBytes == 0 {
		e.BodyBytes = len(e.Body)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0
	}
	e.Seq = j.newest.entry.Seq + 1
	e.WallTime = time.Now()
	e.Elapsed = e.WallTime.Sub(j.Started)
	j.totalBytes += int64(len(e.Body)) + entryOverheadBytes
	j.newest.next = &node{entry: e, totalBytes: j.totalBytes}
	j.newest = j.newest.next
	wakeWaiters(&j.appended)
	return e.Seq
}

// LastEntry returns number and time of the newest entry; 0 and the journal's
// beginning: there is none yet.
func (j *Journal) LastEntry() (seq int64, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.newest.entry.Seq == 0 {
		return 0, j.Started
	}
	return j.newest.entry.Seq, j.newest.entry.WallTime
}

// waitChannel returns the channel in at, which the next wake closes, and wake wakes
// everybody who got it. The journal's mu is held for both.
func waitChannel(at *chan struct{}) <-chan struct{} {
	if *at == nil {
		*at = make(chan struct{})
	}
	return *at
}

func wakeWaiters(at *chan struct{}) {
	if *at != nil {
		close(*at)
		*at = nil
	}
}

// Close ends the journal: followers read what is there, then io.EOF.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	wakeWaiters(&j.appended)
}

// WaitForRoom waits while more than [MaxUnwrittenBytes] bytes wait for the file or for a
// [Journal.FollowWithBackpressure], at most [RoomTimeout]; then, and when writing has failed, it returns [ErrCannotWrite].
// The readers of kernel and agent, who alone can outrun a disk, call it before
// each frame.
func (j *Journal) WaitForRoom(ctx context.Context) error {
	var deadline <-chan time.Time
	for {
		j.mu.Lock()
		failed := j.writeErr
		full := slices.ContainsFunc(j.backpressured, func(f *Follower) bool { return j.totalBytes-f.lastRead.totalBytes > MaxUnwrittenBytes })
		moved := waitChannel(&j.roomFreed)
		j.mu.Unlock()
		switch {
		case failed != nil:
			return fmt.Errorf("%w: %w", ErrCannotWrite, failed)
		case !full:
			return nil
		}
		if deadline == nil {
			timer := time.NewTimer(RoomTimeout)
			defer timer.Stop()
			deadline = timer.C
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline:
			return fmt.Errorf("%w fast enough: %d MiB have waited for %v", ErrCannotWrite, MaxUnwrittenBytes>>20, RoomTimeout)
		}
	}
}

// setWriteError notes that the file cannot be written.
func (j *Journal) setWriteError(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writeErr = err
	wakeWaiters(&j.roomFreed)
}

// Follower walks a journal. It is for one goroutine.
type Follower struct {
	journal  *Journal
	lastRead *node // the last one read; guarded by the journal's mu
}

// Follow returns a follower that sees everything appended from now on.
func (j *Journal) Follow() *Follower {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &Follower{journal: j, lastRead: j.newest}
}

// FollowWithBackpressure returns a follower that must miss nothing and be given time: Room
// makes the readers of kernel and agent wait for it. Whoever called it must
// Close it.
func (j *Journal) FollowWithBackpressure() *Follower {
	f := j.Follow()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.backpressured = append(j.backpressured, f)
	return f
}

// Close ends the follower: nobody waits for it any more. It may be called more
// than once.
func (f *Follower) Close() {
	j := f.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	j.backpressured = slices.DeleteFunc(j.backpressured, func(p *Follower) bool { return p == f })
	f.lastRead = j.newest
	wakeWaiters(&j.roomFreed)
}

// Next returns the next entry, waiting for it when there is none yet. After the
// last entry of a closed journal it returns io.EOF. The entry is shared: it may
// be kept, but not changed.
func (f *Follower) Next(ctx context.Context) (*Entry, error) {
	for {
		entry, more, closed := f.step()
		switch {
		case entry != nil:
			return entry, nil
		case closed:
			return nil, io.EOF
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// LastSeq is that of the entry that was read last, or that was the last when the
// follower was made; 0: there was none.
func (f *Follower) LastSeq() int64 {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.lastRead.entry.Seq
}

// SessionID is the id of the session whose journal this is.
func (f *Follower) SessionID() string { return f.journal.SessionID }

// UnreadBytes is how much of the journal the follower has not read, in bytes of
// entries, about.
func (f *Follower) UnreadBytes() int64 {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.journal.totalBytes - f.lastRead.totalBytes
}

// IsJournalClosed tells whether the journal is closed: what can be read is all there is.
func (f *Follower) IsJournalClosed() bool {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.journal.closed
}

// TryNext returns the next entry if it is there already, and otherwise nil.
func (f *Follower) TryNext() *Entry {
	entry, _, _ := f.step()
	return entry
}

// Ready returns a channel that is closed when there is more to read, or the
// journal is. It is for when Try has found nothing.
func (f *Follower) Ready() <-chan struct{} {
	j := f.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if f.lastRead.next != nil || j.closed {
		more := make(chan struct{})
		close(more)
		return more
	}
	return waitChannel(&j.appended)
}

// step moves on by one entry. Where there is none, more tells when there is.
func (f *Follower) step() (entry *Entry, more <-chan struct{}, closed bool) {
	j := f.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if f.lastRead.next == nil {
		return nil, waitChannel(&j.appended), j.closed
	}
	f.lastRead = f.lastRead.next
	wakeWaiters(&j.roomFreed)
	return &f.lastRead.entry, nil, false
}
