package mcp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/agent/builtin/tools"
)

const (
	// killGrace is how long it may take after SIGTERM. The agent itself has 2 s
	// when its session ends.
	killGrace = time.Second

	// pipes is how long who has left the program's group, and holds what it
	// prints to, is waited for.
	pipes = 500 * time.Millisecond

	// placeholder stands for the task in an argument.
	placeholder = "{task}"
)

// program has each query worked on by a process of a command.
type program struct {
	cfg   Config
	hands *tools.ExternalAgent
	desk  *desk
}

// work works on one query. A process that cannot be started is an error; one
// that fails is complained of.
func (p *program) work(ctx context.Context, task tools.ExternalTask) error {
	text := task.EarlierTasks + task.Text
	p.desk.put(text)
	defer p.desk.put("")
	if err := writeConfig(p.cfg.Dir, p.cfg.Program, p.cfg.Socket); err != nil {
		return err
	}
	// It is killed when the thread ends that has started it: when this process
	// is killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started, err := p.start(text)
	if err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(p.cfg.Command[0]), err)
	}
	submitted := started.follow(ctx, task.Submitted, p.cfg.CloseTimeout)
	if how := started.failed(); how != "" && !submitted && ctx.Err() == nil {
		p.hands.ReportError(how)
	}
	return context.Cause(ctx)
}

// arguments puts the task into the command, and tells whether it has a place there.
func (p *program) arguments(text string) (argv []string, placed bool) {
	for i, word := range p.cfg.Command {
		if i > 0 && strings.Contains(word, placeholder) {
			placed = true
			word = strings.ReplaceAll(word, placeholder, text)
		}
		argv = append(argv, word)
	}
	return argv, placed
}

func (p *program) start(text string) (*running, error) {
	argv, placed := p.arguments(text)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is ended in steps, with its group
	if !placed {
		cmd.Stdin = strings.NewReader(text)
	}
	cmd.Dir = p.cfg.Dir
	cmd.Env = append(append([]string{}, p.cfg.Environ...), "ASSAY_SOCKET="+p.cfg.Socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = pipes
	r := &running{cmd: cmd, said: &said{out: p.cfg.Stderr}, exited: make(chan struct{})}
	stdout, stderr := &lines{said: r.said}, &lines{said: r.said}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(r.exited)
		r.reap()
		stdout.flush()
		stderr.flush()
	}()
	return r, nil
}

// running is a process that was started.
type running struct {
	cmd    *exec.Cmd
	said   *said
	exited chan struct{} // closed when it, and its group, are gone
	err    error         // how it ended; set before exited is closed

	mu     sync.Mutex
	reaped bool // the group's number may be another's
}

// reap waits for the process's end, and kills what is left of its group before
// the number can become another's.
func (r *running) reap() {
	for {
		err := unix.Waitid(unix.P_PID, r.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	r.kill(syscall.SIGKILL)
	r.mu.Lock()
	r.reaped = true
	r.mu.Unlock()
	r.err = r.cmd.Wait()
}

func (r *running) kill(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		_ = syscall.Kill(-r.cmd.Process.Pid, sig)
	}
}

// follow waits until the process is gone, which it is seen to when ctx ends, and
// some time after the submission. It tells whether there was one.
func (r *running) follow(ctx context.Context, submission <-chan struct{}, goodbye time.Duration) (submitted bool) {
	var late <-chan time.Time
	for {
		select {
		case <-r.exited:
			select {
			case <-submission:
				submitted = true
			default:
			}
			return submitted
		case <-submission:
			submitted, submission = true, nil
			timer := time.NewTimer(goodbye)
			defer timer.Stop()
			late = timer.C
		case <-late:
			late = nil
			r.stop()
		case <-ctx.Done():
			r.stop()
			return submitted
		}
	}
}

// stop ends the process and its group, and returns when they are gone.
func (r *running) stop() {
	r.kill(syscall.SIGTERM)
	grace := time.NewTimer(killGrace)
	defer grace.Stop()
	select {
	case <-r.exited:
	case <-grace.C:
		r.kill(syscall.SIGKILL)
		<-r.exited
	}
}

// failed says how the process failed, "" if it did not.
func (r *running) failed() string {
	state := r.cmd.ProcessState
	if state == nil || state.Success() {
		return ""
	}
	how := fmt.Sprintf("exited with status %d", state.ExitCode())
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		how = "was killed by " + unix.SignalName(status.Signal())
	}
	text := filepath.Base(r.cmd.Path) + " " + how
	if tail := r.said.tail(); tail != "" {
		text += "; it printed last:\n" + tail
	}
	return text
}
