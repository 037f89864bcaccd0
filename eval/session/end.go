package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

// stopTimeout bounds the stop of one child: the grace between SIGTERM and SIGKILL, and a
// second for the system to reap it.
const stopTimeout = subprocess.StopGrace + time.Second

// StopAgent stops the agent and everything that it started, and leaves the rest of the session as
// it is. The error says that something of the agent may be left.
func (s *Session) StopAgent(ctx context.Context) error {
	s.mu.Lock()
	agent := s.liveChildren.agent
	s.stoppedAgent = agent
	s.mu.Unlock()
	if agent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return agent.Stop(ctx)
}

// stopKernel stops the kernel and everything that it started. It takes at most stopTimeout; the
// error says that something of the kernel may be left.
func (s *Session) stopKernel(ctx context.Context) error {
	kernel := s.currentChildren().kernel
	if kernel == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return kernel.Stop(ctx)
}

// End ends the session: it stops agent and kernel with everything that they started, reports their
// exits, closes all connections with cause as the reason, and removes the working folder. If ctx is
// done, children are killed without grace. Only the first call does something; every call returns
// its result, after it. The error says what may be left.
func (s *Session) End(ctx context.Context, cause string) error {
	s.endOnce.Do(func() { s.endErr = s.shutDown(ctx, cause) })
	return s.endErr
}

// shutDown does the work of End, once.
func (s *Session) shutDown(ctx context.Context, cause string) error {
	s.stopGoroutines()
	s.restartMu.Lock() // a restart that is under way ends first
	s.setState(StateEnded, cause)
	s.restartMu.Unlock()
	s.router.RefuseActions("session is ending")
	var agentErr, kernelErr error
	var both sync.WaitGroup
	both.Go(func() { agentErr = s.StopAgent(ctx) })
	both.Go(func() { kernelErr = s.stopKernel(ctx) })
	both.Wait()
	current := s.currentChildren()
	for _, reported := range []<-chan struct{}{current.kernelExitReported, current.agentExitReported} {
		if reported != nil {
			<-reported // the consoles get the exits before their connections are closed
		}
	}
	s.router.Close(protocol.CloseGoingAway, cause)
	s.goroutines.Wait()
	s.childOutput.flushChild("kernel")
	s.childOutput.flushChild("agent")
	return errors.Join(agentErr, kernelErr, s.removeWorkdir())
}
