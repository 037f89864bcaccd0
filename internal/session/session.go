// Package session makes a kernel, an agent and a document into one live
// notebook, and ends it so that nothing of it is left.
//
//	starting ──▶ ready ──▶ working ──▶ collecting ──▶ ended
//	    └───────────┴──────────┴───────────────────────┘
//
// A session is starting until its kernel and its agent have said ready, working
// from the first query on, and collecting while what the notebook has become is
// read. It can end from every state, and says why.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/agent"
	"assay/internal/child"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
)

// State is where in its life a session is.
type State string

// The states, in their order.
const (
	Starting   State = "starting"
	Ready      State = "ready"
	Working    State = "working"
	Collecting State = "collecting"
	Ended      State = "ended"
)

// Config says what session to start.
type Config struct {
	ID      string         // required
	Journal *trace.Journal // required; gets every frame; the caller closes it, after End

	// Kernel and Agent say what to start; Sandbox, Session, Environ and Output
	// in them are set by the session.
	Kernel  kernel.Config
	Agent   agent.Config
	Environ []string // the server's environment

	// SandboxRoot is the folder in which the session's sandbox is made.
	SandboxRoot string

	// Prepare, if set, puts into the sandbox what is to be there before kernel
	// and agent start.
	Prepare func(sandbox string) error

	// Console leaves the document to the first console that comes; otherwise
	// the server holds it.
	Console bool

	// Init is what the agent is told beside the session's number.
	Init protocol.AgentInit

	Router router.Config // deadlines

	// Printed gets what the children print, in whole lines behind "kernel: "
	// and "agent: "; nil discards.
	Printed io.Writer

	Log *slog.Logger // nil discards
}

// Session is a live notebook. It is safe for concurrent use. Whoever started it
// must End it.
type Session struct {
	cfg     Config
	log     *slog.Logger
	sandbox string
	printed *printed

	supervisor *child.Supervisor

	router   *router.Router
	runs     *notebook.Runs
	document *notebook.Document
	settled  chan struct{} // closed when it is settled who holds the document
	settle   sync.Once
	tasks    sync.WaitGroup

	kernel     *kernel.Kernel
	kernelPeer *router.Peer
	agent      *agent.Agent
	agentPeer  *router.Peer

	mu     sync.Mutex
	state  State
	holder string // id of the console that holds the document

	endOnce sync.Once
	endErr  error
}

// StartError says what could not be started.
type StartError struct {
	What string // "sandbox", "kernel" or "agent"
	Err  error
}

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Start makes the sandbox, starts kernel and agent side by side and waits until
// both are ready. When it fails, with a [*StartError] or the cause of ctx,
// nothing is left.
func Start(ctx context.Context, sup *child.Supervisor, cfg Config) (*Session, error) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Session{
		cfg: cfg, log: log.With("session", cfg.ID),
		settled: make(chan struct{}), printed: newPrinted(cfg.Printed), supervisor: sup,
	}
	s.runs = notebook.NewRuns(notebook.RunsConfig{DisplayName: func(id string) string { return s.document.Title(id) }})
	s.document = notebook.NewDocument(notebook.DocumentConfig{Runs: s.runs, Event: s.noteEvent})
	cfg.Router.Log = s.log
	s.router = router.New(cfg.Journal, s.runs, cfg.Router)
	s.enter(Starting, "")
	if err := s.start(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, errors.Join(err, s.End(context.WithoutCancel(ctx), "it could not start: "+err.Error()))
	}
	s.enter(Ready, "")
	return s, nil
}

func (s *Session) start(ctx context.Context) error {
	if err := s.makeSandbox(); err != nil {
		return &StartError{What: "sandbox", Err: err}
	}
	var both errgroup.Group
	// One that fails does not end the other's start, which would then be
	// reported as the fault.
	both.Go(func() error { return s.startKernel(ctx) })
	both.Go(func() error { return s.startAgent(ctx) })
	if err := both.Wait(); err != nil {
		return err
	}
	if !s.cfg.Console {
		if err := s.holdHere(); err != nil {
			return err
		}
	}
	return s.initialise(ctx)
}

func (s *Session) startKernel(ctx context.Context) error {
	cfg := s.cfg.Kernel
	cfg.Sandbox, cfg.Session, cfg.Environ = s.sandbox, s.cfg.ID, s.cfg.Environ
	cfg.Output = s.printed.from("kernel")
	k, err := kernel.Start(ctx, s.supervisor, cfg)
	if err != nil {
		return &StartError{What: "kernel", Err: err}
	}
	s.kernel = k
	s.tasks.Go(func() { s.watch("kernel", k.Exited(), k.Exit) })
	return nil
}

func (s *Session) startAgent(ctx context.Context) error {
	cfg := s.cfg.Agent
	cfg.Sandbox, cfg.Session, cfg.Environ = s.sandbox, s.cfg.ID, s.cfg.Environ
	cfg.Output = s.printed.from("agent")
	a, err := agent.Start(ctx, s.supervisor, cfg)
	if err != nil {
		return &StartError{What: "agent", Err: err}
	}
	s.agent = a
	s.tasks.Go(func() { s.watch("agent", a.Exited(), a.Exit) })
	return nil
}

// watch tells consoles and trace when a child has ended.
func (s *Session) watch(name string, exited <-chan struct{}, exit func() child.Exit) {
	<-exited
	how := exit()
	news := protocol.ManagedProcessExit{Type: protocol.TypeManagedProcessExit, Name: name, ExitCode: how.Code, Signal: how.Signal}
	s.note(news.Type, news)
	s.router.Tell(news)
}

// holdHere makes the server's own document the one that answers.
func (s *Session) holdHere() error {
	ours, theirs := protocol.Pipe()
	if _, err := s.router.AttachDocument(ours); err != nil {
		return err
	}
	s.tasks.Go(func() {
		if err := s.document.Serve(theirs); err != nil {
			s.log.Error("the notebook broke off", "error", err)
		}
		_ = theirs.Close(protocol.CloseNormal, "")
	})
	s.settle.Do(func() { close(s.settled) })
	return nil
}

// initialise connects kernel and agent, tells them what they are part of, and
// waits until the agent is ready for a query.
func (s *Session) initialise(ctx context.Context) (err error) {
	follow := s.cfg.Journal.Follow()
	s.append(trace.KernelToServer, s.kernel.ReadyFrame)
	if s.kernelPeer, err = s.router.AttachKernel(s.kernel, s.kernel.Ready.Actions); err != nil {
		return err
	}
	if err := s.router.ToKernel(protocol.NewKernelInit(s.kernel.PID())); err != nil {
		return err
	}
	s.append(trace.AgentToServer, s.agent.ReadyFrame)
	if s.agentPeer, err = s.router.AttachAgent(s.agent); err != nil {
		return err
	}
	init := s.cfg.Init
	init.Type = protocol.TypeInit
	if err := s.router.ToAgent(init); err != nil {
		return err
	}
	return s.awaitAgent(ctx, follow)
}

// awaitAgent reads on until the agent says that it is ready, passing over
// whatever else it says first.
func (s *Session) awaitAgent(ctx context.Context, follow *trace.Follower) error {
	within := s.cfg.Agent.Ready
	if within <= 0 {
		within = agent.ReadyDeadline
	}
	late := fmt.Errorf("agent did not answer init with agent_status ready within %v", within)
	ctx, cancel := context.WithTimeoutCause(ctx, within, late)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.tasks.Go(func() {
		select {
		case <-s.agentPeer.Done():
			stop(peerError("agent", s.agentPeer))
		case <-ctx.Done():
		}
	})
	for {
		entry, err := follow.Next(ctx)
		if err != nil {
			return &StartError{What: "agent", Err: err}
		}
		if entry.Hop == trace.AgentToServer && entry.Type == protocol.TypeAgentStatus && entry.Status == protocol.AgentReady {
			return nil
		}
	}
}

// peerError says why a child's connection has ended.
func peerError(name string, peer *router.Peer) error {
	switch err := peer.Err(); {
	case err == nil:
		return fmt.Errorf("the %s's connection was closed", name)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the %s has closed its socket", name)
	default:
		return err
	}
}

// enter changes the state, unless that is the last one. It is the only place
// that does.
func (s *Session) enter(state State, cause string) {
	s.mu.Lock()
	ended := s.state == Ended
	if !ended {
		s.state = state
	}
	s.mu.Unlock()
	if ended {
		return
	}
	s.note("state", map[string]string{"type": "state", "state": string(state), "cause": cause})
	s.log.Info("session", "state", string(state), "cause", cause)
}

// State tells where in its life the session is.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *Session) noteEvent(e notebook.Event) {
	cell := e.CellID
	if e.Cell != nil {
		cell = e.Cell.ID
	}
	s.cfg.Journal.Append(trace.Entry{
		Hop: trace.Notebook, Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind, CellID: cell}, Body: e.JSON(),
	})
}

// note puts something that happened to the session itself into the trace.
func (s *Session) note(kind string, what any) {
	body, err := protocol.Marshal(what)
	if err != nil {
		s.log.Error("an event of the session could not be recorded", "event", kind, "error", err)
		return
	}
	s.cfg.Journal.Append(trace.Entry{Hop: trace.Session, Envelope: protocol.Envelope{Type: kind}, Body: body})
}

func (s *Session) append(hop trace.Hop, frame []byte) {
	s.cfg.Journal.Append(trace.Entry{Hop: hop, Envelope: protocol.Envelope{Type: protocol.TypeReady}, Body: frame})
}

// endDeadline bounds each step of the end: it is the grace of a stop and what
// the system may take to reap.
const endDeadline = child.StopGrace + time.Second
