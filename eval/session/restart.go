package session

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/protocol"
	"assay/kernel"
)

// RestartChild stops the child "kernel" or "agent", if it is still alive, and starts a new one.
// A new kernel has no variables, and every console gets a new hello; a new agent is sent init
// and remembers nothing. It returns when the new child is ready. It fails in an evaluation,
// after the end of the session, and if the child cannot be stopped or started; after a failed
// start there is no such child.
func (s *Session) RestartChild(ctx context.Context, name string) error {
	if s.cfg.IsEvaluation {
		return errors.New("a case is attached: the end of its kernel or agent ends the attempt")
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
		if err := s.stopAndDetachAgent(ctx); err != nil {
			return err
		}
		return s.startNewAgent(ctx)
	default:
		return fmt.Errorf("name: want kernel or agent, not %q", name)
	}
}

// restartKernel stops the kernel, waits until its exit is reported, and starts a new one. It
// fails if the old kernel cannot be stopped or the new one cannot be started. The caller holds
// restartMu.
func (s *Session) restartKernel(ctx context.Context) error {
	old := s.currentChildren()
	if err := s.stopKernel(ctx); err != nil {
		return err
	}
	<-old.kernelPeer.Done()
	<-old.kernelExitReported
	return s.startNewKernel(ctx)
}

// startNewKernel starts a kernel, connects it to the router and sends every console a new
// hello. It fails if the kernel cannot be started or connected; then there is none. The old kernel
// must have ended, and the caller holds restartMu.
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

// startNewAgent starts an agent and connects it to the router. It fails if the agent cannot be
// started or does not become ready; then there is none. The old agent must have ended, and the
// caller holds restartMu.
func (s *Session) startNewAgent(ctx context.Context) error {
	if err := s.startAgent(ctx); err != nil {
		return err
	}
	if err := s.connectAgent(ctx); err != nil {
		return errors.Join(err, s.stopAndDetachAgent(ctx))
	}
	return nil
}

// stopAndDetachAgent stops the agent and waits until the router has dropped its connection: before
// that the router would accept a query for it, and the query would be lost. It fails if the agent
// cannot be stopped.
func (s *Session) stopAndDetachAgent(ctx context.Context) error {
	if err := s.StopAgent(ctx); err != nil {
		return err
	}
	<-s.currentChildren().agentPeer.Done()
	return nil
}

// The types of the trace entries about a kernel whose code did not stop on request;
// see [KernelFailure].
const (
	TypeKernelStuck = "kernel_stuck" // the kernel is killed, and a new one is about to start
	TypeKernelLost  = "kernel_lost"  // the new kernel could not be started: there is none
)

// KernelFailure is the JSON body of a trace entry of type [TypeKernelStuck] or
// [TypeKernelLost].
type KernelFailure struct {
	Type  string `json:"type"`
	Error string `json:"error"` // what did not stop, or why the new kernel could not be started
}

// onKernelStuck is called when the kernel's code has not stopped although it was interrupted
// repeatedly; what is a sentence that names the code and says how long. It returns true if the
// caller must kill the kernel, and then starts the goroutine that replaces it. It returns false
// in any state but ready and working, because no new kernel is needed then.
func (s *Session) onKernelStuck(ctx context.Context, what string) (kill bool) {
	if state := s.State(); state != StateReady && state != StateWorking {
		return false
	}
	s.recordEvent(TypeKernelStuck, KernelFailure{Type: TypeKernelStuck, Error: what})
	s.log.Warn("the kernel is killed and replaced", "reason", what)
	stuck := s.currentChildren().kernel
	s.goroutines.Go(func() { s.replaceStuckKernel(ctx, stuck) }) // goroutines.Wait cannot have returned: the goroutine that reports this kernel's exit still runs
	return true
}

// replaceStuckKernel waits until the stuck kernel has exited and starts a new one, unless a
// console has restarted the kernel meanwhile. If that fails, the trace and the consoles at /run
// get the error.
func (s *Session) replaceStuckKernel(ctx context.Context, stuck *kernel.Kernel) {
	<-stuck.Exited()
	s.restartMu.Lock()
	defer s.restartMu.Unlock()
	if s.State() == StateEnded || s.currentChildren().kernel != stuck {
		return
	}
	if err := s.restartKernel(ctx); err != nil && ctx.Err() == nil {
		s.recordEvent(TypeKernelLost, KernelFailure{Type: TypeKernelLost, Error: err.Error()})
		s.router.SendToRunConsoles(protocol.ErrorResponse{Type: protocol.TypeError, Data: protocol.ErrorResponseData{Message: "there is no kernel: " + err.Error()}})
	}
}
