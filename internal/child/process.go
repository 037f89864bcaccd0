package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

const (
	// StopGrace is the time between SIGTERM and SIGKILL.
	StopGrace = 2 * time.Second

	// exitNotice is how long the end of a socket waits to become the end of the
	// process, so that a request that waits is told how the child died.
	exitNotice = 250 * time.Millisecond

	// socketBuffer is what each direction of a child's socket holds, in bytes.
	socketBuffer = 1 << 20
)

// Spec says what to start.
type Spec struct {
	Name string   // "kernel" or "agent": in logs and errors
	Argv []string // the command; the number of the socket's fd is appended
	Env  []string // the whole environment
	Dir  string   // the working folder

	// FrameLimit is the largest frame in bytes; 0 is the protocol's default.
	FrameLimit int64

	// Output, if set, gets what the child writes to its stdout and stderr, in
	// order within each, at most one chunk per 10 ms or 64 KiB of a stream, and
	// never two at once. The chunk is only good during the call. While it
	// blocks, the child's pipes fill up.
	Output func(stream string, chunk []byte)
}

// Process is a running child, and the [protocol.Conn] to it. Its Read returns
// an [*ExitError] when the child has died. Whoever started it must Stop it,
// also when it has died by itself.
type Process struct {
	protocol.Conn
	name string
	cmd  *exec.Cmd
	log  *slog.Logger
	out  *output

	supervisor *Supervisor
	cgroup     string // folder, empty: none

	mu     sync.Mutex
	reaped bool // the group's number is no longer ours

	exited   chan struct{} // closed when exit is set and its group is dead
	exit     Exit
	stopOnce sync.Once
	stopErr  error
}

// Start starts a child and returns at once; see [Process.AwaitReady].
func (s *Supervisor) Start(spec Spec) (*Process, error) {
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	defer theirs.Close()
	out, pipes, err := newOutput(spec.Output)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec.Name, err), ours.Close())
	}
	defer pipes.Close()
	p := &Process{
		Conn: protocol.NewStream(ours, spec.FrameLimit),
		name: spec.Name, log: s.log, out: out, supervisor: s,
		exited: make(chan struct{}),
	}
	if err := p.spawn(spec, theirs, pipes); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec.Name, err), ours.Close(), out.close())
	}
	s.tell("group", p.PID())
	go out.run()
	go p.wait()
	return p, nil
}

// spawn starts the command, in a cgroup of its own where that is possible.
func (p *Process) spawn(spec Spec, socket *os.File, pipes pipes) error {
	groups := p.supervisor.cgroups
	if !groups.usable() {
		return p.exec(spec, socket, pipes, nil)
	}
	folder, err := groups.add()
	if err == nil {
		defer folder.Close()
		if p.exec(spec, socket, pipes, folder) == nil {
			p.cgroup = folder.Name()
			return nil
		}
		if err := removeCgroup(folder.Name()); err != nil {
			p.log.Warn("an empty cgroup stays behind", "error", err)
		}
	}
	// Either the command cannot be started at all, or a container forbids
	// clone3, or the cgroup takes no processes: the second try tells.
	if err := p.exec(spec, socket, pipes, nil); err != nil {
		return err
	}
	if !groups.off.Swap(true) {
		p.log.Info("children cannot start in a cgroup: a process that leaves its group outlives its session")
	}
	return nil
}

func (p *Process) exec(spec Spec, socket *os.File, pipes pipes, cgroup *os.File) error {
	const firstExtra = 3 // the number that ExtraFiles[0] gets in the child
	argv := append(append([]string{}, spec.Argv...), strconv.Itoa(firstExtra))
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is stopped in steps, see Stop
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = pipes.stdout, pipes.stderr
	cmd.ExtraFiles = []*os.File{socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(cgroup.Fd())
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	return nil
}

func socketpair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socketpair: %w", err)
	}
	for _, fd := range fds {
		// Best effort: the system's default only means more wake-ups.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "child"), os.NewFile(uintptr(fds[1]), "server")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("adopt a socket: %w", err), theirs.Close())
	}
	return conn, theirs, nil
}

// PID is the child's process id, and the id of its process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the child has ended and its group was killed.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit tells how the child ended; call it after Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// Drain hands to Output, before it returns, all that the child has written so
// far and that still lies in its pipes. It never waits for more.
func (p *Process) Drain() { p.out.drain() }

// Tail returns the last lines that the child has printed.
func (p *Process) Tail() string { return p.out.tail() }

// AwaitReady reads the child's first frame, which must be a ready, and returns
// it. It fails when the child exits first, says something else, or says nothing
// within the given time; the child is then still to be stopped.
func (p *Process) AwaitReady(ctx context.Context, within time.Duration) ([]byte, error) {
	late := fmt.Errorf("%s did not say ready within %v", p.name, within)
	ctx, cancel := context.WithTimeoutCause(ctx, within, late)
	defer cancel()
	// A Read ends early only when its connection does.
	defer context.AfterFunc(ctx, func() { _ = p.Close(protocol.CloseNormal, "") })()
	body, err := p.Read()
	if err != nil {
		if ctx.Err() != nil {
			return nil, withTail(context.Cause(ctx), p.Tail())
		}
		return nil, err
	}
	env, err := protocol.NewDecoder().Envelope(body)
	switch {
	case err != nil:
		return nil, withTail(fmt.Errorf("%s did not say ready: %w", p.name, err), p.Tail())
	case env.Type != protocol.TypeReady:
		return nil, fmt.Errorf("%s said %q before ready", p.name, env.Type)
	default:
		return body, nil
	}
}

// Read reads the next frame. Where the socket ends because the child has died,
// the error is an [*ExitError].
func (p *Process) Read() ([]byte, error) {
	body, err := p.Conn.Read()
	if err == nil || errors.Is(err, protocol.ErrClosed) {
		return body, err
	}
	return nil, p.cause(err)
}

// Write sends a frame. Where that fails because the child has died, the error is
// an [*ExitError].
func (p *Process) Write(body []byte) error {
	err := p.Conn.Write(body)
	if _, broken := errors.AsType[*protocol.ChannelError](err); broken {
		return p.cause(err)
	}
	return err
}

// cause waits for the death that may be behind an error of the socket.
func (p *Process) cause(err error) error {
	select {
	case <-p.exited:
		return &ExitError{Name: p.name, Exit: p.exit}
	case <-time.After(exitNotice):
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s closed its socket: %w", p.name, err)
	}
	return withTail(fmt.Errorf("%s: %w", p.name, err), p.Tail())
}

// wait notices the child's end, kills what it left in its group and cgroup, and
// only then reaps it, so that the group's number cannot be anybody else's.
func (p *Process) wait() {
	defer close(p.exited)
	awaitEnd(p.PID())
	for {
		err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	p.killLocked(syscall.SIGKILL)
	_ = p.cmd.Wait() // how it ended is in ProcessState
	p.reaped = true  // from here on the group's number may be another's
	p.mu.Unlock()
	p.supervisor.tell("gone", p.PID())
	p.out.finish()
	p.exit = newExit(p.cmd.ProcessState, p.out.tail())
	p.log.Debug("child ended", "child", p.name, "pid", p.PID(), "exit", p.exit.String())
}

// awaitEnd waits for the end of our child pid without a thread of the system: there
// may be thousands. Where that cannot be done it returns at once.
func awaitEnd(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	// The runtime's poller waits while the function says that it is not there yet.
	_ = raw.Read(func(fd uintptr) bool {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
		n, err := unix.Poll(polled, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
}

// kill signals the child's whole group, and, to kill, its cgroup. It does
// nothing when the child has been reaped.
func (p *Process) kill(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.killLocked(sig)
	}
}

func (p *Process) killLocked(sig syscall.Signal) {
	_ = syscall.Kill(-p.PID(), sig)
	if sig == syscall.SIGKILL && p.cgroup != "" {
		if err := killCgroup(p.cgroup); err != nil {
			p.log.Warn("a cgroup could not be killed", "child", p.name, "error", err)
		}
	}
}

// Stop ends the child in steps: its socket is closed, then SIGTERM to its
// group, and after [StopGrace], or at once when ctx is done, SIGKILL. It returns
// when the child is reaped and nothing of it is left. It may be called more
// than once and at once, and after the child has died.
func (p *Process) Stop(ctx context.Context) error {
	p.stopOnce.Do(func() { p.stopErr = p.stop(ctx) })
	return p.stopErr
}

func (p *Process) stop(ctx context.Context) error {
	err := p.Close(protocol.CloseGoing, "")
	p.kill(syscall.SIGTERM)
	grace := time.NewTimer(StopGrace)
	defer grace.Stop()
	select {
	case <-p.exited:
	case <-grace.C:
	case <-ctx.Done():
	}
	p.kill(syscall.SIGKILL)
	<-p.exited
	err = errors.Join(err, p.out.close())
	<-p.out.drained
	if p.cgroup != "" {
		err = errors.Join(err, removeCgroup(p.cgroup))
	}
	return err
}
