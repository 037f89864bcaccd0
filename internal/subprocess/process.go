package subprocess

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/internal/sandbox"
)

const (
	// StopGrace is the time between SIGTERM and SIGKILL in [Process.Stop].
	StopGrace = 2 * time.Second

	// exitNoticeDelay is how long an error of the socket waits for the exit that may
	// have caused it, so that the caller learns how the process died. On a machine with
	// much to do, Linux may need a second to end a process whose socket it has closed.
	exitNoticeDelay = 2 * time.Second
)

// Process is a running subprocess and the [protocol.Conn] to it. Its methods may be
// called concurrently, except as stated at SendFiles. The caller must Stop it, even
// after it has exited.
type Process struct {
	protocol.Conn
	name        string // Spec.Name
	supervisor  *Supervisor
	handle      processHandle
	socket      io.ReadWriteCloser // what Conn reads and writes
	handover    handover           // see AwaitListener
	output      *outputReader
	onForbidden func(what string) // Spec.OnForbidden; may be nil

	pidNamespace *sandbox.PIDNamespace // kills all that the process has started; nil: none

	cgroupDir   string               // its cgroup (version 2); empty: none
	pidsLimit   *sandbox.CgroupLimit // nil: no cgroup limits its number of processes
	memoryLimit *sandbox.CgroupLimit // nil: no cgroup limits its memory

	memorySharers int64 // see memoryShare; guarded by the supervisor's liveMu

	mu        sync.Mutex
	reaped    bool            // from then on its process id and group may be another's
	killedAt  time.Time       // when SIGKILL was first sent to the group; zero: never
	enforced  map[string]bool // see Enforced
	namespace *mountNamespace // see trackNamespace; nil: none

	exited   chan struct{} // closed when exit is set and the group is dead
	exit     ExitState
	stopOnce sync.Once
	stopErr  error
}

// PID returns the process id, which is also the id of its process group.
func (p *Process) PID() int { return p.handle.pid() }

// Exited returns a channel that is closed when the process has exited and its process
// group was killed.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitState returns how the process ended. Call it only after the channel of Exited is
// closed.
func (p *Process) ExitState() ExitState { return p.exit }

// DrainOutput passes everything that is in the process's stdout and stderr pipes to
// Spec.Output before it returns. It does not wait for more.
func (p *Process) DrainOutput() { p.output.drainPipes() }

// FlushOutput passes to Spec.Output what was read from the process's stdout and stderr pipes and
// is held back to make larger chunks.
func (p *Process) FlushOutput() { p.output.flushBuffers() }

// LastOutput returns the last lines that the process printed to stdout and stderr, at
// most 4 KiB.
func (p *Process) LastOutput() string { return p.output.lastLines() }

// AwaitReady reads the process's first frame, which must be a ready message, and
// returns it. It fails if the process exits, sends another message, or sends nothing
// within timeout or until ctx ends. After a failure the process must still be stopped.
func (p *Process) AwaitReady(ctx context.Context, timeout time.Duration) ([]byte, error) {
	late := fmt.Errorf("%s did not say ready within %v", p.name, timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	// Closing the connection is the only way to end a Read early.
	defer context.AfterFunc(ctx, func() { _ = p.Close(protocol.CloseNormal, "") })()
	body, err := p.Read()
	if err != nil {
		if ctx.Err() == nil {
			return nil, err
		}
		cause := context.Cause(ctx)
		if cut, ok := errors.AsType[*protocol.CutFrameError](err); ok {
			cause = fmt.Errorf("%w: it has sent %w", cause, cut)
		}
		return nil, withLastOutput(cause, p.LastOutput())
	}
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	switch {
	case err != nil:
		return nil, withLastOutput(fmt.Errorf("%s did not say ready: %w", p.name, err), p.LastOutput())
	case env.Type != protocol.TypeReady:
		return nil, fmt.Errorf("%s said %q before ready", p.name, env.Type)
	default:
		p.trackNamespace()
		return body, nil
	}
}

// trackNamespace opens the namespace that the process is in, if it is in a sandbox and has no cgroup
// by which all that it starts can be killed.
func (p *Process) trackNamespace() {
	enforced := p.Enforced()
	if _, isKnown := enforced[EnforcesNamespaceKill]; !isKnown || enforced[EnforcesCgroupKill] {
		return
	}
	namespace, err := openSeparateNamespace(p.PID())
	if err != nil {
		return // Enforced says so
	}
	p.mu.Lock()
	p.namespace = namespace
	p.mu.Unlock()
	p.supervisor.notifyCleanupHelper(noteNamespace, p.PID())
}

// Read reads the next frame from the process. If the process has ended, the error is an
// [*ExitError].
func (p *Process) Read() ([]byte, error) {
	body, err := p.Conn.Read()
	if err == nil || errors.Is(err, protocol.ErrClosed) {
		return body, err
	}
	return nil, p.explainError(err)
}

// Write sends a frame to the process. If the process has ended, the error is an
// [*ExitError].
func (p *Process) Write(body []byte) error {
	err := p.Conn.Write(body)
	if _, broken := errors.AsType[*protocol.ConnError](err); broken {
		return p.explainError(err)
	}
	return err
}

// SendFiles sends a frame to the process together with open files, which the process
// receives with the frame's first byte. It fails for a process with Spec.ConnectsBack.
// It must not be called at the same time as Write or another SendFiles.
func (p *Process) SendFiles(body []byte, files ...*os.File) error {
	socket, ok := p.socket.(*net.UnixConn)
	if !ok {
		return errors.New("send files: only a socketpair can carry them")
	}
	var fds []int
	for _, file := range files {
		fds = append(fds, int(file.Fd()))
	}
	frame := binary.LittleEndian.AppendUint64(nil, uint64(len(body)))
	frame = append(frame, body...)
	n, _, err := socket.WriteMsgUnix(frame, unix.UnixRights(fds...), nil)
	if err == nil && n < len(frame) {
		_, err = socket.Write(frame[n:])
	}
	if err != nil {
		return p.explainError(&protocol.ConnError{Operation: "write", Err: err})
	}
	return nil
}

// explainError returns the [*ExitError] that caused an error of the socket, if the
// process has exited or exits within 2 s (exitNoticeDelay); otherwise it returns err
// with more context.
func (p *Process) explainError(err error) error {
	select {
	case <-p.exited:
		return &ExitError{Name: p.name, Exit: p.exit}
	case <-time.After(exitNoticeDelay):
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s closed its socket: %w", p.name, err)
	}
	return withLastOutput(fmt.Errorf("%s: %w", p.name, err), p.LastOutput())
}

// signalGroup sends a signal to the process group, and if it is SIGKILL also to the
// PID namespace and the cgroup. It does nothing if the process was reaped.
func (p *Process) signalGroup(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.signalGroupLocked(sig)
	}
}

func (p *Process) signalGroupLocked(sig syscall.Signal) {
	_ = syscall.Kill(-p.PID(), sig)
	if sig != syscall.SIGKILL {
		return
	}
	if p.killedAt.IsZero() {
		p.killedAt = time.Now()
	}
	if p.pidNamespace != nil {
		p.pidNamespace.Kill()
	}
	if p.cgroupDir == "" {
		return
	}
	if err := killCgroup(p.cgroupDir); err != nil {
		p.enforced[EnforcesCgroupKill] = false
		p.supervisor.log.Warn("a cgroup could not be killed", "subprocess", p.name, "error", err)
	}
}

// Signal sends a signal to the process alone, not to its group. If the process was
// reaped, it returns [os.ErrProcessDone].
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.PID(), sig)
}

// Kill sends SIGKILL to the process, its group and its cgroup, and does not wait. The
// process must still be stopped.
func (p *Process) Kill() { p.signalGroup(syscall.SIGKILL) }

// Stop ends the process: it closes the socket and sends SIGTERM to the process group,
// and, after 2 s ([StopGrace]) or at once when ctx ends, SIGKILL to the group and the
// cgroup. It returns when the process is reaped, its pipes are closed and its cgroups
// are removed. Later and concurrent calls wait for the first and return its error.
func (p *Process) Stop(ctx context.Context) error {
	p.stopOnce.Do(func() { p.stopErr = p.stopAndCleanUp(ctx) })
	return p.stopErr
}

func (p *Process) stopAndCleanUp(ctx context.Context) error {
	err := errors.Join(p.Close(protocol.CloseGoingAway, ""), p.handover.closeServerEnd())
	p.signalGroup(syscall.SIGTERM)
	grace := time.NewTimer(StopGrace)
	defer grace.Stop()
	select {
	case <-p.exited:
	case <-grace.C:
	case <-ctx.Done():
	}
	p.signalGroup(syscall.SIGKILL)
	<-p.exited
	err = errors.Join(err, p.removePIDNamespace())
	p.killStrays()
	p.supervisor.removeLive(p)
	err = errors.Join(err, p.output.close())
	<-p.output.drained
	return errors.Join(err, p.removeCgroups())
}

// removePIDNamespace kills what is left in the PID namespace of the process, and waits until it has ended if that does
// not depend on init.
func (p *Process) removePIDNamespace() error {
	switch {
	case p.pidNamespace == nil:
		return nil
	case p.exit.StatusUnknown:
		return p.pidNamespace.Abandon()
	default:
		return p.pidNamespace.Remove()
	}
}

// killStrays kills what the process has started and what has left its process group, if that was not
// killed by its cgroup: what is in its namespace, and under its limits.
func (p *Process) killStrays() {
	p.mu.Lock()
	namespace, isKilled := p.namespace, p.enforced[EnforcesCgroupKill]
	p.namespace = nil
	p.mu.Unlock()
	if namespace != nil {
		if p.pidNamespace == nil || p.exit.StatusUnknown {
			namespace.kill()
		} else {
			namespace.close() // the end of the PID namespace was that of all in it
		}
		p.supervisor.notifyCleanupHelper(noteNamespaceGone, p.PID())
	}
	if isKilled {
		return
	}
	for _, limit := range p.cgroupLimits() {
		killProcessesIn(limit.Dir())
	}
}

// cgroupLimits returns the cgroups that limit what the process and all that it has started use.
func (p *Process) cgroupLimits() []*sandbox.CgroupLimit {
	return slices.DeleteFunc([]*sandbox.CgroupLimit{p.pidsLimit, p.memoryLimit}, func(l *sandbox.CgroupLimit) bool { return l == nil })
}

func (p *Process) removeCgroups() error {
	var err error
	if p.cgroupDir != "" {
		err = sandbox.RemoveCgroup(p.cgroupDir, time.Now().Add(cgroupRemoveTimeout))
	}
	for _, limit := range p.cgroupLimits() {
		err = errors.Join(err, limit.Remove())
		p.supervisor.notifyCleanupHelper(noteRemoved, limit.Dir())
	}
	return err
}
