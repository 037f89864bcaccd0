package fence_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/fence"
)

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	for want, rules := range map[string]fence.Rules{
		`the path "" is not absolute`:                          {},
		`the path "x" is not absolute`:                         {Root: "/", Read: []string{"x"}},
		`the path "./y" is not absolute`:                       {Root: "/", Write: []string{"./y"}},
		`the network is "of", and must be on, loopback or off`: {Root: "/", Network: "of"},
		`a limit is below 0`:                                   {Root: "/", Memory: -1},
	} {
		_, err := fence.Machine{}.Plan(rules)
		require.EqualError(t, err, "fence: "+want)
	}
	_, err := fence.Machine{Landlock: 1}.Plan(fence.Rules{Root: "/no/such/folder"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A machine that can do nothing but limits has a plan too, and says so.
func TestPoorMachine(t *testing.T) {
	t.Parallel()
	rules := fence.Rules{Root: t.TempDir(), Network: fence.NetworkOff, Memory: 1, Processes: 2, OpenFiles: 3, FileSize: 4}
	plan, err := fence.Machine{Root: true}.Plan(rules)
	require.NoError(t, err)
	require.Equal(t, fence.Plan{Limits: []fence.Limit{
		{Resource: unix.RLIMIT_DATA, Value: 1}, {Resource: unix.RLIMIT_NOFILE, Value: 3}, {Resource: unix.RLIMIT_FSIZE, Value: 4},
	}}, plan)

	enforced := fence.Machine{Root: true}.Enforced(rules)
	require.Equal(t, map[string]bool{
		"read": false, "write": false, "attributes": false, "network": false, "unix_sockets": false, "signals": false,
		"capabilities": true, "environment": false, "shared_memory": false,
		"memory": true, "processes": false, "open_files": true, "file_size": true,
	}, enforced)
	require.Len(t, fence.Missing(enforced), 8)
}

func TestEnforced(t *testing.T) {
	t.Parallel()
	full := fence.Machine{Landlock: 9, Seccomp: true, Mounts: true, Networks: true, Pids: true, Root: true}
	rules := fence.Rules{Root: "/x", Network: fence.NetworkLoopback, Processes: 1}
	enforced := full.Enforced(rules)
	for name, held := range enforced {
		require.Equal(t, name != fence.HoldsAttributes, held, name)
	}
	require.Empty(t, fence.Missing(enforced))

	for name, test := range map[string]struct {
		promise string
		change  func(*fence.Machine, *fence.Rules)
	}{
		"truncation":           {fence.HoldsWrite, func(m *fence.Machine, _ *fence.Rules) { m.Landlock = 2 }},
		"signals":              {fence.HoldsSignals, func(m *fence.Machine, _ *fence.Rules) { m.Landlock = 5 }},
		"signals, by limits":   {fence.HoldsSignals, func(m *fence.Machine, _ *fence.Rules) { m.Seccomp = false }},
		"sockets":              {fence.HoldsUnixSockets, func(m *fence.Machine, _ *fence.Rules) { m.Landlock = 8 }},
		"loopback":             {fence.HoldsNetwork, func(m *fence.Machine, _ *fence.Rules) { m.Networks = false }},
		"no network":           {fence.HoldsNetwork, func(m *fence.Machine, r *fence.Rules) { m.Seccomp, r.Network = false, fence.NetworkOff }},
		"processes of root":    {fence.HoldsProcesses, func(m *fence.Machine, _ *fence.Rules) { m.Pids = false }},
		"a root in the memory": {fence.HoldsSharedMemory, func(_ *fence.Machine, r *fence.Rules) { r.Root = "/dev/shm/x" }},
	} {
		m, r := full, rules
		test.change(&m, &r)
		require.False(t, m.Enforced(r)[test.promise], name)
		require.NotEmpty(t, fence.Missing(m.Enforced(r)), name)
	}
	closed := fence.Rules{Root: "/x", Network: fence.NetworkOff}
	require.True(t, fence.Machine{Seccomp: true}.Enforced(closed)[fence.HoldsUnixSockets])
}

// Older versions of Landlock get plans that they can carry out.
func TestOlderLandlock(t *testing.T) {
	t.Parallel()
	machine := fence.Probe(t.Context(), []string{in("fence.test"), "fence"})
	if machine.Landlock == 0 {
		t.Skip("this machine has no Landlock")
	}
	root := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, nil, 0o600))
	for version := 1; version <= machine.Landlock; version++ {
		older := fence.Machine{Landlock: version, Seccomp: machine.Seccomp}
		plan, err := older.Plan(fence.Rules{Root: root, Read: fence.System(), Network: fence.NetworkOff})
		require.NoError(t, err)
		text, err := json.Marshal(plan)
		require.NoError(t, err)
		out, errs, status := fenced(t, string(text), "sh", "-c", `cd "$0" && echo x >made && cat made; cat "$1"`, root, secret)
		require.Equal(t, "x\n", out, errs)
		require.Contains(t, errs, "Permission denied")
		require.NotZero(t, status)
	}
}

// Nothing is mounted over what the rules name.
func TestRootInSharedMemory(t *testing.T) {
	t.Parallel()
	machine := fence.Machine{Landlock: 7, Mounts: true}
	plan, err := machine.Plan(fence.Rules{Root: "/dev/shm"})
	require.NoError(t, err)
	require.Empty(t, plan.Mounts)
	plan, err = machine.Plan(fence.Rules{Root: t.TempDir()})
	require.NoError(t, err)
	require.Len(t, plan.Mounts, 2)
}

// A door that does not open is no machine to enforce anything by doors.
func TestProbeWithoutDoor(t *testing.T) {
	t.Parallel()
	machine := fence.Probe(t.Context(), []string{"false"})
	require.False(t, machine.Seccomp || machine.Mounts || machine.Networks)
	require.Zero(t, machine.Landlock)
}
