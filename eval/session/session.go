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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"assay/agent"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
)

// State is where in its life a session is.
type State string

// The states, in their order.
const (
	StateStarting   State = "starting"
	StateReady      State = "ready"
	StateWorking    State = "working"
	StateCollecting State = "collecting"
	StateEnded      State = "ended"
)

// Config says what session to start.
type Config struct {
	ID      string         // required
	Journal *trace.Journal // required; gets every frame; the caller closes it, after End

	// Kernel and Agent say what to start; Sandbox, Session, Environ, Stuck and
	// Output in them are set by the session.
	Kernel  kernel.Config
	Agent   agent.Config
	Environ []string // the server's environment

	// WorkdirRoot is the folder in which the session's sandbox is made.
	WorkdirRoot string

	// Prepare, if set, puts into the sandbox what is to be there before kernel
	// and agent start.
	PrepareWorkdir func(sandbox string) error

	// Disk is how many bytes may be added to the sandbox; 0: no limit. It is
	// measured each second.
	MaxDiskBytes int64

	// Console lets the first console that comes decide who holds the document,
	// it or the server; otherwise the server does. TakeOverDelay is how long after
	// the agent's first action the server waits for one until it holds the
	// document itself; 0: for ever.
	AwaitConsole  bool
	TakeOverDelay time.Duration

	// Evaluation refuses to start kernel or agent anew: that one of them has
	// ended is the outcome. A kernel that had to be killed, since something in
	// it would not stop, is replaced in any case.
	IsEvaluation bool

	// NewCellID makes the ids of cells; nil makes random ones.
	NewCellID func() string

	// Restored is the notebook that the session goes on with; nil: an empty one.
	RestoreFrom *notebook.State

	// Init is what the agent is told beside the session's number.
	AgentInit protocol.AgentInit

	Router router.Config // deadlines

	// Printed gets what the children print, in whole lines behind "kernel: "
	// and "agent: "; nil discards.
	ChildOutput io.Writer

	// Lines, if set, is called with "kernel" or "agent" for each that is about to
	// be started, and what it returns gets every line that this child prints, those
	// too that are too many for Printed. The line is only good during the call,
	// which must not block.
	ChildLineSink func(child string) func(line []byte)

	Log *slog.Logger // nil discards
}

// Session is a live notebook. It is safe for concurrent use. Whoever started it
// must End it.
type Session struct {
	cfg     Config
	log     *slog.Logger
	workdir string
	output  *childOutput

	supervisor *subprocess.Supervisor

	router        *router.Router
	executions    *notebook.Executions
	document      *notebook.Document
	holderDecided chan struct{} // closed when it is settled who holds the document
	tasks         sync.WaitGroup
	stopTakeOver  context.CancelFunc // ends the wait for a console
	stopTasks     context.CancelFunc // ends what the session does on its own account

	restartMu sync.Mutex // held while a child is started anew

	mu           sync.Mutex
	state        State
	stoppedAgent *agent.Agent // whose end the session itself has asked for
	holderName   string       // name of the console that holds the document; empty: the server, once it is settled

	running children

	endOnce sync.Once
	endErr  error
}

// StartError says what could not be started.
type StartError struct {
	Component string // "sandbox", "kernel" or "agent"
	Err       error
}

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Start makes the sandbox, starts kernel and agent side by side and waits until
// both are ready. When it fails, with a [*StartError] or the cause of ctx,
// nothing is left.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Session, error) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Session{
		cfg: cfg, log: log.With("session", cfg.ID),
		holderDecided: make(chan struct{}), output: newChildOutput(cfg.ChildOutput, cfg.ChildLineSink), supervisor: sup,
	}
	s.executions = notebook.NewExecutions(notebook.ExecutionsConfig{CellTitle: func(id string) string { return s.document.CellTitle(id) }})
	s.document = notebook.NewDocument(notebook.DocumentConfig{Executions: s.executions, OnEvent: s.recordNotebookEvent, NewCellID: cfg.NewCellID})
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	waiting, waited := context.WithCancel(life)
	s.stopTasks, s.stopTakeOver = stop, waited
	s.cfg.Kernel.OnStuck = func(what string) bool { return s.onKernelStuck(life, what) }
	cfg.Router.Log = s.log
	cfg.Router.RestartChild = func(name string) error { return s.RestartChild(life, name) }
	s.router = router.New(cfg.Journal, s.executions, cfg.Router)
	follow := cfg.Journal.Follow()
	s.setState(StateStarting, "")
	if err := s.startChildren(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, errors.Join(err, s.End(context.WithoutCancel(ctx), "it could not start: "+err.Error()))
	}
	if cfg.AwaitConsole && cfg.TakeOverDelay > 0 {
		s.tasks.Go(func() { s.takeOverAfterDelay(waiting, follow) })
	}
	if cfg.MaxDiskBytes > 0 {
		s.tasks.Go(func() { s.enforceDiskQuota(life) })
	}
	s.setState(StateReady, "")
	return s, nil
}

// setState changes the state, unless that is the last one. It is the only place
// that does.
func (s *Session) setState(state State, cause string) {
	s.mu.Lock()
	ended := s.state == StateEnded
	if !ended {
		s.state = state
	}
	s.mu.Unlock()
	if ended {
		return
	}
	s.recordEvent("state", map[string]string{"type": "state", "state": string(state), "cause": cause})
	s.log.Debug("session", "state", string(state), "cause", cause)
}

// State tells where in its life the session is.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *Session) recordNotebookEvent(e notebook.Event) {
	cell := e.CellID
	if e.Cell != nil {
		cell = e.Cell.ID
	}
	s.cfg.Journal.Append(trace.Entry{
		Hop: trace.HopNotebook, Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind, CellID: cell}, Body: e.JSON(),
	})
}

// recordEvent puts something that happened to the session itself into the trace.
func (s *Session) recordEvent(kind string, what any) {
	body, err := protocol.Marshal(what)
	if err != nil {
		s.log.Error("an event of the session could not be recorded", "event", kind, "error", err)
		return
	}
	s.cfg.Journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: kind}, Body: body})
}

func (s *Session) recordReadyFrame(hop trace.Hop, frame []byte) {
	s.cfg.Journal.Append(trace.Entry{Hop: hop, Envelope: protocol.Envelope{Type: protocol.TypeReady}, Body: frame})
}

// Executions is the fold over what the kernel did.
func (s *Session) Executions() *notebook.Executions { return s.executions }

// Journal is the order of all that happens in the session.
func (s *Session) Journal() *trace.Journal { return s.cfg.Journal }

// Router is the session's switchboard, to attach consoles to.
func (s *Session) Router() *router.Router { return s.router }

// KernelReady is what the kernel said of itself.
func (s *Session) KernelReady() protocol.Ready { return s.currentChildren().kernel.ReadyMessage }

// KernelPID is the kernel's process id.
func (s *Session) KernelPID() int { return s.currentChildren().kernel.PID() }

// IsKernelAlive tells whether there is a kernel to talk to. Whoever attaches a
// console and asks while it is attached misses no managed_process_exit: either
// the kernel is not alive here, or the console is told later that it has ended.
func (s *Session) IsKernelAlive() bool {
	pair := s.currentChildren()
	select {
	case <-pair.kernel.Exited():
		return false
	case <-pair.kernelPeer.Done():
		return false
	default:
		return true
	}
}

// KernelError says why the kernel's connection has ended: a *child.ExitError
// when it has died.
func (s *Session) KernelError() error {
	return connectionError("kernel", s.currentChildren().kernelPeer)
}

// AgentError says why the agent's connection has ended: a *child.ExitError when
// it has died.
func (s *Session) AgentError() error { return connectionError("agent", s.currentChildren().agentPeer) }

// SendQuery gives the agent its task, or a word more on it.
func (s *Session) SendQuery(query protocol.AgentQuery) error {
	query.Type = protocol.TypeAgentQuery
	s.setState(StateWorking, "")
	return s.router.SendToAgent(query)
}

// Execute runs code in the kernel without a cell.
func (s *Session) Execute(ctx context.Context, code string, within time.Duration) (protocol.ExecuteCodeResponse, error) {
	return s.executeCode(ctx, map[string]any{"code": code, "timeout_s": within.Seconds()})
}

// ExecutePristine runs code that looks at what the kernel holds. A kernel that can sees
// to it that what ran there before does not mislead it.
func (s *Session) ExecutePristine(ctx context.Context, code string, within time.Duration) (protocol.ExecuteCodeResponse, error) {
	return s.executeCode(ctx, map[string]any{"code": code, "timeout_s": within.Seconds(), "pristine": true})
}

func (s *Session) executeCode(ctx context.Context, params map[string]any) (protocol.ExecuteCodeResponse, error) {
	var response protocol.ExecuteCodeResponse
	body, err := s.router.Ask(ctx, protocol.TypeExecuteCode, params)
	if err != nil {
		return response, err
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return response, fmt.Errorf("execute_code: %w", err)
	}
	return response, nil
}
