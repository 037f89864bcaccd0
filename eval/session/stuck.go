package session

import (
	"context"

	"assay/internal/protocol"
	"assay/kernel"
)

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

// killsStuck lets a kernel in which something would not stop be killed, and has
// another take its place. What is left of a session that ends is not worth it.
func (s *Session) killsStuck(ctx context.Context, what string) bool {
	if state := s.State(); state != StateReady && state != StateWorking {
		return false
	}
	s.note(TypeKernelStuck, KernelFailure{Type: TypeKernelStuck, Error: what})
	s.log.Warn("the kernel is killed, and another takes its place", "reason", what)
	stuck := s.children().kernel
	s.tasks.Go(func() { s.replaceKernel(ctx, stuck) }) // the task that waits for this kernel's end runs yet
	return true
}

// replaceKernel starts another kernel in the place of one that is stuck, when that
// has said its last word and is dead, unless a console has had that done meanwhile.
func (s *Session) replaceKernel(ctx context.Context, stuck *kernel.Kernel) {
	<-stuck.Exited()
	s.restarting.Lock()
	defer s.restarting.Unlock()
	if s.State() == StateEnded || s.children().kernel != stuck {
		return
	}
	if err := s.restartKernel(ctx); err != nil && ctx.Err() == nil {
		s.note(TypeKernelLost, KernelFailure{Type: TypeKernelLost, Error: err.Error()})
		s.router.Tell(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: "there is no kernel: " + err.Error()}})
	}
}
