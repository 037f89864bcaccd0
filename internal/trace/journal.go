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
	// MaxUnwrittenBytes is how many bytes of entries may wait for the file, or for a
	// follower made by [Journal.FollowWithBackpressure], before
	// [Journal.WaitForRoom] blocks.
	MaxUnwrittenBytes = 16 << 20

	// RoomTimeout is how long WaitForRoom blocks at most.
	RoomTimeout = 5 * time.Second

	// entryOverheadBytes is what an entry counts beside its body, in bytes.
	entryOverheadBytes = 256
)

// ErrCannotWrite is returned by [Journal.WaitForRoom], with the reason: the file
// cannot be written, or not fast enough.
var ErrCannotWrite = errors.New("the trace cannot be written")

// Journal numbers the entries of a session and keeps them for its followers. It is
// a linked list: each follower reads at its own pace, whoever appends never waits,
// and entries that every follower has read are garbage. It is safe for concurrent
// use.
type Journal struct {
	SessionID string
	Started   time.Time

	mu         sync.Mutex
	newest     *journalNode
	totalBytes int64 // of all entries, read or not
	closed     bool
	appended   chan struct{} // closed by the next Append or Close; nil: nobody waits

	backpressured []*Follower   // those that WaitForRoom waits for
	roomFreed     chan struct{} // closed when one of them has read on; nil: nobody waits
	writeErr      error         // why the file cannot be written; nil: it can
}

// journalNode is an element of the journal's list.
type journalNode struct {
	entry      Entry
	totalBytes int64 // of all entries up to and with this one
	next       *journalNode
}

// NewJournal returns the journal of a session that begins now.
func NewJournal(sessionID string) *Journal {
	return &Journal{SessionID: sessionID, Started: time.Now(), newest: &journalNode{}}
}

// Append appends e and returns its number. It does nothing and returns 0 if the
// journal is closed.
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
	j.newest.next = &journalNode{entry: e, totalBytes: j.totalBytes}
	j.newest = j.newest.next
	wakeWaiters(&j.appended)
	return e.Seq
}

// LastEntry returns number and time of the newest entry. Without entries these are
// 0 and the time at which the journal began.
func (j *Journal) LastEntry() (seq int64, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.newest.entry.Seq == 0 {
		return 0, j.Started
	}
	return j.newest.entry.Seq, j.newest.entry.WallTime
}

// waitChannel returns the channel in *c, which the next wakeWaiters closes, and
// makes it if there is none. The caller holds the lock that guards *c.
func waitChannel(c *chan struct{}) <-chan struct{} {
	if *c == nil {
		*c = make(chan struct{})
	}
	return *c
}

// wakeWaiters wakes everybody who got the channel in *c. The caller holds the lock
// that guards *c.
func wakeWaiters(c *chan struct{}) {
	if *c != nil {
		close(*c)
		*c = nil
	}
}

// Close ends the journal: followers read the entries that are there, then io.EOF.
// It may be called more than once.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	wakeWaiters(&j.appended)
}

// WaitForRoom blocks while more than [MaxUnwrittenBytes] wait for the file or for a
// follower made by [Journal.FollowWithBackpressure]. It returns [ErrCannotWrite]
// after [RoomTimeout], and at once if the file cannot be written; if ctx ends, its
// cause. The readers of kernel and agent, which alone send faster than a disk
// writes, call it before each frame.
func (j *Journal) WaitForRoom(ctx context.Context) error {
	var timeout <-chan time.Time
	for {
		j.mu.Lock()
		writeErr := j.writeErr
		full := slices.ContainsFunc(j.backpressured, func(f *Follower) bool {
			return j.totalBytes-f.lastRead.totalBytes > MaxUnwrittenBytes
		})
		freed := waitChannel(&j.roomFreed)
		j.mu.Unlock()
		switch {
		case writeErr != nil:
			return fmt.Errorf("%w: %w", ErrCannotWrite, writeErr)
		case !full:
			return nil
		}
		if timeout == nil {
			timer := time.NewTimer(RoomTimeout)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout:
			return fmt.Errorf("%w fast enough: %d MiB have waited for %v", ErrCannotWrite, MaxUnwrittenBytes>>20, RoomTimeout)
		}
	}
}

// setWriteError makes every WaitForRoom return that the file cannot be written.
func (j *Journal) setWriteError(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writeErr = err
	wakeWaiters(&j.roomFreed)
}

// Follower reads the entries of a journal in order. It is for one goroutine.
type Follower struct {
	journal  *Journal
	lastRead *journalNode // guarded by the journal's mu
}

// Follow returns a follower that reads every entry appended from now on.
func (j *Journal) Follow() *Follower {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &Follower{journal: j, lastRead: j.newest}
}

// FollowWithBackpressure returns a follower for which WaitForRoom makes the readers
// of kernel and agent wait when it is too far behind. The caller must Close it.
func (j *Journal) FollowWithBackpressure() *Follower {
	f := j.Follow()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.backpressured = append(j.backpressured, f)
	return f
}

// Close ends the follower: it reads nothing more, and nobody waits for it. It may
// be called more than once.
func (f *Follower) Close() {
	j := f.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	j.backpressured = slices.DeleteFunc(j.backpressured, func(other *Follower) bool { return other == f })
	f.lastRead = j.newest
	wakeWaiters(&j.roomFreed)
}

// Next returns the next entry, and waits for it if there is none yet. After the
// last entry of a closed journal it returns io.EOF; if ctx ends, its cause. The
// entry is shared: it may be kept but not changed.
func (f *Follower) Next(ctx context.Context) (*Entry, error) {
	for {
		entry, appended, closed := f.nextOrWaitChannel()
		switch {
		case entry != nil:
			return entry, nil
		case closed:
			return nil, io.EOF
		}
		select {
		case <-appended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// LastSeq returns the number of the entry that was read last; before the first, of
// the newest entry when the follower was made. 0: there was none.
func (f *Follower) LastSeq() int64 {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.lastRead.entry.Seq
}

// SessionID returns the id of the session whose journal this is.
func (f *Follower) SessionID() string { return f.journal.SessionID }

// UnreadBytes returns about how many bytes of entries the follower has not read.
func (f *Follower) UnreadBytes() int64 {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.journal.totalBytes - f.lastRead.totalBytes
}

// IsJournalClosed reports whether the journal is closed: no entries will be added.
func (f *Follower) IsJournalClosed() bool {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.journal.closed
}

// TryNext returns the next entry, or nil if there is none yet.
func (f *Follower) TryNext() *Entry {
	entry, _, _ := f.nextOrWaitChannel()
	return entry
}

// ReadyChannel returns a channel that is closed when there is an entry to read, or when
// the journal is closed; at once if that is so already.
func (f *Follower) ReadyChannel() <-chan struct{} {
	j := f.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if f.lastRead.next != nil || j.closed {
		ready := make(chan struct{})
		close(ready)
		return ready
	}
	return waitChannel(&j.appended)
}

// nextOrWaitChannel reads the next entry. If there is none it returns whether the journal is
// closed, and a channel that is closed when that may have changed.
func (f *Follower) nextOrWaitChannel() (entry *Entry, appended <-chan struct{}, closed bool) {
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
