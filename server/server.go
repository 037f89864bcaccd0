// Package server is the HTTP and WebSocket face of sessions: /run and /agent, at
// which consoles sit, /watch, the API and the metrics.
//
// What a console is connected to is an id, not a session: behind an id one
// session may follow another, as when a case is attached, and the consoles stay;
// see [slot]. A console's WebSocket outlives the sessions too; see [seat].
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server/api"
	"assay/server/metrics"
	"assay/web"
)

const (
	// EvalSandboxToken is the token of the mode for evaluations on one's own
	// machine, EVAL_SANDBOX=1.
	EvalSandboxToken = "local-dev-token" //nolint:gosec // public on purpose: that server listens on loopback only

	// DefaultSessionID is the session of a console that names none.
	DefaultSessionID = "default"

	// greeting is how long a console may take for its first message.
	greeting = 10 * time.Second

	// mostSessions is how many sessions there may be at once.
	mostSessions = 10_000

	// shutdown is how long requests may take to end.
	shutdown = 3 * time.Second
)

// StartOptions says what session to start, and with what.
type StartOptions struct {
	SessionID   string
	Journal     *trace.Journal
	RestoreFrom *notebook.State // the notebook that it goes on with; nil: an empty one

	// Lines gets what its kernel and agent print. It is for session.Config.
	ChildLineSink func(child string) func(line []byte)
}

// Config is what a [Server] may be told.
type Config struct {
	// Sandbox is the mode for evaluations on one's own machine: the token is
	// EvalSandboxToken, only /run asks for it, and requests must be for localhost.
	EvalSandbox bool

	// Token is what everybody must say; required unless Sandbox.
	Token string

	// Remote lets requests in that are for other names than localhost.
	AllowRemoteHosts bool

	// Origins are those of browser pages that are let in beside the server's
	// own, such as "http://localhost:5173".
	AllowedOrigins []string

	// Open starts a session without a case, for whoever asks for an id that
	// has none; nil: there are only the sessions of Showings. It is the
	// server's to end.
	StartSession func(ctx context.Context, opening StartOptions) (*session.Session, error)

	// Out is the folder for the traces of such sessions, which go on from
	// them when the server is started again. Required with Open.
	TraceDir string

	// Idle is how long a session without a case goes on without a console and
	// without anything happening in it; 0: for ever.
	IdleTimeout time.Duration

	// Case prepares what a POST to a session's case asks for: the returned
	// function tries it, and is run in the session's place. nil: no cases.
	PrepareCase func(path, id string) (AttemptRunner, error)

	// Cases are those that may be named so, in their order. It is set with Case.
	ListCases func() ([]api.Case, error)

	// MCPSocketPath is the path of the Unix socket at which the agent of a session serves
	// clients of the Model Context Protocol; nil: no agent does.
	MCPSocketPath func(id string) string

	// Runs is the folder with the runs that are shown.
	RunsDir string

	// ConsoleRole is what the page is at /agent unless it is opened with
	// another ?role=: RoleView, the default, or RoleHolder.
	ConsoleRole string

	// MaxFrameBytes is the largest message of a console in bytes; 0 is the
	// protocol's default.
	MaxFrameBytes int64

	// Ping is how often a console is asked for a sign of life, and how long it
	// has for it; 0 is 20 s.
	PingInterval time.Duration

	Version string       // of this program, for /api/config
	Log     *slog.Logger // nil discards
}

// AttemptRunner makes one attempt or more in place of a session, and shows each. The
// error says why none could be made.
type AttemptRunner func(ctx context.Context, show *AttemptPublisher) error

// Server serves consoles and whoever looks on. It is safe for concurrent use.
type Server struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics.Registry
	page    *page
	runs    *runs.Store    // nil: none are shown
	files   runs.LineFiles // traces of sessions

	consoles  sync.WaitGroup  // requests that became a WebSocket, or may
	followers sync.WaitGroup  // of sessions' journals
	following context.Context //nolint:containedctx // of the followers: it ends when Run does
	unfollow  context.CancelFunc

	mu      sync.Mutex
	slots   map[string]*slot
	running sync.WaitGroup  // slots that run
	life    context.Context //nolint:containedctx // of Run, for slots that begin later; nil: it has not begun
	over    bool            // Run is ending
}

// Validate says what is wrong with a configuration that nobody may be served with.
func (c Config) Validate() error {
	if c.Token == "" && !c.EvalSandbox {
		return errors.New("a token is needed: give --token, or set EVAL_SANDBOX=1")
	}
	for _, origin := range c.AllowedOrigins {
		if at, err := url.Parse(origin); err != nil || at.Scheme == "" || at.Host == "" || at.Path != "" {
			return fmt.Errorf("origin %q: want one such as http://localhost:5173", origin)
		}
	}
	if c.ConsoleRole != "" && c.ConsoleRole != RoleView && c.ConsoleRole != RoleHolder {
		return fmt.Errorf("console role %q: want %s or %s", c.ConsoleRole, RoleView, RoleHolder)
	}
	return nil
}

// New returns a server without sessions, for a configuration that passes its
// Check.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.EvalSandbox {
		cfg.Token = EvalSandboxToken
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.PingInterval <= 0 {
		cfg.PingInterval = 20 * time.Second
	}
	page, err := newPage(web.Dist())
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	s := &Server{cfg: cfg, log: cfg.Log, metrics: metrics.NewRegistry(), page: page, slots: map[string]*slot{}}
	if cfg.RunsDir != "" {
		s.runs = runs.NewStore(cfg.RunsDir)
	}
	s.following, s.unfollow = context.WithCancel(context.Background())
	return s, nil
}

// Run serves on ln until ctx ends, and closes ln. Then no session begins,
// those that the server has started end with the cause of ctx, consoles are told
// that the server goes, and Run returns when all are gone.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.begin(ctx)
	httpServer := &http.Server{Handler: s.handler(ctx), ReadHeaderTimeout: greeting}
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ctx.Done()
		last, done := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		defer done()
		if err := httpServer.Shutdown(last); err != nil {
			_ = httpServer.Close()
		}
	})
	err := httpServer.Serve(ln)
	cancel(err)
	stopping.Wait()
	s.mu.Lock()
	s.over = true // nothing is waited for from here on that has not begun
	s.mu.Unlock()
	s.running.Wait()
	s.consoles.Wait()
	s.unfollow() // they read what is there; the sessions that go on are not ours
	s.followers.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// begin lets slots run that were made before.
func (s *Server) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = ctx
	for _, sl := range s.slots {
		if !sl.shown {
			s.running.Go(func() { sl.run(ctx) })
		}
	}
}

// slot returns what stands behind an id. Where there is none it is made, if
// sessions can be started here.
func (s *Server) slot(id string) (*slot, error) {
	id = idOr(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch sl := s.slots[id]; {
	case sl != nil:
		return sl, nil
	case s.cfg.StartSession == nil:
		return nil, fmt.Errorf("there is no session %q", id)
	case len(s.slots) >= mostSessions:
		return nil, fmt.Errorf("there are %d sessions already", len(s.slots))
	case !validID(id):
		return nil, fmt.Errorf("a session is named by up to 100 letters, digits and . _ -, not by %q", id)
	default:
		return s.addLocked(id), nil
	}
}

// known returns what stands behind an id, or nil.
func (s *Server) known(id string) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[id]
}

// addLocked makes a slot. The lock is held.
func (s *Server) addLocked(id string) *slot {
	sl := newSlot(s, id)
	s.slots[id] = sl
	if ctx := s.life; ctx != nil && !s.over {
		s.running.Go(func() { sl.run(ctx) })
	}
	return sl
}

func validID(id string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`).MatchString(id)
}

// StartSession starts the session of an id, and returns when it is there or could not be
// started. Run must be under way, or begin soon.
func (s *Server) StartSession(ctx context.Context, id string) error {
	sl, err := s.slot(id)
	if err != nil {
		return err
	}
	sl.want(false)
	_, err = sl.await(ctx, nil)
	return err
}

// QueueAttempts lets attempts be made in place of an id's session, behind those that
// wait already, and returns at once.
func (s *Server) QueueAttempts(id string, attempts AttemptRunner) error {
	sl, err := s.slot(id)
	if err != nil {
		return err
	}
	return sl.attempt(attempts)
}

// PublishAttempts lets consoles and watchers see sessions that others start, one after the
// other, under this id. Whoever calls it must End the Showing.
func (s *Server) PublishAttempts(id string) *AttemptPublisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	sl := newSlot(s, id)
	sl.shown = true
	s.slots[id] = sl
	return &AttemptPublisher{slot: sl}
}

func (s *Server) forget(sl *slot) {
	sl.printed.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[sl.id] == sl {
		delete(s.slots, sl.id)
	}
}

// follow counts what passes in a session, and logs it too, unless whoever has
// started it does, until its journal is closed or the server has ended.
func (s *Server) follow(journal *trace.Journal, logged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // a session of others, which has begun too late to be told of
		return
	}
	counted := s.metrics.NewSession(journal)
	s.followers.Go(func() { counted.Run(s.following) })
	if logged {
		return
	}
	follower := journal.Follow()
	s.followers.Go(func() { _ = flow.Log(s.following, follower, s.log) }) // it ends with what it follows
}
