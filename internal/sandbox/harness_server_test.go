package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"assay/internal/sandbox"
)

// sandboxRequest asks a test server to run a command in a sandbox.
type sandboxRequest struct {
	Rules          sandbox.Rules
	PythonLauncher []string // command of the Python launcher; nil: sandbox.Exec
	Argv           []string
	Env            []string
	UsePidsCgroup  bool // limit the processes with a PidsLimit too

	SharesNetwork bool // as if no network namespace could be made
}

// sandboxResponse is a test server's answer to a sandboxRequest: what the machine
// enforced, and the command's stdout, stderr and exit status.
type sandboxResponse struct {
	Enforced   map[string]bool
	Stdout     string
	Stderr     string
	ExitStatus string // text of an [exec.ExitError]; empty: status 0
}

// sandboxRequestTimeout is how long a test waits for a command in a sandbox.
const sandboxRequestTimeout = 2 * time.Minute

// serveSandboxRequest reads one sandboxRequest as JSON, probes the machine as the current
// user, runs the command in a sandbox and writes the sandboxResponse.
func serveSandboxRequest(in io.Reader, out io.Writer) error {
	var o sandboxRequest
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	launcher := []string{self, "launch"}
	ctx, cancel := context.WithTimeout(context.Background(), sandboxRequestTimeout)
	defer cancel()
	machine := sandbox.ProbeMachine(ctx, launcher)
	machine.NetworkNamespaces = machine.NetworkNamespaces && !o.SharesNetwork
	plan, err := machine.Plan(o.Rules)
	if err != nil {
		return err
	}
	launcherEnd, serve, err := handOver(&plan)
	if err != nil {
		return err
	}
	cmd, err := o.newCommand(ctx, plan, launcher)
	if err != nil {
		return err
	}
	cmd.ExtraFiles = launcherEnd
	answer, err := o.runCommand(cmd, serve)
	if err != nil {
		return err
	}
	answer.Enforced = machine.Enforceable(o.Rules)
	return json.NewEncoder(out).Encode(answer)
}

// newCommand returns the command that starts Argv in the sandbox with the launcher that
// the request names.
func (o sandboxRequest) newCommand(ctx context.Context, plan sandbox.Plan, launcher []string) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	argv, err := plan.LauncherCommand(launcher, o.Argv)
	if err != nil {
		return nil, err
	}
	if o.PythonLauncher == nil {
		plan.SetProcAttr(attr)
	} else {
		text, err := json.Marshal(plan)
		if err != nil {
			return nil, err
		}
		argv = append(append(o.PythonLauncher, string(text)), o.Argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = attr
	cmd.Dir = o.Rules.Workdir
	cmd.Env = append(o.Env, fmt.Sprintf("SERVER=%d", os.Getpid()))
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// runCommand runs a sandboxed command. The command begins when it reads a line on its
// standard input, so that it is already under the limit of processes by then. serve is called
// before, and its result at the end.
func (o sandboxRequest) runCommand(cmd *exec.Cmd, serve func() (end func() error, err error)) (sandboxResponse, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start, err := cmd.StdinPipe()
	if err != nil {
		return sandboxResponse{}, err
	}
	if err := cmd.Start(); err != nil {
		return sandboxResponse{}, err
	}
	end, err := serve()
	if err != nil {
		return sandboxResponse{}, err
	}
	remove := func() error { return nil }
	if o.UsePidsCgroup {
		pids, err := sandbox.NewPidsLimit(o.Rules.MaxProcesses, "")
		if err != nil {
			return sandboxResponse{}, err
		}
		remove = pids.Remove
		if err := pids.AddProcess(cmd.Process.Pid); err != nil {
			return sandboxResponse{}, err
		}
	}
	_, _ = io.WriteString(start, "begin\n") // fails if it has ended already
	_ = start.Close()
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	answer := sandboxResponse{Stdout: out.String(), Stderr: strings.TrimSpace(errs.String())}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		answer.ExitStatus, err = exit.Error(), nil
	}
	return answer, errors.Join(err, remove(), end())
}
