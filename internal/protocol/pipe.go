package protocol

import (
	"io"
	"sync"
)

// pipe is one end of an in-memory [Conn].
type pipe struct {
	in, out   chan []byte
	ownClose  *closeSignal // of this end
	peerClose *closeSignal // of the other end
}

// closeSignal has a channel that is closed, once, when one end of a pipe is closed.
type closeSignal struct {
	once sync.Once
	done chan struct{}
}

// Pipe returns the two ends of an in-memory connection. Write waits until the other end has
// read the body, and passes on the slice itself. When one end is closed, Read of the other one
// returns io.EOF and Write fails.
func Pipe() (Conn, Conn) {
	ab, ba := make(chan []byte), make(chan []byte)
	a, b := &closeSignal{done: make(chan struct{})}, &closeSignal{done: make(chan struct{})}
	return &pipe{in: ba, out: ab, ownClose: a, peerClose: b}, &pipe{in: ab, out: ba, ownClose: b, peerClose: a}
}

// Read implements [Conn]. It waits until the other end calls Write or Close.
func (p *pipe) Read() ([]byte, error) {
	select {
	case <-p.ownClose.done:
		return nil, ErrClosed
	default:
	}
	select {
	case body := <-p.in:
		return body, nil
	case <-p.ownClose.done:
		return nil, ErrClosed
	case <-p.peerClose.done:
		return nil, io.EOF
	}
}

// Write implements [Conn]. It waits until the other end calls Read or Close.
func (p *pipe) Write(body []byte) error {
	select {
	case p.out <- body:
		return nil
	case <-p.ownClose.done:
		return ErrClosed
	case <-p.peerClose.done:
		return &ConnError{Operation: "write", Err: io.ErrClosedPipe}
	}
}

// Close implements [Conn]. Code and reason are not passed to the other end.
func (p *pipe) Close(CloseCode, string) error {
	p.ownClose.once.Do(func() { close(p.ownClose.done) })
	return nil
}
