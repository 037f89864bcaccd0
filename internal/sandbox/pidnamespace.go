package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// launchTimeout is how long a launcher may take to start a program. It takes milliseconds.
	launchTimeout = 30 * time.Second

	// namespaceCommandTimeout is how long the first process of a PID namespace may take to send signals. It takes
	// microseconds.
	namespaceCommandTimeout = 2 * time.Second
)

// PIDNamespace is the PID namespace of one sandbox: whatever its program starts is in it and cannot leave it. It ends,
// and Linux kills all its processes at once, when it is killed or when this process ends, however that happens. The
// caller must Remove it.
type PIDNamespace struct {
	ProcessID int // of the program, a child of this process unless it was forked; 0: none was started

	first      int      // id of the namespace's first process; 0: none
	firstFD    int      // its pidfd; -1: none, because descriptors have run out or a filter forbids it
	control    *os.File // a socket; the first process has the other end, and ends when this one is closed
	unanswered int      // commands that the first process has not answered yet
	reap       func()   // waits for the first process
}

// Start starts cmd in the sandbox by the launcher, which is a command that calls [Exec]. It returns the PID namespace
// of the program, or nil if the plan has none or the launcher fails: the process of cmd is then the program, or the
// launcher that exits with an error. Otherwise that process ends when the program has started, and both must be waited
// for.
func (p Plan) Start(cmd *exec.Cmd, launcher []string) (*PIDNamespace, error) {
	return p.startWithin(launchTimeout, cmd, launcher)
}

// startWithin does the work of Start; timeout is launchTimeout.
func (p Plan) startWithin(timeout time.Duration, cmd *exec.Cmd, launcher []string) (*PIDNamespace, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.SetProcAttr(cmd.SysProcAttr)
	if !p.PIDNamespace {
		return nil, p.startLauncher(cmd, launcher)
	}
	control, inner, err := NewPIDControl()
	if err != nil {
		return nil, err
	}
	defer inner.Close()
	report, launcherReport, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, control.Close())
	}
	defer report.Close()
	defer launcherReport.Close()
	p.PIDControl = firstExtraFD + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, inner, launcherReport)
	if err := p.startLauncher(cmd, launcher); err != nil {
		return nil, errors.Join(err, control.Close())
	}
	_ = launcherReport.Close()
	program, first, err := readReport(report, timeout)
	n := OpenPIDNamespace(control, program, first, func() { _, _ = WaitForChild(first) })
	if err == nil {
		return n, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = cmd.Process.Kill()
		n.Kill()
		if program > 0 { // the namespace cannot end before
			_, _ = WaitForChild(program)
		}
		err = errors.Join(fmt.Errorf("the sandbox was not there after %v", timeout), cmd.Wait())
	} else {
		err = nil // the launcher ends, and says why
	}
	return nil, errors.Join(err, n.Remove())
}

// firstExtraFD is the number of the file descriptor that exec.Cmd.ExtraFiles[0] has in a process.
const firstExtraFD = 3

// startLauncher starts cmd by the launcher.
func (p Plan) startLauncher(cmd *exec.Cmd, launcher []string) error {
	argv, err := p.LauncherCommand(launcher, cmd.Args)
	if err != nil {
		return err
	}
	cmd.Args, cmd.Err = argv, nil
	if cmd.Path, err = exec.LookPath(argv[0]); err != nil {
		return err
	}
	return cmd.Start()
}

// readReport reads the ids of processes that the launcher reports, until it has ended; 0: none. It fails if the launcher
// does, or takes longer than timeout.
func readReport(report *os.File, timeout time.Duration) (program, first int, err error) {
	if err := report.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return 0, 0, err
	}
	ids := make([]byte, 8)
	if _, err := io.ReadFull(report, ids[:4]); err != nil {
		return 0, 0, err
	}
	first = int(binary.NativeEndian.Uint32(ids))
	if _, err := io.ReadFull(report, ids[4:]); err != nil {
		return 0, first, err
	}
	program = int(binary.NativeEndian.Uint32(ids[4:]))
	if _, err := report.Read(ids); !errors.Is(err, io.EOF) { // the program then is executed
		return program, first, err
	}
	return program, first, nil
}

// NewPIDControl returns the two ends of the control socket of a PID namespace: that of the server and that of the
// namespace's first process.
func NewPIDControl() (control, inner *os.File, err error) {
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a control socket: %w", err)
	}
	if err := unix.SetNonblock(sockets[0], true); err != nil { // so that it can have deadlines
		return nil, nil, errors.Join(err, unix.Close(sockets[0]), unix.Close(sockets[1]))
	}
	return os.NewFile(uintptr(sockets[0]), "control"), os.NewFile(uintptr(sockets[1]), "control"), nil
}

// OpenPIDNamespace returns the namespace with this program and first process (0: there is none), which has the other end
// of control. reap waits until the first process has ended; until it is called, no other process may get its id.
func OpenPIDNamespace(control *os.File, program, first int, reap func()) *PIDNamespace {
	n := &PIDNamespace{ProcessID: program, first: first, firstFD: -1, control: control, reap: reap}
	if first == 0 {
		return n
	}
	if fd, err := unix.PidfdOpen(first, 0); err == nil {
		n.firstFD = fd
	}
	return n
}

// WaitForChild waits for a child of this process to end, frees its id, and returns its status.
func WaitForChild(pid int) (status syscall.WaitStatus, err error) {
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			return status, err
		}
	}
}

// Kill kills all processes of the namespace, and does not wait. It must not be called once Remove or Abandon is.
func (n *PIDNamespace) Kill() {
	if n.firstFD < 0 {
		_ = n.control.Close()
		return
	}
	_ = unix.PidfdSendSignal(n.firstFD, unix.SIGKILL, nil, 0) // it fails if it has ended
}

// SetFrozen stops all processes of the namespace, or lets them continue, at once: none can evade it by
// starting others. Those that had stopped before continue, too. After an error the first process may obey late, but
// before it obeys later calls: a caller that gets an error from SetFrozen(true) must call SetFrozen(false) in the end.
// Calls must not overlap.
func (n *PIDNamespace) SetFrozen(isFrozen bool) error {
	command := byte(commandContinue)
	if isFrozen {
		command = commandStop
	}
	if err := n.control.SetDeadline(time.Now().Add(namespaceCommandTimeout)); err != nil {
		return err
	}
	if _, err := n.control.Write([]byte{command}); err != nil {
		return err
	}
	n.unanswered++
	answers := make([]byte, n.unanswered) // the last is that of this command
	count, err := io.ReadFull(n.control, answers)
	n.unanswered -= count
	if err == nil && answers[count-1] != command {
		err = fmt.Errorf("the first process of a PID namespace answered %q with %q", command, answers[count-1])
	}
	return err
}

// Remove kills what is left in the namespace and waits, for at most 2 s, until it has ended. The program must have been
// waited for.
func (n *PIDNamespace) Remove() error {
	err := n.close()
	if n.first == 0 {
		return err
	}
	if n.firstFD < 0 {
		return errors.Join(err, n.reapWithin(namespaceCommandTimeout))
	}
	defer unix.Close(n.firstFD)
	ended := []unix.PollFd{{Fd: int32(n.firstFD), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
	for deadline := time.Now().Add(namespaceCommandTimeout); ; {
		left := time.Until(deadline)
		count, pollErr := unix.Poll(ended, int(max(left.Milliseconds(), 0)))
		switch {
		case count > 0:
			n.reap()
			return err
		case pollErr != nil && !errors.Is(pollErr, unix.EINTR):
			return errors.Join(err, fmt.Errorf("wait for a PID namespace: %w", pollErr))
		case left <= 0:
			return errors.Join(err, errNamespaceLeft)
		}
	}
}

// errNamespaceLeft is the error of a namespace that does not end.
var errNamespaceLeft = fmt.Errorf("a PID namespace has processes %v after they were killed", namespaceCommandTimeout)

// reapWithin reaps the first process. Without a pidfd, only that tells when it has ended. After the timeout it fails,
// and the first process is reaped whenever it ends.
func (n *PIDNamespace) reapWithin(timeout time.Duration) error {
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		n.reap()
	}()
	select {
	case <-reaped:
		return nil
	case <-time.After(timeout):
		return errNamespaceLeft
	}
}

// Abandon kills what is left in the namespace and does not wait until it has ended. It replaces Remove for a program
// whose parent has died: the namespace ends when init has waited for the program, which may take seconds.
func (n *PIDNamespace) Abandon() error {
	err := n.close()
	if n.firstFD >= 0 {
		err = errors.Join(err, unix.Close(n.firstFD))
	}
	return err
}

// close kills what is left in the namespace and closes the control socket.
func (n *PIDNamespace) close() error {
	n.Kill()
	if err := n.control.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil // Kill has closed it
}
