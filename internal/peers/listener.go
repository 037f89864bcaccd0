package peers

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// Listener is a listener whose connections can be read only if their peer is admitted. The peer
// is looked up by the first Read of a connection, so that connections do not delay each other.
type Listener struct {
	net.Listener

	guard  *Guard
	admits func(Peer) bool
	refuse func(peer Peer, why error)
}

// Listen returns a Listener in front of ln that admits every peer but a [Child]. refuse is called, on any
// goroutine, for each connection that is closed because its peer is refused. It is called with the zero
// Peer if the peer cannot be found, but not if it has gone.
func (g *Guard) Listen(ln net.Listener, refuse func(peer Peer, why error)) *Listener {
	return g.ListenFor(ln, func(p Peer) bool { return p.Relation != Child }, refuse)
}

// ListenFor is like Listen, but admits the peers for which admits returns true. admits is called on any goroutine.
func (g *Guard) ListenFor(ln net.Listener, admits func(Peer) bool, refuse func(peer Peer, why error)) *Listener {
	return &Listener{Listener: ln, guard: g, admits: admits, refuse: refuse}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guardedConn{Conn: conn, check: sync.OnceValue(func() error { return l.check(conn) })}, nil
}

// check closes a connection and returns an error if its peer is refused.
func (l *Listener) check(conn net.Conn) error {
	peer, err := l.guard.PeerOf(conn)
	if err == nil && !l.admits(peer) {
		err = fmt.Errorf("%s may not connect to %s", peer, l.Addr())
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrGone) {
		l.refuse(peer, err) // while the peer waits: once it has ended, what started it cannot be found without its cgroup
	}
	_ = conn.Close() // a server might answer, although it cannot read
	return err
}

// guardedConn is a connection that is read only after its peer was admitted.
type guardedConn struct {
	net.Conn

	check func() error
}

// Read reads from the connection. It fails if the peer is refused.
func (c *guardedConn) Read(b []byte) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}
