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

// errGone is what reading from a console that has gone fails with.
var errGone = io.EOF

// refusal is why a console is sent away.
type refusal struct {
	code   protocol.CloseCode
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(format string, args ...any) error {
	return &refusal{protocol.ClosePolicy, fmt.Sprintf(format, args...)}
}

// hello is a console's first message.
type hello struct {
	Type      string          `json:"type"` // absent at /run
	Token     string          `json:"token"`
	SessionID json.RawMessage `json:"session_id"` // of /agent: a number, or its text
	Role      string          `json:"role"`

	// Run is the number that a console had at /run and wants again, or, at
	// /agent, that of its /run connection.
	Run int `json:"connection_idx"`
}

// endpoint is what is different between /run and /agent.
type consoleEndpoint interface {
	// name is its path.
	name() string
	// check refuses a first message.
	check(first hello) error
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
	first  hello
	id     int // its number
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
	conn := protocol.NewWebSocket(context.WithoutCancel(ctx), ws, s.cfg.FrameLimit)
	seat := newSeat(conn)
	first, err := s.greet(ctx, conn, r, at)
	if err != nil {
		dismiss(ctx, seat, err)
		return
	}
	sl, err := s.slot(r.URL.Query().Get("session"))
	if err != nil {
		dismiss(ctx, seat, err)
		return
	}
	s.serve(ctx, ws, seat, sl, first, at)
}

// dismiss sends a console away, and tells it why.
func dismiss(ctx context.Context, seat *seat, why error) {
	var sent *refusal
	switch {
	case errors.As(why, &sent):
		seat.close(sent.code, sent.reason)
	case ctx.Err() != nil:
		seat.close(protocol.CloseGoing, "the server is stopping: "+context.Cause(ctx).Error())
	case errors.Is(why, errGone):
		seat.close(protocol.CloseNormal, "")
	default:
		seat.close(protocol.ClosePolicy, why.Error())
	}
}

// greet reads the first message, and refuses what may not come in. A token that
// it lacks may stand in the request.
func (s *Server) greet(ctx context.Context, conn protocol.Conn, r *http.Request, at consoleEndpoint) (first hello, err error) {
	late := time.AfterFunc(greeting, func() { _ = conn.Close(protocol.ClosePolicy, "no first message came") })
	defer late.Stop()
	defer context.AfterFunc(ctx, func() { _ = conn.Close(protocol.CloseGoing, "the server is stopping") })()
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

// serve gives the console its seat at a slot and keeps it there.
func (s *Server) serve(ctx context.Context, ws *websocket.Conn, seat *seat, sl *slot, first hello, at consoleEndpoint) {
	_, run := at.(atRun)
	c := &console{seat: seat, server: s, slot: sl, first: first, id: sl.sit(run, first.Run)}
	defer sl.rise()
	defer s.metrics.console(at.name())()
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(seat.read)
	loops.Go(func() { seat.ping(context.WithoutCancel(ctx), ws, s.cfg.Ping) })
	if sl.shown { // the session is not the server's to end
		defer context.AfterFunc(ctx, func() { seat.close(protocol.CloseGoing, "the server is stopping") })()
	}
	sl.want(false)
	dismiss(ctx, seat, c.follow(ctx, at)) // which ends the loops
}

// follow connects the console to each scene of its slot.
func (c *console) follow(ctx context.Context, at consoleEndpoint) error {
	var sc *scene
	for {
		next, err := c.await(ctx, sc)
		if err != nil {
			return err
		}
		sc = next
		seen := false
		if sc.live != nil {
			err = at.attend(c, sc)
			seen = err == nil
		}
		if err != nil && !errors.Is(err, errOver) {
			return err
		}
		if err := c.stand(ctx, at, sc, seen); err != nil {
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
func (c *console) stand(ctx context.Context, at consoleEndpoint, sc *scene, seen bool) error {
	select {
	case <-c.gone:
		return errGone
	case <-c.left:
		return errGone
	case <-sc.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := at.stand(c, sc, seen); err != nil {
		return err
	}
	var told error
	for {
		c.slot.mu.Lock()
		newest, closed, problem, changed := c.slot.scene, c.slot.closed, c.slot.problem, c.slot.changed
		c.slot.mu.Unlock()
		switch {
		case closed != nil:
			return &refusal{protocol.CloseGoing, closed.Error()}
		case newest != sc:
			return nil
		case problem != nil && problem != told: //nolint:errorlint // that very one
			told = problem
			if err := at.fail(c, problem); err != nil {
				return err
			}
		}
		select {
		case body := <-c.in:
			if err := at.refuse(c, body); err != nil {
				return err
			}
		case <-changed:
		case <-c.gone:
			return errGone
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
