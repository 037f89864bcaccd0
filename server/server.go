// Package server is the HTTP and WebSocket face of a session: /run and /agent,
// at which consoles sit.
package server

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"assay/internal/protocol"
	"assay/internal/session"
)

const (
	// SandboxToken is the token of the mode for evaluations on one's own
	// machine, EVAL_SANDBOX=1.
	SandboxToken = "local-dev-token" //nolint:gosec // public on purpose: that server listens on loopback only

	// DefaultSession is the session of a console that names none.
	DefaultSession = "default"

	// greeting is how long a console may take for its first message.
	greeting = 10 * time.Second

	// shutdown is how long requests may take to end.
	shutdown = 3 * time.Second
)

// Config is what a [Server] may be told.
type Config struct {
	// Sandbox is the mode for evaluations on one's own machine: the token is
	// SandboxToken, and /agent asks for none.
	Sandbox bool

	// Token is what consoles must say; required unless Sandbox.
	Token string

	// FrameLimit is the largest message of a console in bytes; 0 is the
	// protocol's default.
	FrameLimit int64

	Log *slog.Logger // nil discards
}

// Server serves consoles. It is safe for concurrent use.
type Server struct {
	cfg Config
	log *slog.Logger

	consoles sync.WaitGroup // requests that became a console, or may

	mu       sync.Mutex
	sessions map[string]*session.Session
}

// New returns a server without sessions. It refuses to be without a token.
func New(cfg Config) (*Server, error) {
	if cfg.Sandbox {
		cfg.Token = SandboxToken
	}
	if cfg.Token == "" {
		return nil, errors.New("a token is needed: give --token, or set EVAL_SANDBOX=1")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{cfg: cfg, log: cfg.Log, sessions: map[string]*session.Session{}}, nil
}

// Attach lets consoles come to a session under this id, until it ends.
func (s *Server) Attach(id string, live *session.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = live
}

// Run serves on ln until ctx ends, and closes ln. Consoles are then told that
// the server goes, and Run returns when they are gone. The sessions are the
// caller's to end.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	web := &http.Server{Handler: s.handler(ctx), ReadHeaderTimeout: greeting}
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ctx.Done()
		last, done := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		defer done()
		if err := web.Shutdown(last); err != nil {
			_ = web.Close()
		}
	})
	err := web.Serve(ln)
	cancel()
	stopping.Wait()
	s.consoles.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// handler routes requests. The connections that are made of them live as long
// as ctx, not as their request.
func (s *Server) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /run", func(w http.ResponseWriter, r *http.Request) { s.console(ctx, w, r, s.serveRun) })
	mux.HandleFunc("GET /agent", func(w http.ResponseWriter, r *http.Request) { s.console(ctx, w, r, s.serveAgent) })
	return local(mux)
}

// local refuses requests that were not sent to this machine by name: a page of
// another site whose name has been made to lead here would otherwise have the
// Origin that belongs to its Host.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server is for localhost, not for "+r.Host, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

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
}

// console upgrades a request, reads its first message, and lets serve have the
// connection until it ends.
func (s *Server) console(ctx context.Context, w http.ResponseWriter, r *http.Request,
	serve func(live *session.Session, conn protocol.Conn, first hello) error,
) {
	s.consoles.Add(1)
	defer s.consoles.Done()
	ws, err := websocket.Accept(w, r, nil) // refuses the Origin of another site, and has answered when it fails
	if err != nil {
		s.log.Debug("not a console", "error", err)
		return
	}
	conn := protocol.NewWebSocket(context.WithoutCancel(ctx), ws, s.cfg.FrameLimit)
	defer context.AfterFunc(ctx, func() { _ = conn.Close(protocol.CloseGoing, "the server is stopping") })()
	first, err := s.greet(conn, r)
	if err == nil {
		var live *session.Session
		if live, err = s.find(r.URL.Query().Get("session")); err == nil {
			err = serve(live, conn, first)
		}
	}
	var sent *refusal
	if !errors.As(err, &sent) {
		sent = &refusal{code: protocol.CloseNormal}
	}
	_ = conn.Close(sent.code, sent.reason)
}

// greet reads the first message. A token that it lacks may stand in the request.
func (s *Server) greet(conn protocol.Conn, r *http.Request) (first hello, err error) {
	late := time.AfterFunc(greeting, func() { _ = conn.Close(protocol.ClosePolicy, "no first message came") })
	defer late.Stop()
	body, err := conn.Read()
	if err != nil {
		return first, err
	}
	if err := json.Unmarshal(body, &first); err != nil {
		return first, refuse("the first message cannot be read: %v", err)
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	first.Token = cmp.Or(first.Token, r.URL.Query().Get("token"), bearer)
	return first, nil
}

func (s *Server) find(id string) (*session.Session, error) {
	if id == "" {
		id = DefaultSession
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.sessions[id]
	if live == nil || live.State() == session.Ended {
		return nil, refuse("there is no session %q", id)
	}
	return live, nil
}

func (s *Server) checkToken(token string) error {
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.Token)) != 1 {
		return refuse("wrong token")
	}
	return nil
}

// serveRun is /run: the console's token first, then what the kernel does.
func (s *Server) serveRun(live *session.Session, conn protocol.Conn, first hello) error {
	if err := s.checkToken(first.Token); err != nil {
		return err
	}
	peer, err := live.Router().AttachConsole(conn, func(n int) []byte { return s.ready(live, n) })
	if err != nil {
		return err
	}
	<-peer.Done()
	return peer.Err()
}

// ready is what a console is told first: the state so far.
func (s *Server) ready(live *session.Session, n int) []byte {
	state := live.Runs().Snapshot()
	status := "running"
	if !live.KernelAlive() {
		status = "dead"
	}
	body, err := json.Marshal(map[string]any{
		"type": protocol.TypeReady, "connection_idx": n,
		"cell_status": state.Status, "cell_sequencers": state.Sequencers, "cell_outputs": state.Outputs,
		"kernel_status": status, "kernel_pid": live.KernelPID(), "language": live.KernelReady().Language,
		"session_owner": true,
	})
	if err != nil {
		s.log.Error("ready cannot be written", "error", err)
		return fmt.Appendf(nil, `{"type":"ready","connection_idx":%d}`, n)
	}
	return body
}

// serveAgent is /agent: the console's init first, then the agent's actions. An
// init needs no token in the mode for one's own machine: consoles made for that
// send none.
func (s *Server) serveAgent(live *session.Session, conn protocol.Conn, first hello) error {
	if !s.cfg.Sandbox {
		if err := s.checkToken(first.Token); err != nil {
			return err
		}
	}
	if first.Type != protocol.TypeInit {
		return refuse("the first message must be init, not %q", first.Type)
	}
	switch first.Role {
	case "", "holder", "owner":
	default:
		return refuse("unknown role %q: holder is the one there is", first.Role)
	}
	id := strings.Trim(string(first.SessionID), `"`)
	if id == "" || id == "null" {
		id = uuid.NewString() // who does not say who it is, is nobody that was here before
	}
	peer, err := live.Hold(conn, id)
	if errors.Is(err, session.ErrHeld) {
		return &refusal{protocol.CloseHeld, err.Error()}
	}
	if err != nil {
		return err
	}
	<-peer.Done()
	return peer.Err()
}
