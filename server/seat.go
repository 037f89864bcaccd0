package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"assay/internal/protocol"
)

const (
	// slowest is how long a console may take to read one message; then it is
	// sent away.
	slowest = time.Minute

	// lastWrite is how long that may take when its session has ended.
	lastWrite = time.Second
)

// seat is a console's WebSocket, which outlives the sessions that it is
// connected to one after the other, each by a [place].
type seat struct {
	conn protocol.Conn
	in   chan []byte   // what the console says, taken by the place or by who stands in for one
	gone chan struct{} // closed when the connection has ended

	waits  atomic.Bool  // something that it said waits to be taken
	writes atomic.Int64 // messages that were begun to be written, and those that have been: odd while one is
	slow   *time.Timer  // sends it away that does not read; it runs while a message is written

	writing sync.Mutex // held while a message is written

	once sync.Once
	left chan struct{} // closed by close
}

func newSeat(conn protocol.Conn) *seat {
	s := &seat{conn: conn, in: make(chan []byte), gone: make(chan struct{}), left: make(chan struct{})}
	s.slow = time.AfterFunc(slowest, func() {
		s.close(protocol.ClosePolicyViolation, "too slow: it has not read a message for "+slowest.String())
	})
	s.slow.Stop()
	return s
}

// write sends the console a message, when those before it are sent. It may be called
// at any time.
func (s *seat) write(body []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.writes.Add(1)
	s.slow.Reset(slowest)
	defer func() {
		s.slow.Stop()
		s.writes.Add(1)
	}()
	return s.conn.Write(body)
}

// read takes in what the console says until the connection ends.
func (s *seat) read() {
	defer close(s.gone)
	for {
		body, err := s.conn.Read()
		if err != nil {
			return
		}
		s.waits.Store(true)
		select {
		case s.in <- body:
			s.waits.Store(false)
		case <-s.left:
			return
		}
	}
}

// ping asks for a sign of life every now and then, and sends a console away that
// gives none: its machine has gone without a word. That it takes what it is sent
// is a sign too.
func (s *seat) ping(ctx context.Context, ws *websocket.Conn, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.gone:
			return
		case <-s.left:
			return
		}
		written := s.writes.Load()
		if s.waits.Load() || written%2 == 1 {
			continue // it has said something, and the answer to a ping could not be read; or it reads
		}
		if err := pong(ctx, ws, every); err != nil && !s.waits.Load() && s.writes.Load() == written {
			s.close(protocol.ClosePolicyViolation, "no sign of life for "+every.String())
			return
		}
	}
}

func pong(ctx context.Context, ws *websocket.Conn, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return ws.Ping(ctx)
}

// close sends the console away, for the first reason given.
func (s *seat) close(code protocol.CloseCode, reason string) {
	s.once.Do(func() {
		close(s.left)
		_ = s.conn.Close(code, reason) // it is going either way
	})
}

// place is a seat's connection to one session. When the session ends it is
// closed, and the seat stays; when the session sends the console away, so does
// the seat.
type place struct {
	seat  *seat
	once  sync.Once
	ended chan struct{}

	writing sync.Mutex
}

func (s *seat) place() *place { return &place{seat: s, ended: make(chan struct{})} }

// Read returns what the console says next.
func (p *place) Read() ([]byte, error) {
	select {
	case <-p.ended:
		return nil, protocol.ErrClosed
	default:
	}
	select {
	case body := <-p.seat.in:
		return body, nil
	case <-p.seat.gone:
		return nil, errGone
	case <-p.ended:
		return nil, protocol.ErrClosed
	}
}

// Write sends the console a message.
func (p *place) Write(body []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	select {
	case <-p.ended:
		return protocol.ErrClosed
	default:
		return p.seat.write(body)
	}
}

// Close ends the place, and returns when nothing is written any more.
func (p *place) Close(code protocol.CloseCode, reason string) error {
	p.once.Do(func() {
		close(p.ended)
		if code != protocol.CloseGoingAway {
			p.seat.close(code, reason)
			return
		}
		defer time.AfterFunc(lastWrite, func() { p.seat.close(protocol.ClosePolicyViolation, "too slow: "+reason) }).Stop()
		p.writing.Lock()
		p.writing.Unlock() //nolint:staticcheck // to have waited for it
	})
	return nil
}
