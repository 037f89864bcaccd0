package protocol

import (
	"io"
	"sync"
)

// pipe is one end of an in-memory connection.
type pipe struct {
	in, out chan []byte
	own     *ending // this end has closed
	peer    *ending // the other end has closed
}

type ending struct {
	once sync.Once
	done chan struct{}
}

// Pipe returns the two ends of an in-memory connection. A Write waits until
// its body is read, and hands over the slice itself. When one end closes, the
// other reads io.EOF.
func Pipe() (Conn, Conn) {
	ab, ba := make(chan []byte), make(chan []byte)
	a, b := &ending{done: make(chan struct{})}, &ending{done: make(chan struct{})}
	return &pipe{in: ba, out: ab, own: a, peer: b}, &pipe{in: ab, out: ba, own: b, peer: a}
}

func (p *pipe) Read() ([]byte, error) {
	select {
	case <-p.own.done:
		return nil, ErrClosed
	default:
	}
	select {
	case body := <-p.in:
		return body, nil
	case <-p.own.done:
		return nil, ErrClosed
	case <-p.peer.done:
		return nil, io.EOF
	}
}

func (p *pipe) Write(body []byte) error {
	select {
	case p.out <- body:
		return nil
	case <-p.own.done:
		return ErrClosed
	case <-p.peer.done:
		return &ChannelError{Operation: "write", Err: io.ErrClosedPipe}
	}
}

func (p *pipe) Close(CloseCode, string) error {
	p.own.once.Do(func() { close(p.own.done) })
	return nil
}
