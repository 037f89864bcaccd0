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
	// killGrace is how long a command may take to exit after SIGTERM. The agent itself has
	// 2 s when its session ends.
	killGrace = time.Second

	// outputGrace is how long to wait for the end of the output after the command and its
	// group are gone: a process that has left the group may still hold the pipes.
	outputGrace = 500 * time.Millisecond

	// taskPlaceholder stands for the task in an argument.
	taskPlaceholder = "{task}"
)

// commandRunner starts the configured command for each query.
type commandRunner struct {
	cfg   Config
	agent *tools.ExternalAgent
	task  *currentTask
	end   func(error) // ends the agent

	clientConfig *clientConfig
}

// CommandError is the error of a Command that has failed without a submission in an evaluation.
type CommandError struct{ text string }

// Error says how the Command has failed and what it printed last.
func (e *CommandError) Error() string { return e.text }

// run starts the command for a query and waits for its end. Its error says that the command
// could not be started for the first query, or is the cause of ctx. For a later one that is only reported, and the
// query has ended, because code in the folder may be the cause. A command that fails without a submission ends the
// agent in an evaluation; elsewhere it is only reported.
func (r *commandRunner) run(ctx context.Context, task tools.ExternalTask) error {
	text := task.EarlierTasks + task.Text
	r.task.set(text)
	defer r.task.set("")
	// Pdeathsig kills the command when the thread that started it ends, which must be only
	// when this process is killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	isFirst := !r.clientConfig.isOurs
	started, err := r.start(text)
	switch {
	case err != nil && isFirst:
		return err
	case err != nil:
		r.agent.ReportError(err.Error())
		return nil
	}
	submitted := started.awaitExit(ctx, task.Submitted, r.cfg.CloseTimeout)
	if failure := started.failureText(); failure != "" && !submitted && ctx.Err() == nil {
		if task.IsEvaluation {
			r.end(&CommandError{failure})
			<-ctx.Done()
		} else {
			r.agent.ReportError(failure)
		}
	}
	return context.Cause(ctx)
}

// arguments returns the command with the task in place of {task}, and whether it has {task}.
func (r *commandRunner) arguments(text string) (argv []string, hasTask bool) {
	for i, word := range r.cfg.Command {
		if i > 0 && strings.Contains(word, taskPlaceholder) {
			hasTask = true
			word = strings.ReplaceAll(word, taskPlaceholder, text)
		}
		argv = append(argv, word)
	}
	return argv, hasTask
}

// start writes the command's configuration and starts it, with the task on stdin unless an argument has it.
func (r *commandRunner) start(text string) (*runningCommand, error) {
	if err := r.clientConfig.write(); err != nil {
		return nil, err
	}
	argv, hasTask := r.arguments(text)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is ended in steps, with its group
	if !hasTask {
		cmd.Stdin = strings.NewReader(text)
	}
	cmd.Dir = r.cfg.WorkDir
	cmd.Env = append(append([]string{}, r.cfg.Environ...), "ASSAY_SOCKET="+r.cfg.Socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = outputGrace
	c := &runningCommand{cmd: cmd, output: &commandOutput{out: r.cfg.Stderr}, exited: make(chan struct{})}
	stdout, stderr := &lineWriter{output: c.output}, &lineWriter{output: c.output}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(r.cfg.Command[0]), err)
	}
	go func() {
		defer close(c.exited)
		c.reap()
		stdout.flush()
		stderr.flush()
	}()
	return c, nil
}

// runningCommand is a started command, its process group and its output.
type runningCommand struct {
	cmd    *exec.Cmd
	output *commandOutput
	exited chan struct{} // closed when the process and its group are gone

	mu     sync.Mutex
	reaped bool // the id of the group may belong to another group now
}

// reap waits for the exit of the process and kills the rest of its group before the id of the
// group can be reused.
func (c *runningCommand) reap() {
	for {
		err := unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	c.signalGroup(syscall.SIGKILL)
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()
	_ = c.cmd.Wait() // failureText reads how it ended from cmd.ProcessState
}

func (c *runningCommand) signalGroup(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}

// awaitExit waits until the command's process group is gone. It stops the group when ctx
// ends, or closeTimeout after the submission. It returns true if there was a submission.
func (c *runningCommand) awaitExit(ctx context.Context, submission <-chan struct{}, closeTimeout time.Duration) (submitted bool) {
	var timeout <-chan time.Time
	for {
		select {
		case <-c.exited:
			select {
			case <-submission:
				submitted = true
			default:
			}
			return submitted
		case <-submission:
			submitted, submission = true, nil
			timer := time.NewTimer(closeTimeout)
			defer timer.Stop()
			timeout = timer.C
		case <-timeout:
			timeout = nil
			c.stopGroup()
		case <-ctx.Done():
			c.stopGroup()
			return submitted
		}
	}
}

// stopGroup sends SIGTERM to the group, SIGKILL after killGrace, and returns when the group is gone.
func (c *runningCommand) stopGroup() {
	c.signalGroup(syscall.SIGTERM)
	grace := time.NewTimer(killGrace)
	defer grace.Stop()
	select {
	case <-c.exited:
	case <-grace.C:
		c.signalGroup(syscall.SIGKILL)
		<-c.exited
	}
}

// failureText says how the process failed and what it printed last. It returns "" if the
// process exited with status 0.
func (c *runningCommand) failureText() string {
	state := c.cmd.ProcessState
	if state == nil || state.Success() {
		return ""
	}
	ending := fmt.Sprintf("exited with status %d", state.ExitCode())
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		ending = "was killed by " + unix.SignalName(status.Signal())
	}
	text := filepath.Base(c.cmd.Path) + " " + ending
	if tail := c.output.tail(); tail != "" {
		text += "; it printed last:\n" + tail
	}
	return text
}
