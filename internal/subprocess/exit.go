package subprocess

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

const (
	// exitPollInterval is the time between two checks of a process whose end can be
	// noticed neither with a pidfd nor with waitid.
	exitPollInterval = 50 * time.Millisecond

	// killedGrace is how long after its SIGKILL such a process is assumed to be dead if
	// that cannot be checked, because no file of /proc can be opened.
	killedGrace = time.Second
)

// ExitState says how a subprocess ended: exit status or signal, and the last output.
type ExitState struct {
	Code          int        // exit status; -1 if a signal ended it or StatusUnknown
	Signal        string     // such as "SIGKILL"; empty if it exited by itself
	MemoryKill    MemoryKill // why Linux has sent the SIGKILL; 0: not to get memory, or that is not known
	StatusUnknown bool       // the status is unknown, because the process that forked it has died
	LastOutput    string     // the last lines that it printed, at most 4 KiB
}

func newExitState(status syscall.WaitStatus) ExitState {
	if status.Signaled() {
		return ExitState{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return ExitState{Code: status.ExitStatus()}
}

// String describes in one line how the process ended, without its output.
func (e ExitState) String() string {
	switch {
	case e.StatusUnknown:
		return "ended with an unknown exit status"
	case e.Signal != "":
		return "was killed by " + e.Signal + e.MemoryKill.String()
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// ExitError is the error of reading from or writing to a subprocess that has ended.
type ExitError struct {
	Name string // Spec.Name
	Exit ExitState
}

// Error says how the subprocess ended, with the line of the exception that ended it, if it printed one, and
// the last lines that it printed; of an Assay process only the error that it ended with.
func (e *ExitError) Error() string {
	err := fmt.Errorf("%s %s", e.Name, e.Exit)
	if e.Exit.Code <= 0 {
		return withLastOutput(err, e.Exit.LastOutput).Error()
	}
	separator := ": "
	if line := uncaughtException(e.Exit.LastOutput); line != "" {
		err, separator = fmt.Errorf("%w: %s", err, line), "; "
	}
	if failure := assayFailure(e.Exit.LastOutput); failure != "" {
		return err.Error() + separator + failure
	}
	return withLastOutput(err, e.Exit.LastOutput).Error()
}

// assayFailure returns the error with which a process of Assay has ended according to its output; "" if output has none.
// It may have several lines, such as the last ones of a program that this process had started.
func assayFailure(output string) string {
	const prefix = "\nassay: "
	output = "\n" + output
	at := strings.LastIndex(output, prefix)
	if at < 0 {
		return ""
	}
	return strings.TrimSpace(output[at+len(prefix):])
}

// uncaughtException returns the line of an exception that output reports last: the one behind a traceback of
// Python, the one in front of a stack of JavaScript, or that of a panic of Go. It returns "" if there is none.
func uncaughtException(output string) (found string) {
	lines := strings.Split(output, "\n")
	inTraceback := false
	for i, line := range lines {
		isIndented := strings.HasPrefix(line, " ") || strings.TrimSpace(line) == ""
		switch {
		case strings.HasPrefix(line, "Traceback (most recent call last):"), strings.HasPrefix(line, `  File "`): // the second is that of a syntax error
			inTraceback = true
		case inTraceback && !isIndented:
			found, inTraceback = line, false
		case strings.HasPrefix(line, "panic: "), !isIndented && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    at "):
			found = line
		}
	}
	return strings.TrimSpace(found)
}

// withLastOutput appends the last lines that a subprocess printed to an error about it.
// Without output it returns err.
func withLastOutput(err error, output string) error {
	output = strings.TrimSpace(output)
	if output == "" {
		return err
	}
	return fmt.Errorf("%w; it printed last: %s", err, output)
}

// Forker starts processes without executing a command: another subprocess, their
// parent, forks them.
type Forker interface {
	// Spawn starts a process that has these files as its socket, stdout and stderr and
	// leads a process group. The process must not run untrusted code before it is asked
	// to over the socket, because it is put into its cgroup only after Spawn returns.
	//
	// If control is not nil, the process gets a PID namespace, whose first process has the id first and gets control:
	// see [sandbox.PIDNamespace].
	Spawn(socket, stdout, stderr, control *os.File) (pid, first int, err error)

	// Reap has the parent wait for a process that has ended, and returns its status.
	// It is called once for each process, also for the first one of a PID namespace. An error means that the status is lost.
	Reap(pid int) (syscall.WaitStatus, error)
}

// processHandle identifies a [Process] to the operating system and reaps it. It has one
// type for commands, one for programs in a PID namespace and one for forked processes.
type processHandle interface {
	pid() int

	// reap frees the id of the process, which has ended, and returns how it ended.
	reap() ExitState
}

// childHandle is the processHandle of a child of the server, which was started by
// executing a command.
type childHandle struct{ cmd *exec.Cmd }

func (e childHandle) pid() int { return e.cmd.Process.Pid }

func (e childHandle) reap() ExitState {
	_ = e.cmd.Wait() // ProcessState has the result
	status, ok := e.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return ExitState{Code: -1, StatusUnknown: true}
	}
	return newExitState(status)
}

// clonedHandle is the processHandle of a child of the server that its sandbox's launcher has started.
type clonedHandle struct{ processID int }

func (c clonedHandle) pid() int { return c.processID }

func (c clonedHandle) reap() ExitState {
	status, err := sandbox.WaitForChild(c.processID)
	if err != nil {
		return ExitState{Code: -1, StatusUnknown: true}
	}
	return newExitState(status)
}

// forkedHandle is the processHandle of a process that another subprocess has forked.
type forkedHandle struct {
	processID int
	forker    Forker
}

func (f forkedHandle) pid() int { return f.processID }

func (f forkedHandle) reap() ExitState {
	status, err := f.forker.Reap(f.processID)
	if err != nil {
		return ExitState{Code: -1, StatusUnknown: true}
	}
	return newExitState(status)
}

// waitAndReap waits until the process has ended, kills what it left in its process
// group and cgroup, and only then reaps it: until then no other process can get the
// group's id.
func (p *Process) waitAndReap() {
	defer close(p.exited)
	p.waitUntilEnded()
	p.mu.Lock()
	p.signalGroupLocked(syscall.SIGKILL)
	p.exit = p.handle.reap()
	p.reaped = true
	p.mu.Unlock()
	if p.exit.Signal == "SIGKILL" {
		p.exit.MemoryKill = p.memoryKill()
	}
	p.supervisor.notifyCleanupHelper(noteGroupGone, p.PID())
	if conn, ok := p.socket.(*connectBackConn); ok {
		_ = conn.stopListening() // it will not connect any more
	}
	p.output.drainAfterExit()
	p.exit.LastOutput = p.output.lastLines()
	p.supervisor.log.Debug("subprocess ended", "subprocess", p.name, "pid", p.PID(), "exit", p.exit.String())
}

// waitUntilEnded returns when the process has ended. It prefers to wait with a pidfd,
// which occupies no thread: there may be thousands of subprocesses. Without a pidfd it
// waits with waitid if the process is a child of the server, and polls if another
// process has forked it.
func (p *Process) waitUntilEnded() {
	if awaitPidfd(p.PID()) == nil {
		return
	}
	for {
		err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case err == nil:
			return
		case !errors.Is(err, unix.EINTR):
			p.pollUntilEnded()
			return
		}
	}
}

// awaitPidfd waits for the end of a process with a pidfd. It returns an error if that
// is impossible: no file descriptors are left, or the system or a seccomp filter has no
// pidfds.
func awaitPidfd(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var pollErr error
	// The runtime's poller waits for as long as the function returns false.
	err = raw.Read(func(fd uintptr) bool {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
		n, err := unix.Poll(polled, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			pollErr = err
		}
		return n > 0 || pollErr != nil
	})
	return errors.Join(err, pollErr)
}

// pollUntilEnded checks every 50 ms (exitPollInterval) whether the process has ended,
// and returns when it has. Each time it first tries to wait with a pidfd again, because
// file descriptors may have become free.
func (p *Process) pollUntilEnded() {
	tick := time.NewTicker(exitPollInterval)
	defer tick.Stop()
	for range tick.C {
		if awaitPidfd(p.PID()) == nil || hasProcessEnded(p.PID()) || p.wasGroupKilledBefore(time.Now().Add(-killedGrace)) {
			return
		}
	}
}

// wasGroupKilledBefore reports whether SIGKILL was sent to the process group before the
// time then.
func (p *Process) wasGroupKilledBefore(then time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killedAt.IsZero() && p.killedAt.Before(then)
}

// hasProcessEnded reports whether a process does not exist, or is a zombie without
// other threads. If its file in /proc cannot be read, the process counts as alive.
func hasProcessEnded(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// "PID (NAME) STATE …", where field 20 is the number of threads: that of a zombie
	// whose other threads still run is over 1. NAME may contain anything.
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state, threads = 0, 17
	return len(fields) > threads && (fields[state] == "Z" || fields[state] == "X") && (fields[threads] == "0" || fields[threads] == "1")
}
