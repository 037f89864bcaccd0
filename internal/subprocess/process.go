package subprocess

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/internal/sandbox"
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

	// Listen makes the child connect to us instead, for a program that cannot
	// adopt a descriptor: the path of a Unix socket in a private folder is
	// appended to Argv, and one connection is accepted there.
	ConnectsBack bool

	// Origin, if set, starts the process instead of Argv, Env, Dir and Fence.
	Forker Forker

	// Fence, if set, confines the process before it executes Argv.
	Sandbox *sandbox.Plan

	// Processes is how many it and what it starts may be, threads counted, where
	// there is a cgroup for that; 0: no limit.
	MaxProcesses int

	// MaxFrameBytes is the largest frame in bytes; 0 is the protocol's default.
	MaxFrameBytes int64

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
	name   string
	body   body
	socket io.ReadWriteCloser // below Conn
	log    *slog.Logger
	out    *output

	supervisor *Supervisor
	cgroup     string             // folder, empty: none
	pids       *sandbox.PidsLimit // nil: the number of processes is not limited

	mu     sync.Mutex
	reaped bool // the group's number is no longer ours

	exited   chan struct{} // closed when exit is set and its group is dead
	exit     Exit
	stopOnce sync.Once
	stopErr  error
}

// PID is the child's process id, and the id of its process group.
func (p *Process) PID() int { return p.body.pid() }

// Exited is closed when the child has ended and its group was killed.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit tells how the child ended; call it after Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// DrainOutput hands to Output, before it returns, all that the child has written so
// far and that still lies in its pipes. It never waits for more.
func (p *Process) DrainOutput() { p.out.drain() }

// LastOutput returns the last lines that the child has printed.
func (p *Process) LastOutput() string { return p.out.tail() }

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
			return nil, withTail(context.Cause(ctx), p.LastOutput())
		}
		return nil, err
	}
	env, err := protocol.NewDecoder().Envelope(body)
	switch {
	case err != nil:
		return nil, withTail(fmt.Errorf("%s did not say ready: %w", p.name, err), p.LastOutput())
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

// SendFiles sends a frame together with open files, which the child receives with
// the frame's first byte. Not while anybody writes, and not to one that Listens.
func (p *Process) SendFiles(body []byte, files ...*os.File) error {
	socket, ok := p.socket.(*net.UnixConn)
	if !ok {
		return errors.New("send files: only over a socketpair")
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
		return p.cause(&protocol.ChannelError{Doing: "write", Err: err})
	}
	return nil
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
	return withTail(fmt.Errorf("%s: %w", p.name, err), p.LastOutput())
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
	p.exit = p.body.reap()
	p.reaped = true // from here on the group's number may be another's
	p.mu.Unlock()
	p.supervisor.tell("gone", p.PID())
	if late, ok := p.socket.(*awaited); ok {
		_ = late.giveUp() // it is not coming any more
	}
	p.out.finish()
	p.exit.LastOutput = p.out.tail()
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

// Signal sends a signal to the child alone. One that has ended does not get it.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.PID(), sig)
}

// Kill ends the child and its group at once. It is still to be stopped.
func (p *Process) Kill() { p.kill(syscall.SIGKILL) }

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
	if p.pids != nil {
		err = errors.Join(err, p.pids.Remove())
		p.supervisor.tell("nodir", p.pids.Dir())
	}
	return err
}
