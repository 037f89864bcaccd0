// Package limiter bounds how many callers do something at the same time, across
// processes: `assay run --max-model-calls` uses it for the model calls of all its
// agents.
//
// One process makes a [Limiter], which listens on a Unix socket; the others call
// [AcquireSlot] with the socket's path. AcquireSlot connects and waits until the Limiter
// sends one byte, which grants a slot. The connection is the slot: closing it gives
// the slot back, and the kernel closes it when a process dies.
package limiter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// acceptRetryDelay is the pause, 10 ms, after the limiter's listener failed to accept a
// connection, before it tries again.
const acceptRetryDelay = 10 * time.Millisecond

// Limiter grants a fixed number of slots to processes that connect to its Unix socket,
// first come first served. A client holds its slot until it closes its connection. It
// is safe for concurrent use. The caller of Listen must Close it.
type Limiter struct {
	listener   net.Listener
	isAdmitted func(net.Conn) bool
	goroutines sync.WaitGroup // acceptLoop, and a serve per connection

	mu        sync.Mutex
	isClosed  bool
	freeSlots int
	granted   map[net.Conn]bool // connections that have a slot
	queue     []net.Conn        // connections that wait for one, oldest first
}

// Listen returns a Limiter that grants slots on a new Unix socket at path, to clients for whose
// connection isAdmitted returns true. The others are disconnected. It fails if slots is less than
// 1, or if path exists or cannot be created.
func Listen(path string, slots int, isAdmitted func(net.Conn) bool) (*Limiter, error) {
	if slots < 1 {
		return nil, fmt.Errorf("limiter: want at least 1 slot, found %d", slots)
	}
	listener, err := net.Listen("unix", path) //nolint:noctx // creating a local socket does not block
	if err != nil {
		return nil, fmt.Errorf("listen for the limiter: %w", err)
	}
	l := &Limiter{listener: listener, isAdmitted: isAdmitted, freeSlots: slots, granted: map[net.Conn]bool{}}
	l.goroutines.Go(l.acceptLoop)
	return l, nil
}

// Close closes the limiter's socket and all connections, and waits for its goroutines.
// A waiting AcquireSlot returns an error; a caller that already has a slot is not
// interrupted. It returns the error of closing the socket.
func (l *Limiter) Close() error {
	err := l.listener.Close()
	l.mu.Lock()
	l.isClosed = true
	for _, conn := range l.queue {
		_ = conn.Close() // its serve goroutine ends and removes it
	}
	for conn := range l.granted {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.goroutines.Wait()
	return err
}

// acceptLoop accepts clients' connections until the limiter's listener is closed. After
// any other error it waits acceptRetryDelay and tries again.
func (l *Limiter) acceptLoop() {
	for {
		conn, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // the client is gone already, or this process has too many open files
			<-time.After(acceptRetryDelay)
			continue
		}
		if !l.isAdmitted(conn) {
			_ = conn.Close()
			continue
		}
		if l.enqueue(conn) {
			l.goroutines.Go(func() { l.serveConn(conn) })
		}
	}
}

// enqueue appends a client's connection to the queue and grants it a slot if one is
// free. If the limiter is closed, it closes conn and returns false.
func (l *Limiter) enqueue(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isClosed {
		_ = conn.Close()
		return false
	}
	l.queue = append(l.queue, conn)
	l.grantFreeSlotsLocked()
	return true
}

// grantFreeSlotsLocked grants the free slots to the connections that have waited
// longest. The caller holds mu.
func (l *Limiter) grantFreeSlotsLocked() {
	for l.freeSlots > 0 && len(l.queue) > 0 {
		conn := l.queue[0]
		l.queue = l.queue[1:]
		l.freeSlots--
		l.granted[conn] = true
		_, _ = conn.Write([]byte{1}) // one byte never blocks; if it fails, serve is about to see the end of conn
	}
}

// serveConn waits until a client closes its connection, and then frees its slot or
// removes it from the queue. A client that sends anything is disconnected too, so the
// limiter reads at most one byte from it.
func (l *Limiter) serveConn(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1))
	_ = conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted[conn] {
		delete(l.granted, conn)
		l.freeSlots++
		l.grantFreeSlotsLocked()
		return
	}
	l.queue = slices.DeleteFunc(l.queue, func(other net.Conn) bool { return other == conn })
}

// AcquireSlot waits for a slot of the limiter that listens at path. The caller must call
// release to give the slot back. It fails with the cause of ctx if ctx ends first, and
// with another error if the limiter cannot be reached or is closed.
func AcquireSlot(ctx context.Context, path string) (release func(), err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, err = conn.Read(make([]byte, 1))
		stop()
	}
	if err == nil {
		return func() { _ = conn.Close() }, nil
	}
	if conn != nil {
		_ = conn.Close()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("wait for a slot of the limiter: %w", err)
}
