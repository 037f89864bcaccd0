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

// order is what a test asks of a server.
type order struct {
	Rules  sandbox.Rules
	Python []string // the command of the Python door; nil: that of the other one
	Argv   []string
	Env    []string
	Pids   bool // a cgroup limits the processes too
}

// report is what the server answers.
type report struct {
	Enforced map[string]bool
	Stdout   string
	Stderr   string
	Status   string // as of an [exec.ExitError]; empty: 0
}

// patience is how long a fenced command may take.
const patience = 2 * time.Minute

// serve plays the server, which may be anybody: it finds out what it can enforce,
// and runs a command behind the fence.
func serve(in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	door := []string{self, "fence"}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	machine := sandbox.ProbeMachine(ctx, door)
	plan, err := machine.Plan(o.Rules)
	if err != nil {
		return err
	}
	cmd, err := o.command(ctx, plan, door)
	if err != nil {
		return err
	}
	said, err := o.run(cmd)
	if err != nil {
		return err
	}
	said.Enforced = machine.Enforceable(o.Rules)
	return json.NewEncoder(out).Encode(said)
}

// command is what starts Argv behind the fence, through one door or the other.
func (o order) command(ctx context.Context, plan sandbox.Plan, door []string) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	argv, err := plan.LauncherCommand(door, o.Argv)
	if err != nil {
		return nil, err
	}
	if o.Python == nil {
		plan.SetProcAttr(attr)
	} else {
		text, err := json.Marshal(plan)
		if err != nil {
			return nil, err
		}
		argv = append(append(o.Python, string(text)), o.Argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = attr
	cmd.Dir = o.Rules.Workdir
	cmd.Env = append(o.Env, fmt.Sprintf("SERVER=%d", os.Getpid()))
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// run runs the command, which begins when it gets a line.
func (o order) run(cmd *exec.Cmd) (report, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start, err := cmd.StdinPipe()
	if err != nil {
		return report{}, err
	}
	if err := cmd.Start(); err != nil {
		return report{}, err
	}
	remove := func() error { return nil }
	if o.Pids {
		pids, err := sandbox.NewPidsLimit(o.Rules.MaxProcesses, "")
		if err != nil {
			return report{}, err
		}
		remove = pids.Remove
		if err := pids.AddProcess(cmd.Process.Pid); err != nil {
			return report{}, err
		}
	}
	_, _ = io.WriteString(start, "begin\n") // one that has ended does not read
	_ = start.Close()
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	said := report{Stdout: out.String(), Stderr: strings.TrimSpace(errs.String())}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		said.Status, err = exit.Error(), nil
	}
	return said, errors.Join(err, remove())
}
