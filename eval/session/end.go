package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

// stopTimeout is how long stopping one child process may take: the grace between SIGTERM and
// SIGKILL, and 1 s for the system to reap the process.
const stopTimeout = subprocess.StopGrace + time.Second

// StopAgent stops the agent and every process that it started; the rest of the session goes on.
// It does nothing if there is no agent. An error says that a process may be left.
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

// KillChildren kills kernel and agent, with every process that they started, so that they send nothing
// more. It does nothing for those that there are not.
func (s *Session) KillChildren() {
	if kernel := s.currentChildren().kernel; kernel != nil {
		kernel.Kill()
	}
	atOnce, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.StopAgent(atOnce); err != nil {
		s.log.Warn("the agent could not be killed", "error", err)
	}
}

// KillKernel kills the kernel with every process that it started, and waits until all are gone. It does
// nothing if there is no kernel. An error says that a process may be left.
func (s *Session) KillKernel() error {
	atOnce, cancel := context.WithCancel(context.Background())
	cancel()
	return s.stopKernel(atOnce)
}

// OpenWorkdir gives the server the right to read and to move the working folder, which code in the kernel
// may have taken away. It fails if the folder does not exist.
func (s *Session) OpenWorkdir() error { return os.Chmod(s.workdir, 0o700) } //nolint:gosec // it is a folder

// HideWorkdir moves the working folder to a place that nobody can guess, until show is called. Nothing that
// uses it may run meanwhile. It fails if the folder cannot be moved.
func (s *Session) HideWorkdir() (show func() error, err error) {
	dir, err := s.supervisor.MkdirTemp(s.cfg.WorkdirRoot, "hidden-")
	if err != nil {
		return nil, fmt.Errorf("hide the working folder: %w", err)
	}
	hidden := filepath.Join(dir, rand.Text())
	err = s.OpenWorkdir()
	if err == nil {
		err = os.Rename(s.workdir, hidden)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hide the working folder: %w", err), s.supervisor.RemoveAll(dir))
	}
	return func() error {
		err := os.Rename(hidden, s.workdir)
		return errors.Join(err, s.supervisor.RemoveAll(dir))
	}, nil
}

// FreezeKernel keeps the kernel and everything that it has started from running until thaw is called.
// It does nothing if there is no kernel.
func (s *Session) FreezeKernel() (thaw func()) {
	if kernel := s.currentChildren().kernel; kernel != nil {
		return kernel.Freeze()
	}
	return func() {}
}

// HasKernelUsedMemoryShare reports whether the kernel has used at least its share of the memory that there is for all
// kernels and agents. It returns false if there is no kernel, or that is not known.
func (s *Session) HasKernelUsedMemoryShare() bool {
	kernel := s.currentChildren().kernel
	return kernel != nil && kernel.HasUsedMemoryShare()
}

// stopKernel stops the kernel and every process that it started, in at most stopTimeout. It
// does nothing if there is no kernel. An error says that a process may be left.
func (s *Session) stopKernel(ctx context.Context) error {
	kernel := s.currentChildren().kernel
	if kernel == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return kernel.Stop(ctx)
}

// End ends the session: it stops agent and kernel with every process that they started, reports
// their exits, closes all connections with cause as the reason, and removes the working folder.
// If ctx has ended, processes are killed without grace. Only the first call does that; every
// call waits for it and returns its result. An error says what may be left.
func (s *Session) End(ctx context.Context, cause string) error {
	s.endOnce.Do(func() { s.endErr = s.shutDown(ctx, cause) })
	return s.endErr
}

// shutDown does the work of End and returns its error, which says what may be left. It is
// called once.
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
