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

// fenced is how the exec door ends with a plan and a command.
func fenced(t *testing.T, plan string, argv ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), in("fence.test"), append([]string{"fence", plan, "--"}, argv...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestExec(t *testing.T) {
	t.Parallel()
	empty, err := json.Marshal(sandbox.Plan{})
	require.NoError(t, err)

	out, errs, status := fenced(t, string(empty), "sh", "-c", `echo "$0 $PPID"; exit 7`, "argument")
	require.Equal(t, 7, status)
	require.Equal(t, "argument "+strings.Fields(out)[1]+"\n", out)
	require.Empty(t, errs)

	_, errs, status = fenced(t, string(empty))
	require.Zero(t, status, errs)

	_, errs, status = fenced(t, string(empty), "no-such-command")
	require.Equal(t, 126, status)
	require.Equal(t, "fence: exec: \"no-such-command\": executable file not found in $PATH\n", errs)
}

// A plan is carried out as it stands, or is an error of one line.
func TestExecRefusesPlans(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]string{
		"no JSON":           `x`,
		"unknown field":     `{"filters": ""}`,
		"wrong type":        `{"limits": 1}`,
		"unknown access":    `{"landlock": {"files": 9223372036854775808, "paths": []}}`,
		"path not to be":    `{"landlock": {"files": 1, "paths": [{"path": "/", "access": 2}]}}`,
		"unknown namespace": `{"namespaces": 1}`,
		"no mount":          `{"mounts": [{"type": "no-such-type", "target": "/nowhere", "data": ""}]}`,
		"no resource":       `{"limits": [{"resource": 99, "value": 1}]}`,
		"no capability":     `{"bounding": 1000}`,
		"no program":        `{"filter": "AAAAAAAAAAA="}`,
		"half a program":    `{"filter": "AAAA"}`,
	} {
		out, errs, status := fenced(t, plan, "echo", "ran")
		require.Equal(t, 126, status, name)
		require.Empty(t, out, name)
		require.Regexp(t, `^fence: [^\n]+\n$`, errs, name)
	}
}

// A limit that is there already, and lower, stays.
func TestExecKeepsLowerLimits(t *testing.T) {
	t.Parallel()
	plan, err := json.Marshal(sandbox.Plan{Rlimits: []sandbox.Rlimit{{Resource: unix.RLIMIT_NOFILE, Value: 1 << 40}, {Resource: unix.RLIMIT_CORE, Value: 0}}})
	require.NoError(t, err)
	var now unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &now))
	out, errs, status := fenced(t, string(plan), "sh", "-c", "ulimit -Hn; ulimit -Hc")
	require.Zero(t, status, errs)
	limits := strings.Fields(out)
	require.Len(t, limits, 2)
	require.NotEqual(t, "unlimited", limits[0])
	require.Equal(t, "0", limits[1])
}

// The command has the descriptors, the folder and the process that it would have
// without a fence, and no more.
func TestExecKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	w := way{uid: os.Getuid()}
	machine := sandbox.ProbeMachine(t.Context(), []string{in("fence.test"), "fence"})
	rules := w.rules(t)
	rules.Network = sandbox.NetworkLoopback
	plan, err := machine.Plan(rules)
	require.NoError(t, err)
	bare := []string{"sh", "-c", "pwd; cat <&3; ls /proc/self/fd"}
	fenced, err := plan.LauncherCommand([]string{in("fence.test"), "fence"}, bare)
	require.NoError(t, err)

	var said []string
	for _, argv := range [][]string{bare, fenced} {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = rules.Workdir
		given, err := os.Open(in("attempts.py"))
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
