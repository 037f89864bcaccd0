package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

const (
	// CollectTimeout is how long each part of the notebook's state may take.
	CollectTimeout = 5 * time.Second

	// InterruptGrace is how long cells may take to stop before that.
	InterruptGrace = 2 * time.Second

	// stopTimeout bounds each step of the end: it is the grace of a stop and
	// what the system may take to reap.
	stopTimeout = subprocess.StopGrace + time.Second
)

// StopAgent ends the agent and leaves the rest as it is.
func (s *Session) StopAgent(ctx context.Context) error {
	s.mu.Lock()
	agent := s.running.agent
	s.stoppedAgent = agent
	s.mu.Unlock()
	if agent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return agent.Stop(ctx)
}

func (s *Session) stopKernel(ctx context.Context) error {
	kernel := s.currentChildren().kernel
	if kernel == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return kernel.Stop(ctx)
}

// End ends the session, for whatever cause: consoles are told, agent and kernel
// are stopped with everything they started, the sandbox is removed. When ctx is
// done, nobody is given time any more. It may be called more than once.
func (s *Session) End(ctx context.Context, cause string) error {
	s.endOnce.Do(func() { s.endErr = s.end(ctx, cause) })
	return s.endErr
}

func (s *Session) end(ctx context.Context, cause string) error {
	s.stopTasks()
	s.restartMu.Lock() // one that is under way ends first
	s.setState(StateEnded, cause)
	s.restartMu.Unlock()
	s.router.RefuseActions("session is ending")
	var agentErr, kernelErr error
	var both sync.WaitGroup
	both.Go(func() { agentErr = s.StopAgent(ctx) })
	both.Go(func() { kernelErr = s.stopKernel(ctx) })
	both.Wait()
	pair := s.currentChildren()
	for _, told := range []<-chan struct{}{pair.kernelExitReported, pair.agentExitReported} {
		if told != nil {
			<-told // before their connections end
		}
	}
	s.router.Close(protocol.CloseGoingAway, cause)
	s.tasks.Wait()
	s.output.flushChild("kernel")
	s.output.flushChild("agent")
	return errors.Join(agentErr, kernelErr, s.removeWorkdir())
}
