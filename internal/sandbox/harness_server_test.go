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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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
	cmd := exec.CommandContext(ctx, o.Argv[0])
	cmd.ExtraFiles = launcherEnd
	answer, err := o.runCommand(cmd, plan, launcher, serve)
	if err != nil {
		return err
	}
	answer.Enforced = machine.Enforceable(o.Rules)
	return json.NewEncoder(out).Encode(answer)
}

// start starts Argv in the sandbox with the launcher that the request names. The namespace is nil if it has none.
func (o sandboxRequest) start(cmd *exec.Cmd, plan sandbox.Plan, launcher []string) (*sandbox.PIDNamespace, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Dir, cmd.WaitDelay = o.Rules.Workdir, time.Second
	cmd.Env = append(o.Env, fmt.Sprintf("SERVER=%d", os.Getpid()))
	if o.PythonLauncher == nil {
		cmd.Args = o.Argv
		return plan.Start(cmd, launcher)
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	cmd.Err = nil // Argv[0] is only found in PATH of Env
	cmd.Path = o.PythonLauncher[0]
	start := func(control int) error {
		cmd.Args = slices.Concat(o.PythonLauncher, []string{strconv.Itoa(control), string(text)}, o.Argv)
		return cmd.Start()
	}
	if !plan.PIDNamespace {
		return nil, start(0)
	}
	return startInPIDNamespace(cmd, start)
}

// startInPIDNamespace starts cmd, a Python launcher that makes a PID namespace and ends, by start, which gets the
// descriptor of its control socket. The processes of the namespace become children of this one, as they become those of
// the kernel pool's parent. The namespace is nil if the launcher fails.
func startInPIDNamespace(cmd *exec.Cmd, start func(control int) error) (*sandbox.PIDNamespace, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	control, inner, err := sandbox.NewPIDControl()
	if err != nil {
		return nil, err
	}
	report, launcherReport, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	const firstExtraFD = 3
	number := firstExtraFD + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, inner, launcherReport)
	if err := errors.Join(start(number), inner.Close(), launcherReport.Close()); err != nil {
		return nil, err
	}
	ids, err := io.ReadAll(report)
	err = errors.Join(err, report.Close(), unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	var program, first int
	if _, scanErr := fmt.Sscan(string(ids), &program, &first); err != nil || scanErr != nil {
		return nil, errors.Join(err, control.Close()) // cmd says why it has failed
	}
	return sandbox.OpenPIDNamespace(control, program, first, func() { _, _ = sandbox.WaitForChild(first) }), nil
}

// runCommand runs Argv in the sandbox by cmd. It begins when it reads a line on its
// standard input, so that it is already under the limit of processes by then. serve is called
// before, and its result at the end.
func (o sandboxRequest) runCommand(cmd *exec.Cmd, plan sandbox.Plan, launcher []string, serve func() (end func() error, err error)) (sandboxResponse, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start, err := cmd.StdinPipe()
	if err != nil {
		return sandboxResponse{}, err
	}
	namespace, err := o.start(cmd, plan, launcher)
	if err != nil {
		return sandboxResponse{}, err
	}
	end, err := serve()
	if err != nil {
		return sandboxResponse{}, err
	}
	program := cmd.Process.Pid
	if namespace != nil {
		program = namespace.ProcessID
	}
	remove := func() error { return nil }
	if o.UsePidsCgroup {
		pids, err := sandbox.NewPidsLimit(o.Rules.MaxProcesses, "")
		if err != nil {
			return sandboxResponse{}, err
		}
		remove = pids.Remove
		if err := pids.AddProcess(program); err != nil {
			return sandboxResponse{}, err
		}
	}
	_, _ = io.WriteString(start, "begin\n") // fails if it has ended already
	_ = start.Close()
	var removed error
	status := ""
	if namespace != nil {
		ended, err := sandbox.WaitForChild(program)
		if err != nil {
			return sandboxResponse{}, err
		}
		if status = fmt.Sprintf("exit status %d", ended.ExitStatus()); ended.Signaled() {
			status = "signal: " + ended.Signal().String()
		}
		status = strings.TrimSuffix(status, "exit status 0")
		removed = namespace.Remove()
	}
	err = errors.Join(removed, cmd.Wait())
	_ = syscall.Kill(-program, syscall.SIGKILL)
	answer := sandboxResponse{Stdout: out.String(), Stderr: strings.TrimSpace(errs.String()), ExitStatus: status}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		answer.ExitStatus, err = exit.Error(), nil
	}
	return answer, errors.Join(err, remove(), end())
}
