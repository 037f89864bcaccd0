package grading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxStdoutBytes     = 1 << 20 // bytes of a program's answer
	maxStderrTailBytes = 4 << 10 // bytes of what it prints on stderr

	// pipeCloseTimeout is how long a program's pipes may stay open after its end and
	// that of its group: a process that left the group may hold them for ever.
	pipeCloseTimeout = time.Second

	defaultPATH = "PATH=/usr/local/bin:/usr/bin:/bin"
)

// program is a command that is run once.
type program struct {
	argv  []string
	dir   string   // where it runs; empty: the current folder
	env   []string // all of its environment; nil: defaultPATH
	stdin []byte
}

// exitState is how a program ended by itself.
type exitState struct {
	status int
	stdout string
	stderr string // the last of it
}

// run runs the program to its end and leaves nothing of its process group behind
// then, whatever it started. When ctx ends the whole group is killed. The error
// says that the program did not start, or did not end by itself.
func (p program) run(ctx context.Context) (exitState, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stdout, stderr := &limitedBuffer{onFull: stop}, &tailBuffer{}
	cmd, err := p.command()
	if err != nil {
		return exitState{}, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p.stdin), stdout, stderr

	runtime.LockOSThread() // Pdeathsig is sent when the thread that started it ends
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return exitState{}, fmt.Errorf("does not start: %w", err)
	}
	waitAndKillGroup(ctx, cmd.Process.Pid)
	_ = cmd.Wait() // how it ended is in ProcessState

	done := exitState{stdout: stdout.text.String(), stderr: strings.TrimSpace(string(stderr.last))}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case stdout.overflowed:
		return done, done.withStderr(errStdoutTooLong)
	case ok && status.Exited():
		done.status = status.ExitStatus()
		return done, nil
	case ctx.Err() != nil:
		return done, done.withStderr(fmt.Errorf("was stopped: %w", context.Cause(ctx)))
	default:
		return done, done.withStderr(fmt.Errorf("was killed by %s", unix.SignalName(status.Signal())))
	}
}

// errStdoutTooLong says that an answer is longer than maxStdoutBytes.
var errStdoutTooLong = errors.New("printed more than 1 MiB on stdout")

func (p program) command() (*exec.Cmd, error) {
	env := p.env
	if env == nil {
		env = []string{defaultPATH}
	}
	path, err := lookPath(p.argv[0], env)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path) //nolint:noctx // it ends with its group, see waitAndKillGroup
	cmd.Args, cmd.Dir, cmd.Env = p.argv, p.dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = pipeCloseTimeout
	return cmd, nil
}

// lookPath finds a program on the PATH of env, which need not be ours. A name
// with a slash is a path already.
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
			continue // it would hang on where we run
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("is not on PATH, which is %q", path)
}

// waitAndKillGroup waits for a child to end, which it does when ctx ends, and kills
// what it left in its group. The child is not reaped before all that is over,
// so that the group's number cannot be anybody else's.
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

// killGroup kills the process group that a child leads.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) } // ESRCH: there is nobody left

// withStderr adds to an error the last thing that the program printed on stderr.
func (e exitState) withStderr(err error) error {
	if e.stderr == "" {
		return err
	}
	return fmt.Errorf("%w; on stderr it printed last: %s", err, e.stderr)
}

// limitedBuffer keeps what is written to it up to maxStdoutBytes, and says when it is full.
type limitedBuffer struct {
	text       bytes.Buffer
	overflowed bool
	onFull     func(error)
}

// Write implements [io.Writer].
func (c *limitedBuffer) Write(data []byte) (int, error) {
	if c.text.Len()+len(data) > maxStdoutBytes {
		c.overflowed = true
		c.onFull(errStdoutTooLong)
		return 0, errStdoutTooLong
	}
	return c.text.Write(data)
}

// tailBuffer keeps the last of what is written to it.
type tailBuffer struct{ last []byte }

// Write implements [io.Writer].
func (t *tailBuffer) Write(data []byte) (int, error) {
	t.last = append(t.last, data...)
	t.last = append(t.last[:0], t.last[max(0, len(t.last)-maxStderrTailBytes):]...)
	return len(data), nil
}
