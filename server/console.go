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

// helloLimit is the largest first message, in bytes: of somebody who has not been
// let in.
const helloLimit = 64 << 10

// errGone is what reading from a console that has gone fails with.
var errGone = io.EOF

// refusal is why a console is sent away.
type refusal struct {
	code   protocol.CloseCode
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(format string, args ...any) error {
	return &refusal{protocol.ClosePolicyViolation, fmt.Sprintf(format, args...)}
}

// HelloMessage is the first message of a console at /run or /agent.
type HelloMessage struct {
	Type      string          `json:"type"` // absent at /run
	Token     string          `json:"token"`
	SessionID json.RawMessage `json:"session_id"` // of /agent: a number, or its text
	Role      string          `json:"role"`

	// Run is the number that a console had at /run and wants again, or, at
	// /agent, that of its /run connection.
	RunConnID int `json:"connection_idx"`

	// Trace, if it is there, is that of the ready which gave the number at /run. It
	// says whether it was this server that did: of one before, it was given anew.
	RunTrace string `json:"trace"`

	// Alive says that it wants to be told that the connection is: see alive.go.
	WantsAlive bool `json:"alive"`
}

// endpoint is what is different between /run and /agent.
type consoleEndpoint interface {
	// name is its path.
	name() string
	// check refuses a first message.
	check(first HelloMessage) error
	// attend connects the console to a session that is live, and returns when
	// that has ended or the console has gone.
	attend(c *console, sc *scene) error
	// stand tells the console of a session that has ended. seen says that it
	// was connected to it before.
	stand(c *console, sc *scene, seen bool) error
	// refuse answers what the console says then.
	refuse(c *console, body []byte) error
	// fail tells the console that the session which it has asked for cannot be.
	fail(c *console, problem error) error
}

// console is a console that has been let in.
type console struct {
	*seat
	server *Server
	slot   *slot
	first  HelloMessage
	at     consoleEndpoint
	id     int  // its number
	run    bool // it is at /run
}

// console upgrades a request, reads its first message and connects the console
// to one session of its slot after the other, until it has gone.
func (s *Server) console(ctx context.Context, w http.ResponseWriter, r *http.Request, at consoleEndpoint) {
	s.consoles.Add(1)
	defer s.consoles.Done()
	ws, err := websocket.Accept(w, r, s.accept())
	if err != nil {
		s.log.Debug("not a console", "error", err) // it has been answered
		return
	}
	conn := protocol.NewWebSocket(context.WithoutCancel(ctx), ws, helloLimit)
	seat := newSeat(conn)
	first, err := s.greet(ctx, conn, r, at)
	if err != nil {
		dismiss(ctx, seat, err)
		return
	}
	ws.SetReadLimit(cmp.Or(s.cfg.MaxFrameBytes, protocol.DefaultMaxFrameBytes))
	c, err := s.sit(seat, r.URL.Query().Get("session"), first, at)
	if err != nil {
		dismiss(ctx, seat, err)
		return
	}
	c.serve(ctx, ws)
}

// sit gives a console its number at the slot of a session. One that is forgotten
// just then makes room for another.
func (s *Server) sit(seat *seat, id string, first HelloMessage, at consoleEndpoint) (*console, error) {
	_, run := at.(atRun)
	for {
		sl, err := s.slot(id)
		if err != nil {
			return nil, err
		}
		number, err := sl.sit(run, first)
		switch {
		case err == nil:
			return &console{seat: seat, server: s, slot: sl, first: first, at: at, id: number, run: run}, nil
		case !errors.Is(err, errForgotten):
			return nil, err
		}
		s.forget(sl) // as who has closed it is about to
	}
}

// dismiss sends a console away, and tells it why.
func dismiss(ctx context.Context, seat *seat, why error) {
	var sent *refusal
	switch {
	case errors.As(why, &sent):
		seat.close(sent.code, sent.reason)
	case ctx.Err() != nil:
		seat.close(protocol.CloseGoingAway, "the server is stopping: "+context.Cause(ctx).Error())
	case errors.Is(why, errGone):
		seat.close(protocol.CloseNormal, "")
	default:
		seat.close(protocol.ClosePolicyViolation, why.Error())
	}
}

// greet reads the first message, and refuses what may not come in. A token that
// it lacks may stand in the request.
func (s *Server) greet(ctx context.Context, conn protocol.Conn, r *http.Request, at consoleEndpoint) (first HelloMessage, err error) {
	late := time.AfterFunc(greeting, func() { _ = conn.Close(protocol.ClosePolicyViolation, "no first message came") })
	defer late.Stop()
	defer context.AfterFunc(ctx, func() { _ = conn.Close(protocol.CloseGoingAway, "the server is stopping") })()
	body, err := conn.Read()
	if err != nil {
		return first, err
	}
	if err := json.Unmarshal(body, &first); err != nil {
		return first, refuse("the first message cannot be read: %v", err)
	}
	first.Token = cmp.Or(first.Token, requestToken(r))
	return first, at.check(first)
}

// requestToken is the token that a request has in its address or header.
func requestToken(r *http.Request) string {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return cmp.Or(bearer, r.URL.Query().Get("token"))
}

// serve keeps the console at its slot until it has gone or is sent away.
func (c *console) serve(ctx context.Context, ws *websocket.Conn) {
	defer c.slot.rise(c.run, c.id)
	defer c.server.metrics.AddConsole(c.at.name())()
	every := c.server.cfg.PingInterval
	if c.first.WantsAlive {
		c.sayAlive(every) // before anything that takes long to be sent
	}
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(c.read)
	loops.Go(func() { c.ping(context.WithoutCancel(ctx), ws, every) })
	if c.first.WantsAlive {
		loops.Go(func() { c.stayAlive(every) })
	}
	loops.Go(func() { c.untilStop(ctx) })
	c.slot.want(false)
	dismiss(ctx, c.seat, c.follow(ctx)) // which ends the loops
}

// untilStop sends the console away when the server stops and the session has
// ended; one that others have started, and may not end, has a moment for that.
func (c *console) untilStop(ctx context.Context) {
	if !c.slot.untilStop(ctx, c.left) {
		return
	}
	c.close(protocol.CloseGoingAway, "the server is stopping: "+context.Cause(ctx).Error())
}

// follow connects the console to each scene of its slot.
func (c *console) follow(ctx context.Context) error {
	var sc *scene
	for {
		next, err := c.await(ctx, sc)
		if err != nil {
			return err
		}
		sc = next
		seen := false
		if sc.live != nil {
			err = c.at.attend(c, sc)
			seen = err == nil
		}
		if err != nil && !errors.Is(err, errOver) {
			return err
		}
		if err := c.stand(sc, seen); err != nil {
			return err
		}
	}
}

// await waits for a scene of the slot other than last. Meanwhile the console may
// go.
func (c *console) await(ctx context.Context, last *scene) (*scene, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		select {
		case <-c.gone:
			cancel(errGone)
		case <-ctx.Done():
		}
	})
	return c.slot.await(ctx, last)
}

// stand stands in for a session that has ended, until another takes its place.
func (c *console) stand(sc *scene, seen bool) error {
	select {
	case <-c.gone:
		return errGone
	case <-c.left:
		return errGone
	case <-sc.over:
	}
	if err := c.at.stand(c, sc, seen); err != nil {
		return err
	}
	var told error
	for {
		c.slot.mu.Lock()
		newest, closed, problem, changed := c.slot.scene, c.slot.closed, c.slot.problem, c.slot.changed
		c.slot.mu.Unlock()
		switch {
		case closed != nil:
			return &refusal{protocol.CloseGoingAway, closed.Error()}
		case newest != sc:
			return nil
		case problem != nil && problem != told: //nolint:errorlint // that very one
			told = problem
			if err := c.at.fail(c, problem); err != nil {
				return err
			}
		}
		select {
		case body := <-c.in:
			if err := c.at.refuse(c, body); err != nil {
				return err
			}
		case <-changed:
		case <-c.gone:
			return errGone
		case <-c.left:
			return errGone
		}
	}
}
