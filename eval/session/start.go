package session

import (
	"context"
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

func (s *Session) startChildren(ctx context.Context) error {
	sandbox, err := NewWorkdir(s.supervisor, s.cfg.WorkdirRoot, s.cfg.PrepareWorkdir)
	if err != nil {
		return &StartError{Component: "sandbox", Err: err}
	}
	s.workdir = sandbox
	if s.cfg.RestoreFrom != nil {
		s.executions.RestoreSnapshot(s.cfg.RestoreFrom.Executions)
		if err := s.document.RestoreState(*s.cfg.RestoreFrom); err != nil {
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
	if !s.cfg.AwaitConsole {
		s.mu.Lock()
		err := s.attachOwnDocumentLocked()
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
	cfg.Workdir, cfg.Session, cfg.Environ = s.workdir, s.cfg.ID, s.cfg.Environ
	cfg.Output = s.output.sinkFor("kernel")
	k, err := kernel.Start(ctx, s.supervisor, cfg)
	if err != nil {
		s.output.flushChild("kernel")
		return &StartError{Component: "kernel", Err: err}
	}
	told := make(chan struct{})
	s.mu.Lock()
	s.running.kernel, s.running.kernelExitReported = k, told
	s.mu.Unlock()
	s.tasks.Go(func() {
		defer close(told)
		s.reportExit("kernel", k.Exited(), k.Exit)
	})
	return nil
}

func (s *Session) startAgent(ctx context.Context) error {
	cfg := s.cfg.Agent
	cfg.Workdir, cfg.Session, cfg.Environ = s.workdir, s.cfg.ID, s.cfg.Environ
	cfg.Output = s.output.sinkFor("agent")
	a, err := agent.Start(ctx, s.supervisor, cfg)
	if err != nil {
		s.output.flushChild("agent")
		return &StartError{Component: "agent", Err: err}
	}
	told := make(chan struct{})
	s.mu.Lock()
	s.running.agent, s.running.agentExitReported = a, told
	s.mu.Unlock()
	s.tasks.Go(func() {
		defer close(told)
		s.reportExit("agent", a.Exited(), a.Exit)
		s.reportAgentExit(a)
	})
	return nil
}

// reportExit tells consoles and trace when a child has ended.
func (s *Session) reportExit(name string, exited <-chan struct{}, exit func() subprocess.Exit) {
	<-exited
	s.output.flushChild(name) // its last words, before anybody looks for them
	how := exit()
	news := protocol.ManagedProcessExit{Type: protocol.TypeManagedProcessExit, Name: name, ExitCode: how.Code, Signal: how.Signal}
	s.recordEvent(news.Type, news)
	s.router.SendToRunConsoles(news)
}

// connectKernel makes the kernel part of the session and tells it so.
func (s *Session) connectKernel() error {
	k := s.currentChildren().kernel
	s.recordReadyFrame(trace.KernelToServer, k.ReadyFrame)
	if language := k.ReadyMessage.Language; language != "" {
		s.document.SetLanguage(language)
	}
	peer, err := s.router.AttachKernel(k, k.ReadyMessage.Actions)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.running.kernelPeer = peer
	s.mu.Unlock()
	return s.router.SendToKernel(protocol.NewKernelInit(k.PID()))
}

// connectAgent makes the agent part of the session, tells it so, and waits until
// it is ready for a query.
func (s *Session) connectAgent(ctx context.Context) error {
	follow := s.cfg.Journal.Follow()
	a := s.currentChildren().agent
	s.recordReadyFrame(trace.AgentToServer, a.ReadyFrame)
	peer, err := s.router.AttachAgent(a)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.running.agentPeer = peer
	s.mu.Unlock()
	init := s.cfg.AgentInit
	init.Type, init.Language = protocol.TypeInit, s.currentChildren().kernel.ReadyMessage.Language
	if err := s.router.SendToAgent(init); err != nil {
		return err
	}
	return s.awaitAgentReady(ctx, peer, follow)
}

// children is the session's children and their connections; each may be nil before
// it has been started.
type children struct {
	kernel     *kernel.Kernel
	kernelPeer *router.Peer
	agent      *agent.Agent
	agentPeer  *router.Peer

	kernelExitReported, agentExitReported <-chan struct{} // closed when consoles have been told of its end
}

// currentChildren returns those of the moment.
func (s *Session) currentChildren() children {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// awaitAgentReady reads on until the agent says that it is ready, passing over
// whatever else it says first.
func (s *Session) awaitAgentReady(ctx context.Context, peer *router.Peer, follow *trace.Follower) error {
	within := s.cfg.Agent.ReadyTimeout
	if within <= 0 {
		within = agent.DefaultReadyTimeout
	}
	late := fmt.Errorf("agent did not answer init with agent_status ready within %v", within)
	ctx, cancel := context.WithTimeoutCause(ctx, within, late)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.tasks.Go(func() {
		select {
		case <-peer.Done():
			stop(connectionError("agent", peer))
		case <-ctx.Done():
		}
	})
	for {
		entry, err := follow.Next(ctx)
		if err != nil {
			return &StartError{Component: "agent", Err: err}
		}
		if entry.Hop == trace.AgentToServer && entry.Type == protocol.TypeAgentStatus && entry.Status == protocol.AgentReady {
			return nil
		}
	}
}

// reportAgentExit tells the consoles at /agent that the agent has ended, unless the session
// has wanted that.
func (s *Session) reportAgentExit(a *agent.Agent) {
	s.mu.Lock()
	wanted := s.stoppedAgent == a
	s.mu.Unlock()
	if !wanted {
		s.router.SendToAgentConsoles(protocol.AgentError{Type: protocol.TypeAgentError, Error: "the agent " + a.Exit().String(), Fatal: true})
	}
}

// connectionError says why a child's connection has ended.
func connectionError(name string, peer *router.Peer) error {
	switch err := peer.Err(); {
	case err == nil:
		return fmt.Errorf("the %s's connection was closed", name)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the %s has closed its socket", name)
	default:
		return err
	}
}
