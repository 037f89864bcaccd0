package subprocess

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"assay/internal/peers"
	"assay/internal/sandbox"
)

// handover is the socketpair over which the launcher of a sandbox sends a listener to the server; see
// [sandbox.Listener]. It is zero if the sandbox has none.
type handover struct {
	serverEnd   *net.UnixConn
	launcherEnd *os.File
}

func newHandover(spec Spec) (h handover, err error) {
	switch {
	case spec.Sandbox == nil || spec.Sandbox.Listener == nil:
		return handover{}, nil
	case spec.Forker != nil:
		return handover{}, errors.New("only the launcher of a command can hand over a listener, not a forked process")
	}
	h.serverEnd, h.launcherEnd, err = socketpair()
	return h, err
}

// closeServerEnd closes the server's end of the socketpair. It may be called more than once.
func (h handover) closeServerEnd() error {
	if h.serverEnd == nil {
		return nil
	}
	if err := h.serverEnd.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Close closes both ends of the socketpair.
func (h handover) Close() error {
	if h.launcherEnd == nil {
		return nil
	}
	return errors.Join(h.closeServerEnd(), h.launcherEnd.Close())
}

// AwaitListener returns the listener that the launcher has opened in the private network of the process; see
// [sandbox.Listener]. The caller must close it, and may do so before or after the process has ended. Only
// processes of the sandbox can connect to it. AwaitListener fails if [Spec.Sandbox] has no listener, if the process exits before the
// listener is there, and if that takes longer than timeout or ctx ends. It can be called once. After a failure the
// process must still be stopped.
func (p *Process) AwaitListener(ctx context.Context, timeout time.Duration) (net.Listener, error) {
	if p.handover.serverEnd == nil {
		return nil, fmt.Errorf("the sandbox of the %s opens no listener", p.name)
	}
	defer func() { _ = p.handover.closeServerEnd() }()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the sandbox of the %s did not hand over its listener within %v", p.name, timeout))
	defer cancel()
	// Closing the socket is the only way to end the wait early.
	defer context.AfterFunc(ctx, func() { _ = p.handover.closeServerEnd() })()
	listener, err := sandbox.ReceiveListener(p.handover.serverEnd)
	switch {
	case err == nil:
		return listener, nil
	case ctx.Err() != nil:
		return nil, withLastOutput(context.Cause(ctx), p.LastOutput())
	default:
		return nil, p.explainError(fmt.Errorf("the sandbox did not hand over its listener: %v", err)) // without %w, since io.EOF would be taken for the end of another socket
	}
}

// GuardListener returns a listener in front of ln, a listener of the server, whose connections can be read only if
// this process or one that it has started has made them. Other connections are closed, and reported as what; see
// [Supervisor.ReportForbidden]. Once the process has ended, all are closed. A process is recognised as [peers.Peer.IsWithin] says.
func (p *Process) GuardListener(ln net.Listener, what string) net.Listener {
	refuse := func(peer peers.Peer, why error) {
		if peer == (peers.Peer{}) {
			p.supervisor.log.Warn("refused", "tried", what, "error", why)
			return
		}
		p.supervisor.ReportForbidden(peer, what)
	}
	return p.supervisor.guard.ListenFor(ln, p.hasStarted, refuse)
}

// hasStarted reports whether a peer is this process, or one that it has started, and this process has not ended.
func (p *Process) hasStarted(peer peers.Peer) bool {
	p.mu.Lock() // while it is held, the process is not reaped, so that no other gets its id
	defer p.mu.Unlock()
	return !p.reaped && peer.IsWithin(p.cgroupDir, p.PID())
}
