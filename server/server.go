package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/eval/runs"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server/metrics"
	"assay/web"
)

const (
	// EvalSandboxToken is the token in the mode Config.EvalSandbox.
	EvalSandboxToken = "local-dev-token" //nolint:gosec // public on purpose: such a server listens on loopback only

	// DefaultSessionID is the id of the session of a client that names none.
	DefaultSessionID = "default"

	// maxSessions is how many ids there may be at once.
	maxSessions = 10_000

	// maxSessionIDBytes is the length of the longest session id.
	maxSessionIDBytes = 100

	// shutdownTimeout is how long HTTP requests may take to finish when the server
	// stops. Then their connections are closed.
	shutdownTimeout = 3 * time.Second

	// defaultPingInterval is the default of Config.PingInterval.
	defaultPingInterval = 20 * time.Second
)

// Server serves live sessions to consoles and watchers, and stored runs. [New]
// creates one; [Server.Run] serves. It is safe for concurrent use.
type Server struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics.Registry
	page    *page
	runs    *runs.Store         // nil if no runs are served
	traces  runs.LineFileOpener // of sessions

	refusedOrigins seenOrigins

	connections sync.WaitGroup // handlers of /run, /agent, /watch, /printed and /mcp

	journalReaders     sync.WaitGroup  // goroutines that count and log the sessions' frames
	journalReaderCtx   context.Context //nolint:containedctx // of journalReaders; Run cancels it when everything else has ended
	stopJournalReaders context.CancelFunc

	mu        sync.Mutex
	hosts     map[string]*sessionHost // by session id
	hostLoops sync.WaitGroup          // run loops of hosts
	runCtx    context.Context         //nolint:containedctx // of Run, for hosts that are added later; nil before Run
	stopped   bool                    // Run waits for its goroutines: none may be added
}

// New returns a server without sessions. It fails if the configuration is not
// valid.
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
		cfg.PingInterval = defaultPingInterval
	}
	page, err := newPage(web.Dist())
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	s := &Server{cfg: cfg, log: cfg.Log, metrics: metrics.NewRegistry(), page: page, hosts: map[string]*sessionHost{}}
	if cfg.RunsDir != "" {
		s.runs = runs.NewStore(cfg.RunsDir)
	}
	s.journalReaderCtx, s.stopJournalReaders = context.WithCancel(context.Background())
	return s, nil
}

// Run serves on the listeners until ctx ends, and closes them. Then it ends all sessions that it
// has started, with the cause of ctx, closes all connections, and returns nil when
// all goroutines have ended. It returns an error if a listener fails. Call it only once.
func (s *Server) Run(ctx context.Context, listeners ...net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.startSessionHosts(ctx)
	httpServer := &http.Server{Handler: limitBodyTime(bodyTimeout, s.newHTTPHandler(ctx)), ReadHeaderTimeout: firstMessageTimeout, IdleTimeout: idleTimeout}
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ctx.Done()
		shutdownCtx, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer done()
		if err := httpServer.Shutdown(shutdownCtx); err != nil {
			_ = httpServer.Close()
		}
	})
	var serving errgroup.Group
	for _, ln := range listeners {
		serving.Go(func() error {
			err := httpServer.Serve(ln)
			cancel(err)
			return err
		})
	}
	err := serving.Wait()
	stopping.Wait()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.hostLoops.Wait()
	s.connections.Wait()
	s.stopJournalReaders() // they first read what is there; published sessions may go on without us
	s.journalReaders.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// startSessionHosts starts the run loops of hosts that were added before Run.
func (s *Server) startSessionHosts(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runCtx = ctx
	for _, host := range s.hosts {
		if !host.external {
			s.hostLoops.Go(func() { host.runLoop(ctx) })
		}
	}
}

// sessionHostOrNew returns the host of a session id ("" is the default session), and adds
// it if there is none. It fails if the server cannot start sessions, has too many
// already, or the id is not valid.
func (s *Server) sessionHostOrNew(id string) (*sessionHost, error) {
	id = sessionIDOrDefault(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch host := s.hosts[id]; {
	case host != nil:
		return host, nil
	case s.cfg.StartSession == nil:
		return nil, fmt.Errorf("there is no session %q", id)
	case len(s.hosts) >= maxSessions:
		return nil, fmt.Errorf("there are %d sessions already", len(s.hosts))
	case !isSessionID(id):
		return nil, fmt.Errorf("invalid session id %q: want up to %d letters, digits and . _ -", id, maxSessionIDBytes)
	default:
		return s.addSessionHostLocked(id), nil
	}
}

// sessionHostByID returns the host of a session id, or nil.
func (s *Server) sessionHostByID(id string) *sessionHost {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[id]
}

func (s *Server) addSessionHostLocked(id string) *sessionHost {
	host := newSessionHost(s, id)
	s.hosts[id] = host
	if ctx := s.runCtx; ctx != nil && !s.stopped {
		s.hostLoops.Go(func() { host.runLoop(ctx) })
	}
	return host
}

// isSessionID reports whether id is 1 to 100 ASCII letters, digits, dots,
// underscores and hyphens, the first one a letter or digit. It does not allocate:
// listing sessions calls it for every stored trace.
func isSessionID(id string) bool {
	if id == "" || len(id) > maxSessionIDBytes {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// sessionIDOrDefault returns the id of the session that a request asks for: the default
// one if it names none.
func sessionIDOrDefault(id string) string {
	if id == "" {
		return DefaultSessionID
	}
	return id
}

// StartSession starts a session with this id, unless there is one, and waits until
// it runs. It returns the error if the session could not start, or the cause of
// ctx. Run must have been called, or be called soon.
func (s *Server) StartSession(ctx context.Context, id string) error {
	host, err := s.sessionHostOrNew(id)
	if err != nil {
		return err
	}
	host.requestSession(false)
	_, err = host.awaitInstance(ctx, nil)
	return err
}

// QueueAttempts runs attempts in place of the session with this id, after those that
// are queued already. It does not wait for them. It returns an error if there can be
// no session with this id, or the server is stopping.
func (s *Server) QueueAttempts(id string, attempts AttemptRunner) error {
	host, err := s.sessionHostOrNew(id)
	if err != nil {
		return err
	}
	return host.enqueueAttempts(attempts)
}

// PublishAttempts lets consoles and watchers see sessions that the caller starts, one
// after the other, under this id. A session that was behind the id is not visible
// any more. The caller must close the AttemptPublisher.
func (s *Server) PublishAttempts(id string) *AttemptPublisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	host := newSessionHost(s, id)
	host.external = true
	s.hosts[id] = host
	return &AttemptPublisher{host: host}
}

// removeSessionHost makes the id of a host free for another. It may be called again.
func (s *Server) removeSessionHost(host *sessionHost) {
	host.output.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts[host.id] == host {
		delete(s.hosts, host.id)
	}
}

// countAndLogJournal counts the entries of a session's journal in the metrics, and with
// logFlow also logs them, until the journal is closed or the server stops. It does
// nothing when the server is stopping, as published sessions may still start then.
func (s *Server) countAndLogJournal(journal *trace.Journal, logFlow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	counter := s.metrics.NewSessionCounter(journal)
	s.journalReaders.Go(func() { counter.Run(s.journalReaderCtx) })
	if !logFlow {
		return
	}
	follower := journal.Follow()
	s.journalReaders.Go(func() { _ = flow.LogSessionMessages(s.journalReaderCtx, follower, s.log) }) // its error is the end of the journal, or of the context
}
