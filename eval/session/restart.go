package session

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/protocol"
	"assay/kernel"
)

// RestartChild ends a child, "kernel" or "agent", if it still lives, and starts
// another in its place. A kernel begins with nothing, and every console is told
// the state anew; an agent is initialised and remembers nothing. It returns when
// the new one is ready, or cannot be; then there is none.
func (s *Session) RestartChild(ctx context.Context, name string) error {
	if s.cfg.IsEvaluation {
		return errors.New("a case is attached: the end of its kernel or agent is its outcome")
	}
	s.restartMu.Lock()
	defer s.restartMu.Unlock()
	if s.State() == StateEnded {
		return errors.New("the session has ended")
	}
	switch name {
	case "kernel":
		return s.restartKernel(ctx)
	case "agent":
		old := s.currentChildren()
		if err := s.StopAgent(ctx); err != nil {
			return err
		}
		<-old.agentPeer.Done()
		return s.startNewAgent(ctx)
	default:
		return fmt.Errorf("name: want kernel or agent, not %q", name)
	}
}

// restartKernel is for who holds restarting.
func (s *Session) restartKernel(ctx context.Context) error {
	old := s.currentChildren()
	if err := s.stopKernel(ctx); err != nil {
		return err
	}
	<-old.kernelPeer.Done()
	<-old.kernelExitReported
	return s.startNewKernel(ctx)
}

func (s *Session) startNewKernel(ctx context.Context) error {
	if err := s.startKernel(ctx); err != nil {
		return err
	}
	if err := s.connectKernel(); err != nil {
		return errors.Join(err, s.stopKernel(ctx))
	}
	s.router.ResendHello()
	return nil
}

func (s *Session) startNewAgent(ctx context.Context) error {
	if err := s.startAgent(ctx); err != nil {
		return err
	}
	if err := s.connectAgent(ctx); err != nil {
		return errors.Join(err, s.StopAgent(ctx))
	}
	return nil
}

// The types of the trace's entries about a kernel in which something runs on
// although it was told to stop; see [KernelFailure].
const (
	TypeKernelStuck = "kernel_stuck" // it is killed, and another is to take its place
	TypeKernelLost  = "kernel_lost"  // which could not be started: there is none
)

// KernelFailure is such an entry.
type KernelFailure struct {
	Type  string `json:"type"`
	Error string `json:"error"` // what would not stop, or why there is no kernel
}

// onKernelStuck lets a kernel in which something would not stop be killed, and has
// another take its place. What is left of a session that ends is not worth it.
func (s *Session) onKernelStuck(ctx context.Context, what string) bool {
	if state := s.State(); state != StateReady && state != StateWorking {
		return false
	}
	s.recordEvent(TypeKernelStuck, KernelFailure{Type: TypeKernelStuck, Error: what})
	s.log.Warn("the kernel is killed, and another takes its place", "reason", what)
	stuck := s.currentChildren().kernel
	s.tasks.Go(func() { s.replaceStuckKernel(ctx, stuck) }) // the task that waits for this kernel's end runs yet
	return true
}

// replaceStuckKernel starts another kernel in the place of one that is stuck, when that
// has said its last word and is dead, unless a console has had that done meanwhile.
func (s *Session) replaceStuckKernel(ctx context.Context, stuck *kernel.Kernel) {
	<-stuck.Exited()
	s.restartMu.Lock()
	defer s.restartMu.Unlock()
	if s.State() == StateEnded || s.currentChildren().kernel != stuck {
		return
	}
	if err := s.restartKernel(ctx); err != nil && ctx.Err() == nil {
		s.recordEvent(TypeKernelLost, KernelFailure{Type: TypeKernelLost, Error: err.Error()})
		s.router.SendToRunConsoles(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: "there is no kernel: " + err.Error()}})
	}
}
