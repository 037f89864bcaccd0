// Package turnstile lets only so many through at once, whatever processes they
// are in. A [Limiter] is listened at by one process; others [Acquire] by its path.
//
// Who wants to pass connects to a Unix socket and waits for one byte. The place
// is given back when the connection closes, which the system sees to when a
// process dies.
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

// acceptPause is how long the gate lets nobody in after it could not.
const acceptPause = 10 * time.Millisecond

// Limiter gives out places, first come first served. It is safe for concurrent use.
// Whoever made it must Close it.
type Limiter struct {
	listener net.Listener
	over     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	free    int // places
	inside  map[net.Conn]bool
	waiting []net.Conn // in the order in which they came
}

// Listen makes a gate with so many places, at least 1, at the path of a socket
// that is not there yet.
func Listen(path string, places int) (*Limiter, error) {
	if places < 1 {
		return nil, fmt.Errorf("a turnstile with %d places lets nobody through", places)
	}
	listener, err := net.Listen("unix", path) //nolint:noctx // a local socket is there at once
	if err != nil {
		return nil, fmt.Errorf("make the turnstile: %w", err)
	}
	g := &Limiter{listener: listener, free: places, inside: map[net.Conn]bool{}}
	g.over.Go(g.accept)
	return g, nil
}

// Close ends the gate and waits for what it has started. Who waits at it is
// turned away; who is inside is not held up.
func (g *Limiter) Close() error {
	err := g.listener.Close()
	g.mu.Lock()
	g.closed = true
	for _, conn := range g.waiting {
		_ = conn.Close() // its visitor ends, which forgets it
	}
	for conn := range g.inside {
		_ = conn.Close()
	}
	g.mu.Unlock()
	g.over.Wait()
	return err
}

func (g *Limiter) accept() {
	for {
		conn, err := g.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // a visitor has gone already, or this process has too many files open
			<-time.After(acceptPause)
			continue
		}
		if g.enter(conn) {
			g.over.Go(func() { g.visit(conn) })
		}
	}
}

// enter gives a visitor a place, or the end of the queue.
func (g *Limiter) enter(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = conn.Close()
		return false
	}
	g.waiting = append(g.waiting, conn)
	g.admit()
	return true
}

// admit gives the free places to those who have waited longest. The caller holds
// mu.
func (g *Limiter) admit() {
	for g.free > 0 && len(g.waiting) > 0 {
		conn := g.waiting[0]
		g.waiting = g.waiting[1:]
		g.free--
		g.inside[conn] = true
		_, _ = conn.Write([]byte{1}) // it never waits; if it fails the visitor is about to leave
	}
}

// visit waits until a visitor goes, and gives its place to the next.
func (g *Limiter) visit(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1)) // it has nothing to say: whoever speaks is sent away
	_ = conn.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside[conn] {
		delete(g.inside, conn)
		g.free++
		g.admit()
		return
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(other net.Conn) bool { return other == conn })
}

// Acquire waits for a place at the gate of that path, at most until ctx ends, whose
// cause it then returns. leave gives the place back; it must be called.
func Acquire(ctx context.Context, path string) (leave func(), err error) {
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
	return nil, fmt.Errorf("wait at the turnstile: %w", err)
}
