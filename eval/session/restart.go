package session

import (
	"context"
	"errors"
	"fmt"
)

// RestartChild ends a child, "kernel" or "agent", if it still lives, and starts
// another in its place. A kernel begins with nothing, and every console is told
// the state anew; an agent is initialised and remembers nothing. It returns when
// the new one is ready, or cannot be; then there is none.
func (s *Session) RestartChild(ctx context.Context, name string) error {
	if s.cfg.IsEvaluation {
		return errors.New("a case is attached: the end of its kernel or agent is its outcome")
	}
	s.restarting.Lock()
	defer s.restarting.Unlock()
	if s.State() == StateEnded {
		return errors.New("the session has ended")
	}
	switch name {
	case "kernel":
		return s.restartKernel(ctx)
	case "agent":
		old := s.children()
		if err := s.StopAgent(ctx); err != nil {
			return err
		}
		<-old.agentPeer.Done()
		return s.anotherAgent(ctx)
	default:
		return fmt.Errorf("name: want kernel or agent, not %q", name)
	}
}

// restartKernel is for who holds restarting.
func (s *Session) restartKernel(ctx context.Context) error {
	old := s.children()
	if err := s.stopKernel(ctx); err != nil {
		return err
	}
	<-old.kernelPeer.Done()
	<-old.kernelTold
	return s.anotherKernel(ctx)
}

func (s *Session) anotherKernel(ctx context.Context) error {
	if err := s.startKernel(ctx); err != nil {
		return err
	}
	if err := s.connectKernel(); err != nil {
		return errors.Join(err, s.stopKernel(ctx))
	}
	s.router.Greet()
	return nil
}

func (s *Session) anotherAgent(ctx context.Context) error {
	if err := s.startAgent(ctx); err != nil {
		return err
	}
	if err := s.connectAgent(ctx); err != nil {
		return errors.Join(err, s.StopAgent(ctx))
	}
	return nil
}
