package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"assay/internal/protocol"
)

const (
	// firstMessageTimeout is how long a console may take to send its first message,
	// and an HTTP client to send its headers.
	firstMessageTimeout = 10 * time.Second

	// maxHelloBytes is the size of the largest first message. It is small because
	// the console has not been admitted yet.
	maxHelloBytes = 64 << 10
)

// errConsoleDisconnected is what reading from a console fails with that has disconnected.
var errConsoleDisconnected = io.EOF

// consoleRejectedError is an error with the close code and reason that the console gets.
type consoleRejectedError struct {
	code   protocol.CloseCode
	reason string
}

func (r *consoleRejectedError) Error() string { return r.reason }

// newConsoleRejectionf returns a rejection with code 1008 (policy violation).
func newConsoleRejectionf(format string, args ...any) error {
	return &consoleRejectedError{protocol.ClosePolicyViolation, fmt.Sprintf(format, args...)}
}

// HelloMessage is the first message of a console at /run or /agent.
type HelloMessage struct {
	Type      string          `json:"type"`       // init at /agent; absent at /run
	Token     string          `json:"token"`      // may also be in the request's header or query
	SessionID json.RawMessage `json:"session_id"` // at /agent: what the console calls itself, a number or a string
	Role      string          `json:"role"`       // at /agent: RoleHolder (the default) or RoleView

	// RunConnID is, at /run, the number that the console had before and wants again,
	// and at /agent the number of the same console's /run connection. 0: none.
	RunConnID int `json:"connection_idx"`

	// RunTracePath is, at /run, the TracePath of the ReadyMessage that had RunConnID. If it
	// is of another server, the console gets a new number. Empty: not checked.
	RunTracePath string `json:"trace"`

	// WantsAlive asks for an AliveMessage every Config.PingInterval.
	WantsAlive bool `json:"alive"`
}

// consoleEndpoint is what differs between /run and /agent. Methods that get a
// console return an error when it must be closed.
type consoleEndpoint interface {
	// name returns the path without its slash.
	name() string
	// checkHello returns an error if a console with this hello may not connect.
	checkHello(hello HelloMessage) error
	// serveLive connects the console to a live session, and returns nil when the
	// session has ended. It returns errInstanceEnded if that was so before.
	serveLive(c *console, instance *sessionInstance) error
	// sendEnded tells the console about a session that has ended. wasConnected
	// reports whether serveLive has connected it to that session.
	sendEnded(c *console, instance *sessionInstance, wasConnected bool) error
	// handleMessageAfterEnd answers a message of the console after its session has ended.
	handleMessageAfterEnd(c *console, body []byte) error
	// sendError tells the console why the session that it asked for did not start.
	sendError(c *console, err error) error
}

// console is a console that has been admitted to a session id.
type console struct {
	*consoleConn
	server   *Server
	host     *sessionHost
	hello    HelloMessage
	endpoint consoleEndpoint
	number   int  // identifies the console at its host
	atRun    bool // endpoint is /run
}

// serveConsole handles a request to /run or /agent: it upgrades the request to a
// WebSocket, reads the hello, and then connects the console to the sessions of its
// id until it disconnects.
func (s *Server) serveConsole(ctx context.Context, w http.ResponseWriter, r *http.Request, at consoleEndpoint) {
	s.connections.Add(1)
	defer s.connections.Done()
	ws, err := websocket.Accept(w, r, s.webSocketAcceptOptions())
	if err != nil {
		s.log.Debug("console not upgraded to a WebSocket", "error", err) // Accept has answered the request
		return
	}
	wsConn := protocol.NewWebSocket(context.WithoutCancel(ctx), ws, maxHelloBytes)
	conn := newConsoleConn(wsConn)
	hello, err := s.readHello(ctx, wsConn, r, at)
	if err != nil {
		closeWithError(ctx, conn, err)
		return
	}
	ws.SetReadLimit(cmp.Or(s.cfg.MaxFrameBytes, protocol.DefaultMaxFrameBytes))
	c, err := s.joinSessionHost(conn, r.URL.Query().Get("session"), hello, at)
	if err != nil {
		closeWithError(ctx, conn, err)
		return
	}
	c.serve(ctx, ws)
}

// joinSessionHost adds a console to the host of a session id. If the host is removed at the
// same moment, it adds the console to a new one.
func (s *Server) joinSessionHost(conn *consoleConn, id string, hello HelloMessage, at consoleEndpoint) (*console, error) {
	_, atRun := at.(consoleRunEndpoint)
	for {
		host, err := s.sessionHostOrNew(id)
		if err != nil {
			return nil, err
		}
		number, err := host.join(atRun, hello)
		switch {
		case err == nil:
			return &console{consoleConn: conn, server: s, host: host, hello: hello, endpoint: at, number: number, atRun: atRun}, nil
		case !errors.Is(err, errSessionHostRemoved):
			return nil, err
		}
		s.removeSessionHost(host) // the run loop that closed it may not have done so yet
	}
}

// closeWithError closes a console's connection with the code and reason that belong
// to err, or because ctx, that of the server, has ended.
func closeWithError(ctx context.Context, conn *consoleConn, err error) {
	var rejected *consoleRejectedError
	switch {
	case errors.As(err, &rejected):
		conn.close(rejected.code, rejected.reason)
	case ctx.Err() != nil:
		conn.close(protocol.CloseGoingAway, "the server is stopping: "+context.Cause(ctx).Error())
	case errors.Is(err, errConsoleDisconnected):
		conn.close(protocol.CloseNormal, "")
	default:
		conn.close(protocol.ClosePolicyViolation, err.Error())
	}
}

// readHello reads and checks the first message of a console. If it has no token,
// that of the request is used.
func (s *Server) readHello(ctx context.Context, conn protocol.Conn, r *http.Request, at consoleEndpoint) (hello HelloMessage, err error) {
	timer := time.AfterFunc(firstMessageTimeout, func() { _ = conn.Close(protocol.ClosePolicyViolation, "no first message came") })
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() { _ = conn.Close(protocol.CloseGoingAway, "the server is stopping") })()
	body, err := conn.Read()
	if err != nil {
		return hello, err
	}
	if err := json.Unmarshal(body, &hello); err != nil {
		return hello, newConsoleRejectionf("cannot parse the first message: %v", err)
	}
	hello.Token = cmp.Or(hello.Token, tokenOfRequest(r))
	return hello, at.checkHello(hello)
}

// tokenOfRequest returns the token in a request's Authorization header or query, or
// "".
func tokenOfRequest(r *http.Request) string {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return cmp.Or(bearer, r.URL.Query().Get("token"))
}

// serve serves an admitted console until it disconnects or must be closed, and then
// removes it from its host.
func (c *console) serve(ctx context.Context, ws *websocket.Conn) {
	defer c.host.leave(c.atRun, c.number)
	defer c.server.metrics.AddConsole(c.endpoint.name())()
	interval := c.server.cfg.PingInterval
	if c.hello.WantsAlive {
		c.sendAlive(interval) // before a ready message, which may take long to send
	}
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(c.readLoop)
	loops.Go(func() { c.pingLoop(context.WithoutCancel(ctx), ws, interval) })
	if c.hello.WantsAlive {
		loops.Go(func() { c.aliveLoop(interval) })
	}
	loops.Go(func() { c.closeOnStop(ctx) })
	c.host.requestSession(false)
	closeWithError(ctx, c.consoleConn, c.serveInstances(ctx)) // closing also ends the loops
}

// closeOnStop closes the connection when the server has stopped the console's host.
func (c *console) closeOnStop(ctx context.Context) {
	if c.host.waitForStop(ctx, c.closing) {
		c.close(protocol.CloseGoingAway, "the server is stopping: "+context.Cause(ctx).Error())
	}
}

// serveInstances connects the console to one session after the other. It returns why
// the connection must be closed.
func (c *console) serveInstances(ctx context.Context) error {
	var instance *sessionInstance
	for {
		next, err := c.awaitInstance(ctx, instance)
		if err != nil {
			return err
		}
		instance = next
		wasConnected := false
		if instance.live != nil {
			err = c.endpoint.serveLive(c, instance)
			wasConnected = err == nil
		}
		if err != nil && !errors.Is(err, errInstanceEnded) {
			return err
		}
		if err := c.serveEnded(instance, wasConnected); err != nil {
			return err
		}
	}
}

// awaitInstance waits for the instance after last. It returns errConsoleDisconnected if the
// console disconnects first.
func (c *console) awaitInstance(ctx context.Context, last *sessionInstance) (*sessionInstance, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		select {
		case <-c.disconnected:
			cancel(errConsoleDisconnected)
		case <-ctx.Done():
		}
	})
	return c.host.awaitInstance(ctx, last)
}

// serveEnded waits for the end of an instance, tells the console about it, and
// answers its messages until there is a newer instance. It returns an error when the
// connection must be closed.
func (c *console) serveEnded(instance *sessionInstance, wasConnected bool) error {
	select {
	case <-c.disconnected:
		return errConsoleDisconnected
	case <-c.closing:
		return errConsoleDisconnected
	case <-instance.ended:
	}
	if err := c.endpoint.sendEnded(c, instance, wasConnected); err != nil {
		return err
	}
	var sentErr error
	for {
		c.host.mu.Lock()
		newest, closedErr, startErr, changed := c.host.instance, c.host.closedErr, c.host.startErr, c.host.changed
		c.host.mu.Unlock()
		switch {
		case closedErr != nil:
			return &consoleRejectedError{protocol.CloseGoingAway, closedErr.Error()}
		case newest != instance:
			return nil
		case startErr != nil && startErr != sentErr: //nolint:errorlint // the same value, not the same kind of error
			sentErr = startErr
			if err := c.endpoint.sendError(c, startErr); err != nil {
				return err
			}
		}
		select {
		case body := <-c.received:
			if err := c.endpoint.handleMessageAfterEnd(c, body); err != nil {
				return err
			}
		case <-changed:
		case <-c.disconnected:
			return errConsoleDisconnected
		case <-c.closing:
			return errConsoleDisconnected
		}
	}
}
