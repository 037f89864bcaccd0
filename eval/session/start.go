package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"assay/agent"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
)

// startChildren makes the working folder, starts kernel and agent at the same time, connects
// both to the router and waits until the agent is ready for a query. If the folder or a child
// fails, the error is a *StartError that names it.
func (s *Session) startChildren(ctx context.Context) error {
	workdir, err := NewWorkdir(s.supervisor, s.cfg.WorkdirRoot, s.cfg.PrepareWorkdir)
	if err != nil {
		return &StartError{Component: "workdir", Err: err}
	}
	s.workdir = workdir
	if s.cfg.MaxDiskBytes > 0 {
		s.measureInitialDisk(ctx)
	}
	if s.cfg.RestoreFrom != nil {
		s.executions.RestoreSnapshot(s.cfg.RestoreFrom.Executions)
		if err := s.ownDocument.RestoreState(*s.cfg.RestoreFrom); err != nil {
			return err
		}
	}
	// A plain group: if one child fails, the other's start is not cancelled, because that
	// would be reported as its failure.
	var both errgroup.Group
	both.Go(func() error { return s.startKernel(ctx) })
	both.Go(func() error { return s.startAgent(ctx) })
	if err := both.Wait(); err != nil {
		return err
	}
	if !s.cfg.AwaitConsole {
		s.mu.Lock()
		err := s.attachServerDocumentLocked()
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

// startKernel starts a kernel process, waits until it is ready and starts the goroutine that
// reports its exit. It fails with a *StartError if the kernel cannot be started, does not
// become ready in time, or ctx ends.
func (s *Session) startKernel(ctx context.Context) error {
	cfg := s.cfg.Kernel
	cfg.Workdir, cfg.Session, cfg.Environ = s.workdir, s.cfg.ID, s.cfg.Environ
	cfg.Output, cfg.OnForbidden = s.childOutput.newChildSink("kernel"), func(what string) { s.RecordForbidden("kernel", what) }
	k, err := kernel.Start(ctx, s.supervisor, cfg)
	if err != nil {
		s.childOutput.flushChild("kernel")
		return &StartError{Component: "kernel", Err: err}
	}
	reported := make(chan struct{})
	s.mu.Lock()
	s.liveChildren.kernel, s.liveChildren.kernelExitReported = k, reported
	s.enforced = append(s.enforced, k.EnforcedLimits)
	s.mu.Unlock()
	s.goroutines.Go(func() {
		defer close(reported)
		s.reportExit("kernel", k.Exited(), k.ExitStatus)
	})
	return nil
}

// startAgent starts an agent process, waits for its ready message and starts the goroutine that
// reports its exit. It fails with a *StartError if the agent cannot be started, sends no ready
// message in time, or ctx ends.
func (s *Session) startAgent(ctx context.Context) error {
	cfg := s.cfg.Agent
	cfg.Workdir, cfg.Session, cfg.Environ = s.workdir, s.cfg.ID, s.cfg.Environ
	cfg.Output, cfg.OnForbidden = s.childOutput.newChildSink("agent"), func(what string) { s.RecordForbidden("agent", what) }
	models := s.newModelServer()
	if models != nil {
		cfg.ModelServer = models
	}
	a, err := agent.Start(ctx, s.supervisor, cfg)
	if err != nil {
		s.childOutput.flushChild("agent")
		return &StartError{Component: "agent", Err: err}
	}
	reported := make(chan struct{})
	s.mu.Lock()
	s.liveChildren.agent, s.liveChildren.agentExitReported, s.models = a, reported, models
	s.enforced = append(s.enforced, a.Enforced)
	s.mu.Unlock()
	s.goroutines.Go(func() {
		defer close(reported)
		s.reportExit("agent", a.Exited(), a.ExitState)
		s.reportAgentExit(a)
	})
	return nil
}

// TypeForbidden is the type of the trace entry about something that the code in a child tried to
// reach and may not; its note is [trace.NoteTamper]. See [Forbidden].
const TypeForbidden = "forbidden"

// Forbidden is the JSON body of a trace entry of type [TypeForbidden].
type Forbidden struct {
	Type  string `json:"type"`
	Child string `json:"child"` // "kernel" or "agent"
	What  string `json:"what"`  // such as "a connection to the page"
}

// RecordForbidden records in the trace what code in a child, "kernel" or "agent", has tried.
func (s *Session) RecordForbidden(child, what string) {
	body, err := protocol.Marshal(Forbidden{Type: TypeForbidden, Child: child, What: what})
	if err != nil {
		return // never: it is two strings
	}
	s.cfg.Journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: TypeForbidden}, Body: body, Note: trace.NoteTamper})
}

// reportExit waits until the process of a child has exited, writes the rest of its output,
// records the exit in the trace and sends it to the consoles at /run.
func (s *Session) reportExit(name string, exited <-chan struct{}, exit func() subprocess.ExitState) {
	<-exited
	s.childOutput.flushChild(name) // first, so that the last lines are written before the exit is reported
	status := exit()
	message := protocol.ManagedProcessExit{Type: protocol.TypeManagedProcessExit, Name: name, ExitCode: status.Code, Signal: status.Signal}
	s.recordEvent(message.Type, message)
	s.router.SendToRunConsoles(message)
}

// reportAgentExit sends the consoles at /agent a fatal agent_error that says how the agent a
// exited. It does nothing if the session has stopped the agent itself.
func (s *Session) reportAgentExit(a *agent.Agent) {
	s.mu.Lock()
	isStopped := s.stoppedAgent == a
	s.mu.Unlock()
	if !isStopped {
		s.router.SendToAgentConsoles(protocol.AgentError{Type: protocol.TypeAgentError, Error: "the agent " + a.ExitState().String(), Fatal: true})
	}
}

// connectKernel attaches the current kernel to the router and sends it the init message. It
// fails if the session has ended or the kernel is dead.
func (s *Session) connectKernel() error {
	k := s.currentChildren().kernel
	s.recordReadyFrame(trace.KernelToServer, k.ReadyFrame)
	if language := k.ReadyMessage.Language; language != "" {
		s.ownDocument.SetLanguage(language)
	}
	peer, err := s.router.AttachKernel(k, k.ReadyMessage)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.liveChildren.kernelPeer = peer
	s.mu.Unlock()
	return s.router.SendToKernel(protocol.NewKernelInit(k.PID()))
}

// connectAgent attaches the current agent to the router, sends it the init message and waits
// until it answers with agent_status ready. It fails if the session has ended, and with a
// *StartError if the agent does not answer in time.
func (s *Session) connectAgent(ctx context.Context) error {
	follower := s.cfg.Journal.Follow()
	a := s.currentChildren().agent
	s.recordReadyFrame(trace.AgentToServer, a.ReadyFrame)
	peer, err := s.router.AttachAgent(a)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.liveChildren.agentPeer = peer
	s.mu.Unlock()
	init := s.cfg.AgentInit
	init.Type, init.Language = protocol.TypeInit, s.currentChildren().kernel.ReadyMessage.Language
	if err := s.router.SendToAgent(init); err != nil {
		return err
	}
	return s.awaitAgentReady(ctx, peer, follower)
}

// awaitAgentReady reads the trace until the agent sends agent_status ready. It fails with a *StartError
// when the agent sends a fatal agent_error, after [agent.Config.ReadyTimeout], and when the agent's
// connection or ctx ends. It ignores all other messages.
func (s *Session) awaitAgentReady(ctx context.Context, peer *router.Peer, follower *trace.Follower) error {
	timeout := s.cfg.Agent.ReadyTimeout
	if timeout <= 0 {
		timeout = agent.DefaultReadyTimeout
	}
	errLate := fmt.Errorf("agent did not answer init with agent_status ready within %v", timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errLate)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.goroutines.Go(func() {
		select {
		case <-peer.Done():
			stop(childConnectionError("agent", peer))
		case <-ctx.Done():
		}
	})
	for {
		entry, err := follower.Next(ctx)
		if errors.Is(err, errLate) {
			err = withCutFrame(err, s.currentChildren().agent, peer)
		}
		if err != nil {
			return &StartError{Component: "agent", Err: err}
		}
		if entry.Hop != trace.AgentToServer {
			continue
		}
		if entry.Type == protocol.TypeAgentStatus && entry.Status == protocol.AgentReady {
			return nil
		}
		if failure := (protocol.AgentError{}); entry.Type == protocol.TypeAgentError && json.Unmarshal(entry.Body, &failure) == nil && failure.Fatal {
			return &StartError{Component: "agent", Err: errors.New("the agent failed when it was initialized: " + failure.Error)}
		}
	}
}

// withCutFrame closes the connection of the agent a and returns err, with how much has come of the frame that
// the agent had begun, if there was one: its length may be wrong.
func withCutFrame(err error, a *agent.Agent, peer *router.Peer) error {
	_ = a.Close(protocol.CloseNormal, "")
	<-peer.Done()
	if cut, ok := errors.AsType[*protocol.CutFrameError](peer.Err()); ok {
		return fmt.Errorf("%w: it has sent %w", err, cut)
	}
	return err
}

// childConnections are the current kernel and agent processes and their connections to the
// router. A field is nil until that child was started, or connected, for the first time.
type childConnections struct {
	kernel     *kernel.Kernel
	kernelPeer *router.Peer
	agent      *agent.Agent
	agentPeer  *router.Peer

	// Closed when the exit of the child has been sent to the consoles.
	kernelExitReported, agentExitReported <-chan struct{}
}

// currentChildren returns a copy of the fields for the current kernel and agent.
func (s *Session) currentChildren() childConnections {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.liveChildren
}

// childConnectionError returns why the router's connection to the child of this name has ended;
// the connection must have ended.
func childConnectionError(name string, peer *router.Peer) error {
	switch err := peer.Err(); {
	case err == nil:
		return fmt.Errorf("the %s's connection was closed", name)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the %s has closed its socket", name)
	default:
		return err
	}
}
