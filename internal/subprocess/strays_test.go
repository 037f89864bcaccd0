package subprocess_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// Where no cgroup of version 2 and no namespace contains a process, Stop finds what has left the process
// group by the cgroup of version 1 that limits the number of processes.
func TestStopKillsUnderAPidsLimit(t *testing.T) {
	t.Parallel()
	sup := newSupervisorWithoutCgroups(t)
	if sup.Enforceable()["cgroup_kill"] {
		requireVersion1(t)
	}
	spec := specForRole("leaves processes when asked")
	spec.MaxProcesses = 100
	for _, how := range []string{"stopped", "died"} {
		p := startProcess(t, sup, spec)
		_, err := p.AwaitReady(t.Context(), testWaitTimeout)
		require.NoError(t, err)
		enforced := p.Enforced()
		if !enforced[sandbox.EnforcesProcesses] {
			t.Skip("no pids cgroup can be written here")
		}
		require.False(t, enforced["cgroup_kill"])
		require.NotContains(t, enforced, "namespace_kill", "there is no sandbox")
		require.NoError(t, p.Write([]byte(`{}`))) // a process that it starts before it is under the limit is not
		_, err = p.Read()
		require.NoError(t, err)
		p.DrainOutput()
		inside, outside := parseTwoNumbers(t, p.LastOutput())
		require.Contains(t, []string{"S", "R"}, processState(outside), "it runs")
		if how == "died" {
			require.NoError(t, p.Write([]byte(`"die"`)))
			<-p.Exited()
			require.Contains(t, []string{"S", "R"}, processState(outside), "its group does not contain it")
		}
		require.NoError(t, p.Stop(t.Context()))
		requireProcessEnded(t, inside)
		requireProcessEnded(t, outside)
	}
}

// requireVersion1 skips the test unless the controller pids has cgroups of version 1.
func requireVersion1(t *testing.T) {
	t.Helper()
	limit, err := sandbox.NewPidsLimit(100, "")
	if err != nil {
		t.Skip("no pids cgroup can be written here")
	}
	defer func() { require.NoError(t, limit.Remove()) }()
	if _, err := os.Stat(filepath.Join(limit.Dir(), "cgroup.controllers")); err == nil {
		t.Skip("the pids controller has cgroups of version 2 here")
	}
}
