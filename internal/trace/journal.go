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

	// RoomTimeout is how long WaitForRoom blocks while what it waits for reads no entry. To read
	// one of 64 MiB, the largest, takes a second or two of a processor.
	RoomTimeout = 30 * time.Second

	// entryOverheadBytes is what an entry counts beside its body, in bytes.
	entryOverheadBytes = 256
)

// ErrCannotWrite is wrapped by the error of [Journal.WaitForRoom] if the trace file cannot be
// written, or not fast enough.
var ErrCannotWrite = errors.New("the trace cannot be written")

// Journal numbers the entries of a session's trace and keeps them in memory until its followers
// have read them. It is a linked list: each follower reads at its own pace, appending never
// waits, and entries that every follower has read are garbage. It is safe for concurrent use.
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

// journalNode is an element of the journal's linked list: an entry and the next element.
type journalNode struct {
	entry      Entry
	totalBytes int64 // of all entries up to and with this one
	next       *journalNode
}

// NewJournal returns an empty journal of the session with this id, which begins now.
func NewJournal(sessionID string) *Journal {
	return &Journal{SessionID: sessionID, Started: time.Now(), newest: &journalNode{}}
}

// Append adds the entry e to the journal and returns its number, from 1 on. It does nothing and
// returns 0 if the journal is closed.
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

// LastEntry returns the number and the time of the newest entry; 0 and the time at which the
// journal began if there is none.
func (j *Journal) LastEntry() (seq int64, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.newest.entry.Seq == 0 {
		return 0, j.Started
	}
	return j.newest.entry.Seq, j.newest.entry.WallTime
}

// waitChannel returns the channel stored in *c, which the next call of wakeWaiters closes, and
// makes it if *c is nil. The caller holds the lock that guards *c.
func waitChannel(c *chan struct{}) <-chan struct{} {
	if *c == nil {
		*c = make(chan struct{})
	}
	return *c
}

// wakeWaiters closes the channel stored in *c, if there is one, which wakes all goroutines that
// wait for it. The caller holds the lock that guards *c.
func wakeWaiters(c *chan struct{}) {
	if *c != nil {
		close(*c)
		*c = nil
	}
}

// Close ends the journal: followers still read all its entries and then get io.EOF. Further
// calls do nothing.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	wakeWaiters(&j.appended)
}

// WaitForRoom blocks while more than [MaxUnwrittenBytes] of entries wait for the trace file or
// for a follower made by [Journal.FollowWithBackpressure]. It fails with [ErrCannotWrite] if the
// file cannot be written, and if the one that is furthest behind has not read an entry for
// [RoomTimeout]; and with the cause of ctx. The readers of kernel and agent, which alone can send
// faster than a disk writes, call it before each frame.
func (j *Journal) WaitForRoom(ctx context.Context) error {
	var timeout <-chan time.Time
	var lastSlowest *journalNode
	for {
		j.mu.Lock()
		writeErr, slowest := j.writeErr, j.lastReadBySlowest()
		isFull := j.totalBytes-slowest.totalBytes > MaxUnwrittenBytes
		freed := waitChannel(&j.roomFreed)
		j.mu.Unlock()
		switch {
		case writeErr != nil:
			return fmt.Errorf("%w: %w", ErrCannotWrite, writeErr)
		case !isFull:
			return nil
		case slowest != lastSlowest:
			timeout, lastSlowest = time.After(RoomTimeout), slowest
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout:
			return fmt.Errorf("%w: more than %d MiB wait, and no entry was written for %v", ErrCannotWrite, MaxUnwrittenBytes>>20, RoomTimeout)
		}
	}
}

// lastReadBySlowest returns what the follower that WaitForRoom waits for, and that is furthest
// behind, has read last; the newest entry if there is no such follower. The caller holds mu.
func (j *Journal) lastReadBySlowest() *journalNode {
	slowest := j.newest
	for _, f := range j.backpressured {
		if f.lastRead.totalBytes < slowest.totalBytes {
			slowest = f.lastRead
		}
	}
	return slowest
}

// setWriteError makes every WaitForRoom fail from now on, because the trace file cannot be
// written.
func (j *Journal) setWriteError(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writeErr = err
	wakeWaiters(&j.roomFreed)
}

// Follower reads the entries of a journal in order. Only one goroutine may use it.
type Follower struct {
	journal  *Journal
	lastRead *journalNode // guarded by the journal's mu
}

// Follow returns a follower that reads the entries appended from now on.
func (j *Journal) Follow() *Follower {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &Follower{journal: j, lastRead: j.newest}
}

// FollowWithBackpressure returns a follower that reads the entries appended from now on. While
// it has more than [MaxUnwrittenBytes] unread, WaitForRoom makes the readers of kernel and
// agent wait. The caller must Close it.
func (j *Journal) FollowWithBackpressure() *Follower {
	f := j.Follow()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.backpressured = append(j.backpressured, f)
	return f
}

// Close ends the follower: it reads nothing more, and WaitForRoom no longer waits for it.
// Further calls do nothing.
func (f *Follower) Close() {
	j := f.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	j.backpressured = slices.DeleteFunc(j.backpressured, func(other *Follower) bool { return other == f })
	f.lastRead = j.newest
	wakeWaiters(&j.roomFreed)
}

// Next waits for the next entry of the journal and returns it. It fails with io.EOF after the
// last entry of a closed journal, and with the cause of ctx. The entry is shared: it may be
// kept but not changed.
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

// LastSeq returns the number of the entry that the follower read last or, before its first one,
// of the newest entry when it was made; 0 if there was none.
func (f *Follower) LastSeq() int64 {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.lastRead.entry.Seq
}

// SessionID returns the id of the session whose journal is followed.
func (f *Follower) SessionID() string { return f.journal.SessionID }

// UnreadBytes returns roughly how many bytes of entries the follower has not read yet.
func (f *Follower) UnreadBytes() int64 {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.journal.totalBytes - f.lastRead.totalBytes
}

// IsJournalClosed reports whether the followed journal is closed, so that no entries will be
// added.
func (f *Follower) IsJournalClosed() bool {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.journal.closed
}

// TryNext returns the next entry of the journal without waiting, or nil if there is none yet.
func (f *Follower) TryNext() *Entry {
	entry, _, _ := f.nextOrWaitChannel()
	return entry
}

// ReadyChannel returns a channel that is closed when there is an entry to read or the journal
// is closed; it may be closed already.
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

// nextOrWaitChannel returns the next entry. If there is none it returns whether the journal is
// closed, and a channel that is closed when that or the entries have changed.
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
