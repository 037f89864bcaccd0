package subprocess

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/internal/sandbox"
)

// firstExtra is the number that ExtraFiles[0] has in a child.
const firstExtra = 3

// Start starts a child and returns at once; see [Process.AwaitReady].
func (s *Supervisor) Start(spec Spec) (*Process, error) {
	p, err := s.launch(spec)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	s.tell("group", p.PID())
	go p.out.run()
	go p.wait()
	return p, nil
}

func (s *Supervisor) launch(spec Spec) (*Process, error) {
	line, err := s.newLine(spec.ConnectsBack)
	if err != nil {
		return nil, err
	}
	out, pipes, err := newOutput(spec.Output)
	if err != nil {
		return nil, errors.Join(err, line.Close())
	}
	defer pipes.Close()
	p := &Process{
		Conn: protocol.NewStream(line.ours, spec.MaxFrameBytes), socket: line.ours,
		name: spec.Name, log: s.log, out: out, supervisor: s,
		exited: make(chan struct{}),
	}
	if err := p.spawn(spec, line, pipes); err != nil {
		return nil, errors.Join(err, line.Close(), out.close())
	}
	p.limit(spec.MaxProcesses)
	return p, line.closeTheirs()
}

// limit puts the process under a limit of processes, where there can be one. A
// kernel does nothing yet. A program that is executed may have started others in
// the milliseconds since, which do not count.
func (p *Process) limit(processes int) {
	if processes <= 0 {
		return
	}
	pids, err := sandbox.NewPidsLimit(processes, p.cgroup)
	if err != nil {
		return // fence.Machine.Enforced has said so
	}
	p.pids = pids
	p.supervisor.tell("dir", pids.Dir())
	if err := pids.AddProcess(p.PID()); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.log.Warn("the number of processes is not limited", "child", p.name, "error", err)
	}
}

// line is the way between a child and us: our end, and the child's, which is
// an open file or a path to connect to.
type line struct {
	ours   io.ReadWriteCloser
	theirs *os.File // nil: the child connects to path
	path   string
}

func (s *Supervisor) newLine(listen bool) (line, error) {
	if listen {
		awaited, err := s.await()
		if err != nil {
			return line{}, err
		}
		return line{ours: awaited, path: awaited.path()}, nil
	}
	ours, theirs, err := socketpair()
	return line{ours: ours, theirs: theirs}, err
}

func (l line) closeTheirs() error {
	if l.theirs == nil {
		return nil
	}
	return l.theirs.Close()
}

// Close gives up both ends.
func (l line) Close() error { return errors.Join(l.ours.Close(), l.closeTheirs()) }

// Forker starts processes in another way than by executing a command: another
// child of ours forks them.
type Forker interface {
	// Spawn starts a process that has these files as its socket, stdout and
	// stderr, and leads a process group. The process runs nothing of the user's
	// before it is asked to over the socket.
	Spawn(socket, stdout, stderr *os.File) (pid int, err error)

	// Reap lets go of a process that has ended, and of its number, and tells
	// how it ended.
	Reap(pid int) (syscall.WaitStatus, error)
}

// body is the process behind a [Process].
type body interface {
	pid() int

	// reap lets go of the process, which has ended, and tells how.
	reap() Exit
}

type executed struct{ cmd *exec.Cmd }

func (e executed) pid() int { return e.cmd.Process.Pid }

func (e executed) reap() Exit {
	_ = e.cmd.Wait() // how it ended is in ProcessState
	status, ok := e.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return Exit{Code: -1, Lost: true}
	}
	return newExit(status)
}

type forked struct {
	number int
	origin Forker
}

func (f forked) pid() int { return f.number }

func (f forked) reap() Exit {
	status, err := f.origin.Reap(f.number)
	if err != nil {
		return Exit{Code: -1, Lost: true}
	}
	return newExit(status)
}

// spawn starts the process, in a cgroup of its own where that is possible.
func (p *Process) spawn(spec Spec, line line, pipes pipes) error {
	groups := p.supervisor.cgroups
	if !groups.usable() {
		return p.begin(spec, line, pipes, nil)
	}
	folder, err := groups.add()
	if err == nil {
		defer folder.Close()
		if p.begin(spec, line, pipes, folder) == nil {
			p.cgroup = folder.Name()
			return nil
		}
		if err := removeCgroup(folder.Name()); err != nil {
			p.log.Warn("an empty cgroup stays behind", "error", err)
		}
	}
	// Either the command cannot be started at all, or a container forbids
	// clone3, or the cgroup takes no processes: the second try tells.
	if err := p.begin(spec, line, pipes, nil); err != nil {
		return err
	}
	if !groups.off.Swap(true) {
		p.log.Info("children cannot start in a cgroup: a process that leaves its group outlives its session")
	}
	return nil
}

// begin starts the process, in the cgroup if there is one.
func (p *Process) begin(spec Spec, line line, pipes pipes, cgroup *os.File) error {
	if spec.Forker == nil {
		return p.exec(spec, line, pipes, cgroup)
	}
	pid, err := spec.Forker.Spawn(line.theirs, pipes.stdout, pipes.stderr)
	if err != nil {
		return err
	}
	p.body = forked{number: pid, origin: spec.Forker}
	if cgroup == nil {
		return nil
	}
	if err := enterCgroup(cgroup.Name(), pid); err != nil {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		p.body.reap()
		return err
	}
	return nil
}

func (p *Process) exec(spec Spec, line line, pipes pipes, cgroup *os.File) error {
	argv := append([]string{}, spec.Argv...)
	if line.theirs == nil {
		argv = append(argv, line.path)
	} else {
		argv = append(argv, strconv.Itoa(firstExtra))
	}
	attr := &syscall.SysProcAttr{Setpgid: true}
	if spec.Sandbox != nil {
		var err error
		if argv, err = spec.Sandbox.LauncherCommand(p.supervisor.door, argv); err != nil {
			return err
		}
		spec.Sandbox.SetProcAttr(attr)
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is stopped in steps, see Stop
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = pipes.stdout, pipes.stderr
	if line.theirs != nil {
		cmd.ExtraFiles = []*os.File{line.theirs}
	}
	cmd.SysProcAttr = attr
	if cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(cgroup.Fd())
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.body = executed{cmd}
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
