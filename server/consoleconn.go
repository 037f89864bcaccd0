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
	// consoleWriteTimeout is how long a console may take to read one message.
	// Then its connection is closed.
	consoleWriteTimeout = time.Minute

	// stopGrace is how long consoles and watchers may take, after their session has
	// ended, to receive what tells them so. It is also how long the server, when it
	// stops, waits for sessions that others run.
	stopGrace = time.Second
)

// consoleConn is the WebSocket of a console. It outlives the sessions that it is
// connected to, one after the other, each through a [sessionConn].
type consoleConn struct {
	conn         protocol.Conn
	received     chan []byte   // messages of the console, taken by the sessionConn or, without a live session, by the console's handler
	disconnected chan struct{} // closed when the connection has ended

	hasInput   atomic.Bool  // a message has been read and not taken yet
	writes     atomic.Int64 // writes begun plus writes finished: odd while one is in progress
	writeTimer *time.Timer  // closes the connection after consoleWriteTimeout; runs during a write
	writeMu    sync.Mutex   // held during a write

	closeOnce sync.Once
	closing   chan struct{} // closed by close
}

func newConsoleConn(conn protocol.Conn) *consoleConn {
	c := &consoleConn{conn: conn, received: make(chan []byte), disconnected: make(chan struct{}), closing: make(chan struct{})}
	c.writeTimer = time.AfterFunc(consoleWriteTimeout, func() {
		c.close(protocol.ClosePolicyViolation, "too slow: it has not read a message for "+consoleWriteTimeout.String())
	})
	c.writeTimer.Stop()
	return c
}

// write sends the console a message, after those of earlier calls. It is safe for
// concurrent use.
func (c *consoleConn) write(body []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	c.writes.Add(1)
	c.writeTimer.Reset(consoleWriteTimeout)
	defer func() {
		c.writeTimer.Stop()
		c.writes.Add(1)
	}()
	return c.conn.Write(body)
}

// isWriting reports whether a write is in progress: the console is reading.
func (c *consoleConn) isWriting() bool { return c.writes.Load()%2 == 1 }

// send marshals a message as JSON and writes it.
func (c *consoleConn) send(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return err
	}
	return c.write(body)
}

// readLoop passes the console's messages to received until the connection ends.
func (c *consoleConn) readLoop() {
	defer close(c.disconnected)
	for {
		body, err := c.conn.Read()
		if err != nil {
			return
		}
		c.hasInput.Store(true)
		select {
		case c.received <- body:
			c.hasInput.Store(false)
		case <-c.closing:
			return
		}
	}
}

// pingLoop pings the console at this interval until the connection ends, and closes
// it if there is no answer within the interval: the console's machine is gone. A
// console that sends or reads messages meanwhile is alive without an answer.
func (c *consoleConn) pingLoop(ctx context.Context, ws *websocket.Conn, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.disconnected:
			return
		case <-c.closing:
			return
		}
		writes := c.writes.Load()
		if c.hasInput.Load() || c.isWriting() {
			continue // it is alive; and while a message is not taken, the answer to a ping cannot be read
		}
		if err := pingAndWait(ctx, ws, interval); err != nil && !c.hasInput.Load() && c.writes.Load() == writes {
			c.close(protocol.ClosePolicyViolation, "no sign of life for "+interval.String())
			return
		}
	}
}

// pingAndWait pings the other end and waits for its answer, for timeout at most.
func pingAndWait(ctx context.Context, ws *websocket.Conn, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return ws.Ping(ctx)
}

// AliveMessage tells a console that asked for it (HelloMessage.WantsAlive) that its
// connection is alive. It is not recorded in the trace.
type AliveMessage struct {
	Type    string `json:"type"`     // alive
	EveryMS int64  `json:"every_ms"` // interval until the next one, in ms
}

// sendAlive sends an AliveMessage. A page in a browser needs it because it does not
// see the pings of the WebSocket: it could not tell a dead connection from one
// without traffic.
func (c *consoleConn) sendAlive(interval time.Duration) {
	_ = c.send(AliveMessage{Type: "alive", EveryMS: interval.Milliseconds()}) // if the connection has ended, readLoop notices
}

// aliveLoop sends an AliveMessage at this interval until the connection ends, also
// while no session is live. It omits one if another message is being written.
func (c *consoleConn) aliveLoop(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.disconnected:
			return
		case <-c.closing:
			return
		}
		if !c.isWriting() {
			c.sendAlive(interval)
		}
	}
}

// close closes the connection. Only the first call has an effect.
func (c *consoleConn) close(code protocol.CloseCode, reason string) {
	c.closeOnce.Do(func() {
		close(c.closing)
		_ = c.conn.Close(code, reason) // it ends either way
	})
}

// sessionConn is the connection of a console to one session: a [protocol.Conn] for
// the session's router. When the session ends, only the sessionConn is closed; when
// the session rejects the console, the WebSocket is closed too.
type sessionConn struct {
	console   *consoleConn
	closeOnce sync.Once
	closed    chan struct{}

	writeMu sync.Mutex
}

func (c *consoleConn) newSessionConn() *sessionConn {
	return &sessionConn{console: c, closed: make(chan struct{})}
}

// Read returns the console's next message. It returns protocol.ErrClosed after
// Close, and errConsoleDisconnected when the console is gone.
func (s *sessionConn) Read() ([]byte, error) {
	select {
	case <-s.closed:
		return nil, protocol.ErrClosed
	default:
	}
	select {
	case body := <-s.console.received:
		return body, nil
	case <-s.console.disconnected:
		return nil, errConsoleDisconnected
	case <-s.closed:
		return nil, protocol.ErrClosed
	}
}

// Write sends the console a message. It returns protocol.ErrClosed after Close.
func (s *sessionConn) Write(body []byte) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	select {
	case <-s.closed:
		return protocol.ErrClosed
	default:
		return s.console.write(body)
	}
}

// Close closes the sessionConn and, unless code is CloseGoingAway (the session has
// ended), the WebSocket. It waits for a write in progress, which has stopGrace until
// the WebSocket is closed.
func (s *sessionConn) Close(code protocol.CloseCode, reason string) error {
	s.closeOnce.Do(func() {
		close(s.closed)
		if code != protocol.CloseGoingAway {
			s.console.close(code, reason)
			return
		}
		defer time.AfterFunc(stopGrace, func() { s.console.close(protocol.ClosePolicyViolation, "too slow: "+reason) }).Stop()
		s.writeMu.Lock()
		s.writeMu.Unlock() //nolint:staticcheck // waits for a write in progress
	})
	return nil
}
