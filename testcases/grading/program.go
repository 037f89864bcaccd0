package grading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxStdoutBytes     = 1 << 20 // of a program's answer
	maxStderrTailBytes = 4 << 10 // of what a program prints on stderr

	// pipeCloseTimeout is how long a program's pipes may stay open after it and its
	// process group have ended. A process that has left the group could keep them open
	// for ever.
	pipeCloseTimeout = time.Second

	defaultPATH = "PATH=/usr/local/bin:/usr/bin:/bin"
)

// externalProgram is a command that is run once: arguments, folder, environment and
// stdin.
type externalProgram struct {
	argv  []string
	dir   string   // working directory; "" means the current one
	env   []string // whole environment; nil means defaultPATH only
	stdin []byte
}

// programExit is the exit status, stdout and end of stderr of a program that ended by
// itself.
type programExit struct {
	status int
	stdout string
	stderr string // the end of it
}

// startError is the error of a program that did not start.
type startError struct{ error }

// run runs the program until it ends and then kills all processes that are left in its
// process group. When ctx ends, it kills the whole group. It returns an error if the
// program did not start, was killed, or printed too much.
func (p externalProgram) run(ctx context.Context) (programExit, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stdout, stderr := &limitedBuffer{onFull: stop}, &tailBuffer{}
	cmd, err := p.newCommand()
	if err != nil {
		return programExit{}, &startError{err}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p.stdin), stdout, stderr

	runtime.LockOSThread() // Pdeathsig is sent when the thread that started the program ends
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return programExit{}, &startError{fmt.Errorf("does not start: %w", err)}
	}
	preferForOOMKiller(cmd.Process.Pid)
	waitAndKillGroup(ctx, cmd.Process.Pid)
	_ = cmd.Wait() // ProcessState has the result

	done := programExit{stdout: stdout.text.String(), stderr: strings.TrimSpace(string(stderr.last))}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case stdout.overflowed:
		return done, done.withStderr(errProgramStdoutTooLong)
	case ok && status.Exited():
		done.status = status.ExitStatus()
		return done, nil
	case ctx.Err() != nil:
		return done, done.withStderr(fmt.Errorf("was stopped: %w", context.Cause(ctx)))
	default:
		return done, done.withStderr(fmt.Errorf("was killed by %s", unix.SignalName(status.Signal())))
	}
}

// errProgramStdoutTooLong means that a program printed more than maxStdoutBytes to
// stdout.
var errProgramStdoutTooLong = errors.New("printed more than 1 MiB on stdout")

// newCommand prepares the program's command, with a new process group. The system kills
// the process if this process dies. It is an error if the program is not on PATH.
func (p externalProgram) newCommand() (*exec.Cmd, error) {
	env := p.env
	if env == nil {
		env = []string{defaultPATH}
	}
	path, err := lookPath(p.argv[0], env)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path) //nolint:noctx // waitAndKillGroup ends it
	cmd.Args, cmd.Dir, cmd.Env = p.argv, p.dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = pipeCloseTimeout
	return cmd, nil
}

// lookPath finds a program on the PATH of env, which may differ from this process's. A
// name with a slash is returned unchanged. It is an error if no folder of PATH has the
// program.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // its meaning would depend on the working directory of this process
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("is not on PATH, which is %q", path)
}

// waitAndKillGroup waits for a child process to end, kills its process group if ctx
// ends first, and then kills what is left of the group. The child is reaped only after
// that, so that no other process can get the number of the group meanwhile.
func waitAndKillGroup(ctx context.Context, leader int) {
	killed := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(killed)
		killGroup(leader)
	})
	for {
		err := unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if !unhook() {
		<-killed
	}
	killGroup(leader)
}

// killGroup sends SIGKILL to the process group whose leader is this child.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) } // ESRCH: the group is empty

// oomScoreAdjustment makes Linux, when its memory runs out, kill a program that grades before the kernels and
// agents of other attempts, which have at most 850, and before this process: an agent can choose what the program reads.
const oomScoreAdjustment = "900"

// preferForOOMKiller gives a process that adjustment.
func preferForOOMKiller(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(oomScoreAdjustment), 0) // fails if it has ended
}

// withStderr appends the end of the program's stderr to an error.
func (e programExit) withStderr(err error) error {
	if e.stderr == "" {
		return err
	}
	return fmt.Errorf("%w; on stderr it printed last: %s", err, e.stderr)
}

// limitedBuffer is a writer that keeps up to maxStdoutBytes of what is written to it,
// and calls onFull when there is more.
type limitedBuffer struct {
	text       bytes.Buffer
	overflowed bool
	onFull     func(error)
}

// Write implements [io.Writer]. It fails once more than maxStdoutBytes were written.
func (c *limitedBuffer) Write(data []byte) (int, error) {
	if c.text.Len()+len(data) > maxStdoutBytes {
		c.overflowed = true
		c.onFull(errProgramStdoutTooLong)
		return 0, errProgramStdoutTooLong
	}
	return c.text.Write(data)
}

// tailBuffer is a writer that keeps the last maxStderrTailBytes of what is written to
// it.
type tailBuffer struct{ last []byte }

// Write implements [io.Writer]. It never fails.
func (t *tailBuffer) Write(data []byte) (int, error) {
	t.last = append(t.last, data...)
	t.last = append(t.last[:0], t.last[max(0, len(t.last)-maxStderrTailBytes):]...)
	return len(data), nil
}
