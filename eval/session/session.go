// Package session runs one live notebook: it starts a kernel and an agent, joins them
// and the notebook's document by a router, and ends them without leaving a process, a
// file or a goroutine behind.
//
// # States
//
//	starting ──▶ ready ──▶ working ──▶ collecting ──▶ ended
//	    └───────────┴──────────┴───────────────────────┘
//
// A session is starting until kernel and agent have said ready, ready until the first
// query, working from then on, and collecting from the call of [Session.CollectState].
// It can end from every state. Only Session.setState changes the state; it records each
// change in the trace.
//
// # The document's holder
//
// The document (the cells and their order) is held by the server or by a console. With
// [Config.AwaitConsole] the first console that connects decides which, for the whole
// session: a holder brings its own document, a view shows the server's. Until then the
// agent's actions on the document wait. See [Session.AttachHolder] and [Session.AttachView].
//
// # Order of the end
//
// An evaluation ends in this order: CollectState refuses further actions of the agent,
// interrupts running cells (2 s) and reads context, globals and reactivity (5 s each, at the
// same time); StopAgent; grading, while the kernel lives; End. [Session.End] alone refuses
// actions, stops agent and kernel side by side, reports their exits to the consoles, closes
// all connections and removes the working folder.
//
// # Goroutines
//
// End waits for all of them:
//
//   - one per child, until it has exited and its exit is reported;
//   - while an agent starts: one that notices the end of its connection;
//   - one that serves the server's own document, until its connection ends;
//   - with Config.TakeOverDelay: one, until the holder is decided;
//   - with Config.MaxDiskBytes: one that measures the working folder each second;
//   - after a kernel had to be killed because a run did not stop: one that starts the next
//     kernel.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"assay/agent"
	"assay/internal/model/gateway"
	"assay/internal/model/replay"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/redact"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
)

// State is the phase of a session's life, from starting to ended; the package doc has the
// transitions.
type State string

// The states, in order.
const (
	StateStarting   State = "starting"
	StateReady      State = "ready"
	StateWorking    State = "working"
	StateCollecting State = "collecting"
	StateEnded      State = "ended"
)

// Config describes a session to start. Fields that are not marked as required may be left
// empty.
type Config struct {
	ID      string         // required
	Journal *trace.Journal // required; records every frame; the caller closes it after End

	// Kernel and Agent describe the children. The session sets their Workdir, Session,
	// Environ and Output, and the kernel's OnStuck.
	Kernel  kernel.Config
	Agent   agent.Config
	Environ []string // the server's environment, as "NAME=value"

	// OpenModels, if set, makes the endpoint for the calls of models of each agent that the session
	// starts. The session records them in the trace, and closes the endpoint. ModelLimits are those of its Agent.
	OpenModels  func(gateway.Agent) *gateway.Endpoint
	ModelLimits gateway.Limits

	// ModelSilenceDelay and ModelScope are SilenceDelay and Scope of [gateway.Agent].
	ModelSilenceDelay time.Duration
	ModelScope        replay.CacheScope

	// WorkdirRoot is the folder in which the session makes its working folder; empty is
	// the default folder for temporary files.
	WorkdirRoot string

	// PrepareWorkdir, if set, fills the new working folder before kernel and agent start.
	// Its error ends the start.
	PrepareWorkdir func(workdir string) error

	// MaxDiskBytes is how many bytes the session may add to its working folder, measured
	// each second; 0 means no limit. Past it, [TypeLimitExceeded] is recorded; if
	// IsEvaluation is not set, the kernel is killed.
	MaxDiskBytes int64

	// AwaitConsole leaves it to the first console whether it or the server holds the
	// document; without it the server holds it. TakeOverDelay is how long after the agent's
	// first action on the document the server waits for a console before it holds the
	// document itself; 0 means that it waits forever.
	AwaitConsole  bool
	TakeOverDelay time.Duration

	// IsEvaluation makes RestartChild fail, because the end of the kernel or agent is the
	// outcome of the attempt. A kernel that was killed because a run did not stop is
	// replaced all the same.
	IsEvaluation bool

	// NewCellID returns the id of a new cell; nil makes random ids.
	NewCellID func() string

	// RestoreFrom is the notebook to begin with; nil is an empty one.
	RestoreFrom *notebook.State

	// AgentInit is the init message for the agent; the session sets its type and language.
	AgentInit protocol.AgentInit

	Router router.Config // the session sets Log and RestartChild

	// ChildOutput gets what the children print, at most 10 MiB, as whole lines that begin
	// with "kernel: " or "agent: "; nil discards it.
	ChildOutput io.Writer

	// ChildLineSink, if set, is called with "kernel" or "agent" before each start of that
	// child. The function that it returns gets every line that this child prints, also
	// beyond the limit of ChildOutput. It must not block, nor keep the line after it has
	// returned.
	ChildLineSink func(child string) func(line []byte)

	// Redactor finds the secrets that are replaced in what the children print; nil: none are.
	Redactor *redact.Redactor

	Log *slog.Logger // nil discards
}

// Session is a live notebook: a kernel, an agent and the router that connects them to consoles.
// It is safe for concurrent use. The caller must End it.
type Session struct {
	cfg         Config
	log         *slog.Logger
	supervisor  *subprocess.Supervisor
	workdir     string    // empty until it is made
	diskQuota   DiskQuota // of workdir
	childOutput *childOutputMerger

	router      *router.Router
	executions  *notebook.Executions
	ownDocument *notebook.Document // the server's own

	holderDecided  chan struct{}      // closed when either the server or a console holds the document
	goroutines     sync.WaitGroup     // the session's goroutines
	stopTakeOver   context.CancelFunc // ends takeOverDocumentAfterDelay
	stopGoroutines context.CancelFunc // ends takeOverDocumentAfterDelay, enforceDiskQuota and restarts

	restartMu sync.Mutex // held while a child is restarted; taken before mu

	mu           sync.Mutex
	state        State
	liveChildren childConnections
	models       *modelServer             // of the current agent; nil: it has none
	stoppedAgent *agent.Agent             // the agent that the session stopped last; its exit is no error
	enforced     []func() map[string]bool // Enforced of each child that was started, and of the disk quota
	holderName   string                   // name of the console that holds the document; empty: the server, once holderDecided is closed

	endOnce sync.Once
	endErr  error
}

// StartError is the error of a session that could not be started: which component failed, and
// why.
type StartError struct {
	Component string // "workdir", "kernel" or "agent"; eval/attempt adds "setup"
	Err       error
}

// Error returns the text of the underlying error, which names the component.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error, without the component.
func (e *StartError) Unwrap() error { return e.Err }

// Start makes the working folder, starts kernel and agent at the same time and waits until both
// are ready. It fails with a [*StartError] that names the component, or with the cause of ctx
// if ctx ends first; then nothing is left of the session.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Session, error) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Session{
		cfg: cfg, log: log.With("session", cfg.ID), supervisor: sup,
		holderDecided: make(chan struct{}), childOutput: newChildOutputMerger(cfg.ChildOutput, cfg.ChildLineSink, cfg.Redactor),
	}
	s.executions = notebook.NewExecutions(notebook.ExecutionsConfig{CellTitle: func(id string) string { return s.ownDocument.CellTitle(id) }})
	s.ownDocument = notebook.NewDocument(notebook.DocumentConfig{Executions: s.executions, OnEvent: s.recordNotebookEvent, NewCellID: cfg.NewCellID})
	tasksCtx, stopTasks := context.WithCancel(context.WithoutCancel(ctx))
	takeOverCtx, stopTakeOver := context.WithCancel(tasksCtx)
	s.stopGoroutines, s.stopTakeOver = stopTasks, stopTakeOver
	s.cfg.Kernel.OnStuck = func(what string) bool { return s.onKernelStuck(tasksCtx, what) }
	cfg.Router.Log = s.log
	cfg.Router.RestartChild = func(name string) error { return s.RestartChild(tasksCtx, name) }
	s.router = router.New(cfg.Journal, s.executions, cfg.Router)
	follower := cfg.Journal.Follow()
	s.setState(StateStarting, "")
	if err := s.startChildren(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, errors.Join(err, s.End(context.WithoutCancel(ctx), "it could not start: "+err.Error()))
	}
	if cfg.AwaitConsole && cfg.TakeOverDelay > 0 {
		s.goroutines.Go(func() { s.takeOverDocumentAfterDelay(takeOverCtx, follower) })
	}
	if cfg.MaxDiskBytes > 0 {
		s.goroutines.Go(func() { s.enforceDiskQuota(tasksCtx) })
		s.goroutines.Go(func() { s.enforceAgentDiskQuota(tasksCtx) })
	}
	s.setState(StateReady, "")
	return s, nil
}

// setState changes the session's state and records it, with the cause, in the trace. It does
// nothing if the session has ended. No other function changes the state.
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

// State returns the session's current state.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// recordNotebookEvent appends a change of the server's own document to the trace.
func (s *Session) recordNotebookEvent(e notebook.Event) {
	cell := e.CellID
	if e.Cell != nil {
		cell = e.Cell.ID
	}
	s.cfg.Journal.Append(trace.Entry{
		Hop: trace.HopNotebook, Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind, CellID: cell}, Body: e.JSON(),
	})
}

// recordEvent appends an event of the session itself to the trace, on the hop "session". event
// is encoded as JSON; kind is the entry's type. If event has no JSON it only logs an error.
func (s *Session) recordEvent(kind string, event any) {
	body, err := protocol.Marshal(event)
	if err != nil {
		s.log.Error("an event of the session could not be recorded", "event", kind, "error", err)
		return
	}
	s.cfg.Journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: kind}, Body: body})
}

// recordReadyFrame appends the ready message of the kernel or agent to the trace, because it
// was read before the router, which records all later frames, got the connection.
func (s *Session) recordReadyFrame(hop trace.Hop, frame []byte) {
	s.cfg.Journal.Append(trace.Entry{Hop: hop, Envelope: protocol.Envelope{Type: protocol.TypeReady}, Body: frame})
}

// Executions returns the results of all cells that the kernel has run in the session.
func (s *Session) Executions() *notebook.Executions { return s.executions }

// Journal returns the journal that records the session's trace.
func (s *Session) Journal() *trace.Journal { return s.cfg.Journal }

// Router returns the session's router, to which consoles are attached.
func (s *Session) Router() *router.Router { return s.router }

// EnforcedRules returns, by name of a sandbox rule, whether it was enforced for every child
// process of the session that has it, replaced ones included. The names are the keys of
// [subprocess.Process.Enforced], and "disk" if the working folder has a limit. Call it after
// End for the final values: a value can still change from true to false while a child is
// stopped.
func (s *Session) EnforcedRules() map[string]bool {
	s.mu.Lock()
	records := slices.Clone(s.enforced)
	s.mu.Unlock()
	combined := map[string]bool{}
	for _, record := range records {
		CombineEnforcedRules(combined, record())
	}
	return combined
}

// CombineEnforcedRules adds the enforced rules of one more child, record, to those in combined:
// a rule that both have is true only if it is true in both.
func CombineEnforcedRules(combined, record map[string]bool) {
	for key, isEnforced := range record {
		if before, known := combined[key]; known {
			isEnforced = isEnforced && before
		}
		combined[key] = isEnforced
	}
}

// KernelReady returns the ready message of the session's current kernel.
func (s *Session) KernelReady() protocol.Ready { return s.currentChildren().kernel.ReadyMessage }

// KernelPID returns the process id of the session's current kernel.
func (s *Session) KernelPID() int { return s.currentChildren().kernel.PID() }

// IsKernelAlive reports whether the current kernel's process runs and is connected. A console
// that was attached before the call learns of every end of a kernel: either the result is
// false, or a managed_process_exit is sent to the console later.
func (s *Session) IsKernelAlive() bool {
	current := s.currentChildren()
	select {
	case <-current.kernel.Exited():
		return false
	case <-current.kernelPeer.Done():
		return false
	default:
		return true
	}
}

// KernelError returns why the kernel's connection has ended: a [*subprocess.ExitError] if its
// process has died by itself. Call it only after that.
func (s *Session) KernelError() error {
	return childConnectionError("kernel", s.currentChildren().kernelPeer)
}

// AgentError returns why the agent's connection has ended: a [*subprocess.ExitError] if its
// process has died. Call it only after that.
func (s *Session) AgentError() error {
	return childConnectionError("agent", s.currentChildren().agentPeer)
}

// SendQuery sends the agent its task or a further message of the user, and sets the session's
// state to working. It fails if there is no agent.
func (s *Session) SendQuery(query protocol.AgentQuery) error {
	query.Type = protocol.TypeAgentQuery
	s.setState(StateWorking, "")
	return s.router.SendToAgent(query)
}

// Execute runs code in the kernel outside of any cell and returns the kernel's response. Code
// that raises is no error: the response says so. It fails if the code takes longer than
// timeout, after which it is interrupted, if the kernel is dead, and with the cause of ctx.
func (s *Session) Execute(ctx context.Context, code string, timeout time.Duration) (protocol.ExecuteCodeResponse, error) {
	return s.executeCode(ctx, map[string]any{"code": code, "timeout_s": timeout.Seconds()})
}

// ExecutePristine runs code in the kernel like Execute, with the flag "pristine": a kernel that
// supports it runs the code with the original builtins and standard streams, whatever names the
// notebook uses. It fails like Execute.
func (s *Session) ExecutePristine(ctx context.Context, code string, timeout time.Duration) (protocol.ExecuteCodeResponse, error) {
	return s.executeCode(ctx, map[string]any{"code": code, "timeout_s": timeout.Seconds(), "pristine": true})
}

// executeCode sends the kernel an execute_code with these parameters and returns its decoded
// response. It fails if the request does, or if the response cannot be decoded.
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
