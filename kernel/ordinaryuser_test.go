package kernel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
	"assay/kernel"
)

// becomeOrdinaryUser reports whether this process is an ordinary user's. If it is root's, it runs the same test once
// more as nobody, with a copy of this test program, and fails or skips the test if that does.
func becomeOrdinaryUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "kernel-ordinary-") //nolint:usetesting // other users cannot enter the test's own folder
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	program, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	copied := filepath.Join(dir, "kernel.test")
	require.NoError(t, os.WriteFile(copied, program, 0o755))
	require.NoError(t, os.Chown(dir, nobody, nobody))
	cmd := exec.CommandContext(t.Context(), copied, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	text, err := cmd.CombinedOutput()
	t.Logf("as nobody:\n%s", text)
	require.NoError(t, err)
	if strings.Contains(string(text), "--- SKIP") {
		t.Skip("no PID namespace can be made here")
	}
	require.Contains(t, string(text), "--- PASS: "+t.Name())
	return false
}

// startPoolInPIDNamespaces is startPool with a sandbox in which each kernel gets a PID namespace. The test is skipped
// if none can be made.
func startPoolInPIDNamespaces(t *testing.T, maxKernels int) *testPool {
	t.Helper()
	launcher := []string{os.Args[0], launcherRole}
	machine := sandbox.ProbeMachine(t.Context(), launcher)
	if !machine.PIDNamespaces {
		t.Skip("no PID namespace can be made here")
	}
	w := startPool(t, "python3", kernel.PoolConfig{MaxKernels: maxKernels})
	w.sandbox = &sandbox.Template{Machine: machine}
	return w
}

// The parent of a kernel in a PID namespace is reported as the server sees it. Its kernels can be stopped when it has died.
func TestDeadParentIsReplacedForOrdinaryUser(t *testing.T) {
	t.Parallel()
	if becomeOrdinaryUser(t) {
		requireDeadParentIsReplaced(t, startPoolInPIDNamespaces(t, 4))
	}
}

func TestStoppedKernelsLeaveNoProcessesForOrdinaryUser(t *testing.T) {
	t.Parallel()
	if becomeOrdinaryUser(t) {
		requireStoppedKernelsLeaveNoProcesses(t, startPoolInPIDNamespaces(t, 20))
	}
}
