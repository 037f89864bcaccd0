// Package command runs the program of an agent that is controlled through a protocol other than
// Assay's: it starts the program in a process group, passes on what it prints, keeps the end of
// that for errors, and stops the program with its group.
package command

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killGrace is how long a program may take to exit after SIGTERM. The agent itself has
	// 2 s when its session ends.
	killGrace = time.Second

	// OutputGrace is how long to wait for the end of the output after the program and its
	// group are gone: a process that has left the group may still hold the pipes.
	OutputGrace = 500 * time.Millisecond
)

// Config says which program to start. Only Argv is required.
type Config struct {
	Argv  []string // the program and its arguments
	Dir   string   // working directory; "" means the current one
	Env   []string
	Stdin io.Reader // nil means no input; a file is passed on as it is

	// Stdout gets the standard output of the program; a file is passed on as it is. nil means
	// that it is treated as the standard error is.
	Stdout io.Writer

	Output io.Writer // gets what the program prints by whole lines, from one goroutine at a time; nil discards
}

// Error is the error of a program that has ended when it should not.
type Error struct{ Text string }

// Error says how the program has ended and what it printed last.
func (e *Error) Error() string { return e.Text }

// Process is a started program, its process group and its output. It is safe for concurrent use.
type Process struct {
	cmd    *exec.Cmd
	output *output
	exited chan struct{} // closed when the process and its group are gone

	mu     sync.Mutex
	reaped bool // the id of the group may belong to another group now
}

// Start starts a program in its own process group. The program is killed if this process is killed.
// The caller must wait for Exited, for example with Stop.
func Start(cfg Config) (*Process, error) {
	if cfg.Output == nil {
		cfg.Output = io.Discard
	}
	cmd := exec.Command(cfg.Argv[0], cfg.Argv[1:]...) //nolint:noctx // it is ended in steps, with its group
	cmd.Dir, cmd.Env, cmd.Stdin = cfg.Dir, cfg.Env, cfg.Stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = OutputGrace
	p := &Process{cmd: cmd, output: &output{out: cfg.Output}, exited: make(chan struct{})}
	stdout, stderr := &lineWriter{output: p.output}, &lineWriter{output: p.output}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if cfg.Stdout != nil {
		cmd.Stdout = cfg.Stdout
	}
	started := make(chan error)
	go func() {
		// Pdeathsig kills the program when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(p.exited)
		p.reap()
		stdout.flush()
		stderr.flush()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cfg.Argv[0]), err)
	}
	return p, nil
}

// Exited is closed when the program and its process group are gone and its output has been passed on.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// reap waits for the exit of the process and kills the rest of its group before the id of the
// group can be reused.
func (p *Process) reap() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.signalGroup(syscall.SIGKILL)
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	_ = p.cmd.Wait() // ExitText reads how it ended from cmd.ProcessState
}

func (p *Process) signalGroup(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// Stop sends SIGTERM to the group, SIGKILL after 1 s, and returns when the group is gone.
func (p *Process) Stop() {
	p.signalGroup(syscall.SIGTERM)
	grace := time.NewTimer(killGrace)
	defer grace.Stop()
	select {
	case <-p.exited:
	case <-grace.C:
		p.signalGroup(syscall.SIGKILL)
		<-p.exited
	}
}

// HasFailed reports whether the program has ended with a status other than 0. It must be called
// after Exited is closed.
func (p *Process) HasFailed() bool { return p.cmd.ProcessState != nil && !p.cmd.ProcessState.Success() }

// ExitText says how the program has ended and what it printed last. It must be called after Exited
// is closed.
func (p *Process) ExitText() string {
	state := p.cmd.ProcessState
	if state == nil {
		return p.Name() + " could not be waited for"
	}
	ending := fmt.Sprintf("exited with status %d", state.ExitCode())
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		ending = "was killed by " + unix.SignalName(status.Signal())
	}
	text := p.Name() + " " + ending
	if tail := p.output.tail(); tail != "" {
		text += "; it printed last:\n" + tail
	}
	return text
}

// Name returns the name of the program without its folder.
func (p *Process) Name() string { return filepath.Base(p.cmd.Path) }

// WriteLine passes on a line as if the program had printed it on its standard error.
func (p *Process) WriteLine(line []byte) {
	p.output.writeLine(append(slices.Clip(line), '\n'))
}
