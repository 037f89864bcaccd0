package sandbox_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

// runLauncher runs the sandbox launcher with a plan and a command, and returns its
// output and exit status.
func runLauncher(t *testing.T, plan string, argv ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), installedFilePath("sandbox.test"), append([]string{"launch", plan, "--"}, argv...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestExecRunsCommand(t *testing.T) {
	t.Parallel()
	empty, err := json.Marshal(sandbox.Plan{})
	require.NoError(t, err)

	out, errs, status := runLauncher(t, string(empty), "sh", "-c", `echo "$0 $PPID"; exit 7`, "argument")
	require.Equal(t, 7, status)
	require.Equal(t, "argument "+strings.Fields(out)[1]+"\n", out)
	require.Empty(t, errs)

	_, errs, status = runLauncher(t, string(empty))
	require.Zero(t, status, errs)

	_, errs, status = runLauncher(t, string(empty), "no-such-command")
	require.Equal(t, 126, status)
	require.Equal(t, "sandbox: exec: \"no-such-command\": executable file not found in $PATH\n", errs)
}

// If a plan cannot be applied, the launcher prints an error of one line and does not
// run the command.
func TestExecRefusesBadPlans(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]string{
		"no JSON":            `x`,
		"unknown field":      `{"filters": ""}`,
		"wrong type":         `{"limits": 1}`,
		"unknown access":     `{"landlock": {"files": 9223372036854775808, "paths": []}}`,
		"access not handled": `{"landlock": {"files": 1, "paths": [{"path": "/", "access": 2}]}}`,
		"unknown namespace":  `{"namespaces": 1}`,
		"unknown mount":      `{"mounts": [{"type": "no-such-type", "target": "/nowhere", "data": ""}]}`,
		"unknown resource":   `{"limits": [{"resource": 99, "value": 1}]}`,
		"unknown capability": `{"bounding": 1000}`,
		"invalid program":    `{"filter": "AAAAAAAAAAA="}`,
		"half a program":     `{"filter": "AAAA"}`,
	} {
		out, errs, status := runLauncher(t, plan, "echo", "ran")
		require.Equal(t, 126, status, name)
		require.Empty(t, out, name)
		require.Regexp(t, `^sandbox: [^\n]+\n$`, errs, name)
	}
}

// If a process already has a lower hard limit, Exec keeps it.
func TestExecKeepsLowerResourceLimits(t *testing.T) {
	t.Parallel()
	plan, err := json.Marshal(sandbox.Plan{Rlimits: []sandbox.Rlimit{{Resource: unix.RLIMIT_NOFILE, Value: 1 << 40}, {Resource: unix.RLIMIT_CORE, Value: 0}}})
	require.NoError(t, err)
	var now unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &now))
	out, errs, status := runLauncher(t, string(plan), "sh", "-c", "ulimit -Hn; ulimit -Hc")
	require.Zero(t, status, errs)
	limits := strings.Fields(out)
	require.Len(t, limits, 2)
	require.NotEqual(t, "unlimited", limits[0])
	require.Equal(t, "0", limits[1])
}

// The sandboxed command has the same file descriptors and working folder as without a
// sandbox.
func TestExecKeepsDescriptorsAndFolder(t *testing.T) {
	t.Parallel()
	mode := launchMode{uid: os.Getuid()}
	machine := sandbox.ProbeMachine(t.Context(), []string{installedFilePath("sandbox.test"), "launch"})
	rules := mode.newRules(t)
	rules.Network = sandbox.NetworkLoopback
	plan, err := machine.Plan(rules)
	require.NoError(t, err)
	bare := []string{"sh", "-c", "pwd; cat <&3; ls /proc/self/fd"}
	sandboxed, err := plan.LauncherCommand([]string{installedFilePath("sandbox.test"), "launch"}, bare)
	require.NoError(t, err)

	var said []string
	for _, argv := range [][]string{bare, sandboxed} {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = rules.Workdir
		given, err := os.Open(installedFilePath("attempts.py"))
		require.NoError(t, err)
		cmd.ExtraFiles = []*os.File{given}
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		plan.SetProcAttr(cmd.SysProcAttr)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, given.Close())
		said = append(said, string(out))
	}
	require.Equal(t, said[0], said[1])
	require.Contains(t, said[1], rules.Workdir+"\n")
}
