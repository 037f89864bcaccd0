package jupyter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

const (
	// dialEvery is how often a kernel that starts is looked for.
	dialEvery = 5 * time.Millisecond

	// readAhead is what a read of a channel takes at most, in bytes; frames
	// larger than that are read past it.
	readAhead = 64 << 10
)

// channel is the connection to one socket of the kernel, over which messages
// of several frames go. This file is all that knows ZeroMQ: of the library only
// the connection is used, not its sockets, which dial by sleeping, log to
// standard error, do not tell when the other side has gone, and leave
// goroutines behind.
//
// One goroutine may send while another receives; close may be called by any.
type channel struct {
	name string
	conn *zmq4.Conn
	wire *wire
}

// dial connects to the first of the addresses that is there, again and again
// until ctx is done. identity is how the kernel knows us on all its channels.
func dial(ctx context.Context, name string, kind zmq4.SocketType, identity string, at []address) (*channel, error) {
	ticker := time.NewTicker(dialEvery)
	defer ticker.Stop()
	for {
		for _, a := range at {
			if conn, err := (&net.Dialer{}).DialContext(ctx, a.network, a.path); err == nil {
				return greet(ctx, conn, name, kind, identity)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// greet begins to speak ZeroMQ on conn, which it owns from then on.
func greet(ctx context.Context, conn net.Conn, name string, kind zmq4.SocketType, identity string) (*channel, error) {
	w := &wire{Conn: conn, in: bufio.NewReaderSize(conn, readAhead), out: bufio.NewWriter(conn)}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	opened, err := zmq4.Open(w, null.Security(), kind, zmq4.SocketIdentity(identity), false, nil)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the channel %s: %w", name, err), conn.Close())
	}
	c := &channel{name: name, conn: opened, wire: w}
	if kind == zmq4.Sub { // to everything
		if err := c.send([][]byte{{1}}); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return c, nil
}

// send sends one message. It waits while the kernel does not read, which its
// ZeroMQ does on a thread of its own.
func (c *channel) send(frames [][]byte) error {
	c.wire.held = true
	err := c.conn.SendMsg(zmq4.NewMsgFrom(frames...))
	c.wire.held = false
	if err = errors.Join(err, c.wire.out.Flush()); err != nil {
		return fmt.Errorf("send on the channel %s: %w", c.name, err)
	}
	return nil
}

// receive returns the next message's frames. After an error every receive fails.
func (c *channel) receive() ([][]byte, error) {
	for {
		m, err := c.conn.RecvMsg()
		if err != nil {
			return nil, fmt.Errorf("receive on the channel %s: %w", c.name, err)
		}
		if m.Type == zmq4.UsrMsg {
			return m.Frames, nil
		}
	}
}

func (c *channel) close() error { return c.conn.Close() }

// hears tells whether a message is on its way, or was less than d ago.
func (c *channel) hears(d time.Duration) bool {
	since := c.wire.waiting.Load()
	return since == 0 || time.Since(time.Unix(0, since)) < d
}

// wire gathers the small reads and writes of a [zmq4.Conn].
type wire struct {
	net.Conn
	in      *bufio.Reader
	out     *bufio.Writer
	held    bool         // while a message is sent, which is flushed at its end
	waiting atomic.Int64 // since when a read waits, in ns since 1970; 0: none does
}

func (w *wire) Read(p []byte) (int, error) {
	if w.in.Buffered() == 0 {
		w.waiting.Store(time.Now().UnixNano())
		defer w.waiting.Store(0)
	}
	return w.in.Read(p)
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err == nil && !w.held {
		err = w.out.Flush()
	}
	return n, err
}
