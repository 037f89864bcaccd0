package subprocess_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// newSupervisorWithoutCgroups returns a Supervisor with a sandbox launcher whose subprocesses get no
// cgroups, as those of an ordinary user.
func newSupervisorWithoutCgroups(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{
		CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: []string{os.Args[0], launcherArg},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	if sup.Enforceable()["cgroup_kill"] {
		require.NoError(t, os.WriteFile(filepath.Join(sup.CgroupDir(), "cgroup.max.descendants"), []byte("0"), 0))
	}
	return sup
}

// specInNamespace returns specForRole in a sandbox that is nothing but a mount namespace.
func specInNamespace(t *testing.T, role string) subprocess.Spec {
	t.Helper()
	spec := specForRole(role)
	spec.Sandbox = &sandbox.Plan{Namespaces: unix.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		spec.Sandbox.Namespaces |= unix.CLONE_NEWUSER
	}
	if !sandbox.ProbeMachine(t.Context(), []string{os.Args[0], launcherArg}).MountNamespaces {
		t.Skip("no namespace can be made here")
	}
	return spec
}

// Without cgroups, a process that has left its process group is found by the namespace of its sandbox.
func TestStopKillsNamespace(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stopped", "died"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, newSupervisorWithoutCgroups(t), specInNamespace(t, "leaves processes"))
			require.Equal(t, map[string]bool{"process_group": true, "cgroup_kill": false, "namespace_kill": false}, p.Enforced())
			_, err := p.AwaitReady(t.Context(), testWaitTimeout)
			require.NoError(t, err)
			require.False(t, p.Enforced()["namespace_kill"], "a process that starts others all the time can evade it")
			p.DrainOutput()
			inside, outside := parseTwoNumbers(t, p.LastOutput())
			if how == "died" {
				require.NoError(t, p.Write([]byte(`"die"`)))
				<-p.Exited()
			}
			require.NoError(t, p.Stop(t.Context()))
			requireProcessEnded(t, inside)
			requireProcessEnded(t, outside)
		})
	}
}

// The cleanup helper of a killed server kills what is in the namespaces of its sandboxes.
func TestCleanupHelperKillsNamespace(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisorWithoutCgroups(t), specInNamespace(t, "leaves processes"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	p.DrainOutput()
	_, outside := parseTwoNumbers(t, p.LastOutput())
	lines := fmt.Sprintf("namespace %[1]d\nnonamespace %[1]d\nnamespace %[1]d\nnamespace %[2]d\n", p.PID(), os.Getpid())
	require.NoError(t, subprocess.RunCleanupHelper(strings.NewReader(lines)), "the test's own namespace is left alone")
	requireProcessEnded(t, outside)
	<-p.Exited()
}

// Without cgroups, a process that has left its process group stands still with the others.
func TestFreezeStopsNamespace(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisorWithoutCgroups(t), specInNamespace(t, "leaves processes"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	p.DrainOutput()
	inside, outside := parseTwoNumbers(t, p.LastOutput())
	requireAllInState := func(states ...string) {
		for _, pid := range []int{p.PID(), inside, outside} {
			require.Eventually(t, func() bool { return slices.Contains(states, processState(pid)) }, testWaitTimeout, time.Millisecond)
		}
	}
	for range 2 {
		thaw := p.Freeze()
		requireAllInState("T")
		thaw()
		requireAllInState("S", "R")
	}
	p.Freeze()
	require.NoError(t, p.Stop(t.Context()), "they can be stopped")
	requireProcessEnded(t, outside)
}
