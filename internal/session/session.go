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

	// Console lets the first console that comes decide who holds the document,
	// it or the server; otherwise the server does. TakeOver is how long after
	// the agent's first action the server waits for one until it holds the
	// document itself; 0: for ever.
	Console  bool
	TakeOver time.Duration

	// Evaluation refuses to start kernel or agent anew: that one of them has
	// ended is the outcome.
	Evaluation bool

	// Restored is the notebook that the session goes on with; nil: an empty one.
	Restored *notebook.State

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
	tasks    sync.WaitGroup
	waited   context.CancelFunc // ends the wait for a console
	stop     context.CancelFunc // ends what the session does on its own account

	restarting sync.Mutex // held while a child is started anew

	mu        sync.Mutex
	state     State
	dismissed *agent.Agent // whose end the session itself has asked for
	holder    string       // name of the console that holds the document; empty: the server, once it is settled

	pair pair

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
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	waiting, waited := context.WithCancel(life)
	s.stop, s.waited = stop, waited
	cfg.Router.Log = s.log
	cfg.Router.Restart = func(name string) error { return s.Restart(life, name) }
	s.router = router.New(cfg.Journal, s.runs, cfg.Router)
	follow := cfg.Journal.Follow()
	s.enter(Starting, "")
	if err := s.start(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, errors.Join(err, s.End(context.WithoutCancel(ctx), "it could not start: "+err.Error()))
	}
	if cfg.Console && cfg.TakeOver > 0 {
		s.tasks.Go(func() { s.takeOver(waiting, follow) })
	}
	s.enter(Ready, "")
	return s, nil
}

func (s *Session) start(ctx context.Context) error {
	if err := s.makeSandbox(); err != nil {
		return &StartError{What: "sandbox", Err: err}
	}
	if s.cfg.Restored != nil {
		s.runs.Restore(s.cfg.Restored.Runs)
		if err := s.document.Restore(*s.cfg.Restored); err != nil {
			return err
		}
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
		s.mu.Lock()
		err := s.holdHere()
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if err := s.connectKernel(); err != nil {
		return err
	}
	return s.connectAgent(ctx)
}

func (s *Session) startKernel(ctx context.Context) error {
	cfg := s.cfg.Kernel
	cfg.Sandbox, cfg.Session, cfg.Environ = s.sandbox, s.cfg.ID, s.cfg.Environ
	cfg.Output = s.printed.from("kernel")
	k, err := kernel.Start(ctx, s.supervisor, cfg)
	if err != nil {
		return &StartError{What: "kernel", Err: err}
	}
	told := make(chan struct{})
	s.mu.Lock()
	s.pair.kernel, s.pair.kernelTold = k, told
	s.mu.Unlock()
	s.tasks.Go(func() {
		defer close(told)
		s.watch("kernel", k.Exited(), k.Exit)
	})
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
	told := make(chan struct{})
	s.mu.Lock()
	s.pair.agent, s.pair.agentTold = a, told
	s.mu.Unlock()
	s.tasks.Go(func() {
		defer close(told)
		s.watch("agent", a.Exited(), a.Exit)
		s.mourn(a)
	})
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

// connectKernel makes the kernel part of the session and tells it so.
func (s *Session) connectKernel() error {
	k := s.children().kernel
	s.append(trace.KernelToServer, k.ReadyFrame)
	peer, err := s.router.AttachKernel(k, k.Ready.Actions)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.pair.kernelPeer = peer
	s.mu.Unlock()
	return s.router.ToKernel(protocol.NewKernelInit(k.PID()))
}

// connectAgent makes the agent part of the session, tells it so, and waits until
// it is ready for a query.
func (s *Session) connectAgent(ctx context.Context) error {
	follow := s.cfg.Journal.Follow()
	a := s.children().agent
	s.append(trace.AgentToServer, a.ReadyFrame)
	peer, err := s.router.AttachAgent(a)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.pair.agentPeer = peer
	s.mu.Unlock()
	init := s.cfg.Init
	init.Type = protocol.TypeInit
	if err := s.router.ToAgent(init); err != nil {
		return err
	}
	return s.awaitAgent(ctx, peer, follow)
}

// pair is the session's children and their connections; each may be nil before
// it has been started.
type pair struct {
	kernel     *kernel.Kernel
	kernelPeer *router.Peer
	agent      *agent.Agent
	agentPeer  *router.Peer

	kernelTold, agentTold <-chan struct{} // closed when consoles have been told of its end
}

// children returns those of the moment.
func (s *Session) children() pair {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pair
}

// awaitAgent reads on until the agent says that it is ready, passing over
// whatever else it says first.
func (s *Session) awaitAgent(ctx context.Context, peer *router.Peer, follow *trace.Follower) error {
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
		case <-peer.Done():
			stop(peerError("agent", peer))
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

// mourn tells the consoles at /agent that the agent has ended, unless the session
// has wanted that.
func (s *Session) mourn(a *agent.Agent) {
	s.mu.Lock()
	wanted := s.dismissed == a
	s.mu.Unlock()
	if !wanted {
		s.router.TellAgentConsoles(protocol.AgentError{Type: protocol.TypeAgentError, Error: "the agent " + a.Exit().String(), Fatal: true})
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
	s.log.Debug("session", "state", string(state), "cause", cause)
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
