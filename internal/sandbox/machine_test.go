package sandbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	for want, rules := range map[string]sandbox.Rules{
		`the path "" is not absolute`:                          {},
		`the path "x" is not absolute`:                         {Root: "/", Read: []string{"x"}},
		`the path "./y" is not absolute`:                       {Root: "/", Write: []string{"./y"}},
		`the network is "of", and must be on, loopback or off`: {Root: "/", Network: "of"},
		`a limit is below 0`:                                   {Root: "/", Memory: -1},
	} {
		_, err := sandbox.Machine{}.Plan(rules)
		require.EqualError(t, err, "fence: "+want)
	}
	_, err := sandbox.Machine{Landlock: 1}.Plan(sandbox.Rules{Root: "/no/such/folder"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A machine that can do nothing but limits has a plan too, and says so.
func TestPoorMachine(t *testing.T) {
	t.Parallel()
	rules := sandbox.Rules{Root: t.TempDir(), Network: sandbox.NetworkOff, Memory: 1, Processes: 2, OpenFiles: 3, FileSize: 4}
	plan, err := sandbox.Machine{Root: true}.Plan(rules)
	require.NoError(t, err)
	require.Equal(t, sandbox.Plan{Limits: []sandbox.Limit{
		{Resource: unix.RLIMIT_DATA, Value: 1}, {Resource: unix.RLIMIT_NOFILE, Value: 3}, {Resource: unix.RLIMIT_FSIZE, Value: 4},
	}}, plan)

	enforced := sandbox.Machine{Root: true}.Enforced(rules)
	require.Equal(t, map[string]bool{
		"read": false, "write": false, "attributes": false, "network": false, "unix_sockets": false, "signals": false,
		"capabilities": true, "environment": false, "shared_memory": false,
		"memory": true, "processes": false, "open_files": true, "file_size": true,
	}, enforced)
	require.Len(t, sandbox.Missing(enforced), 8)
}

func TestEnforced(t *testing.T) {
	t.Parallel()
	full := sandbox.Machine{Landlock: 9, Seccomp: true, Mounts: true, Networks: true, Pids: true, Root: true}
	rules := sandbox.Rules{Root: "/x", Network: sandbox.NetworkLoopback, Processes: 1}
	enforced := full.Enforced(rules)
	for name, held := range enforced {
		require.Equal(t, name != sandbox.HoldsAttributes, held, name)
	}
	require.Empty(t, sandbox.Missing(enforced))

	for name, test := range map[string]struct {
		promise string
		change  func(*sandbox.Machine, *sandbox.Rules)
	}{
		"truncation":           {sandbox.HoldsWrite, func(m *sandbox.Machine, _ *sandbox.Rules) { m.Landlock = 2 }},
		"signals":              {sandbox.HoldsSignals, func(m *sandbox.Machine, _ *sandbox.Rules) { m.Landlock = 5 }},
		"signals, by limits":   {sandbox.HoldsSignals, func(m *sandbox.Machine, _ *sandbox.Rules) { m.Seccomp = false }},
		"sockets":              {sandbox.HoldsUnixSockets, func(m *sandbox.Machine, _ *sandbox.Rules) { m.Landlock = 8 }},
		"loopback":             {sandbox.HoldsNetwork, func(m *sandbox.Machine, _ *sandbox.Rules) { m.Networks = false }},
		"no network":           {sandbox.HoldsNetwork, func(m *sandbox.Machine, r *sandbox.Rules) { m.Seccomp, r.Network = false, sandbox.NetworkOff }},
		"processes of root":    {sandbox.HoldsProcesses, func(m *sandbox.Machine, _ *sandbox.Rules) { m.Pids = false }},
		"a root in the memory": {sandbox.HoldsSharedMemory, func(_ *sandbox.Machine, r *sandbox.Rules) { r.Root = "/dev/shm/x" }},
	} {
		m, r := full, rules
		test.change(&m, &r)
		require.False(t, m.Enforced(r)[test.promise], name)
		require.NotEmpty(t, sandbox.Missing(m.Enforced(r)), name)
	}
	closed := sandbox.Rules{Root: "/x", Network: sandbox.NetworkOff}
	require.True(t, sandbox.Machine{Seccomp: true}.Enforced(closed)[sandbox.HoldsUnixSockets])
}

// Older versions of Landlock get plans that they can carry out.
func TestOlderLandlock(t *testing.T) {
	t.Parallel()
	machine := sandbox.Probe(t.Context(), []string{in("fence.test"), "fence"})
	if machine.Landlock == 0 {
		t.Skip("this machine has no Landlock")
	}
	root := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, nil, 0o600))
	for version := 1; version <= machine.Landlock; version++ {
		older := sandbox.Machine{Landlock: version, Seccomp: machine.Seccomp}
		plan, err := older.Plan(sandbox.Rules{Root: root, Read: sandbox.System(), Network: sandbox.NetworkOff})
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
	machine := sandbox.Machine{Landlock: 7, Mounts: true}
	plan, err := machine.Plan(sandbox.Rules{Root: "/dev/shm"})
	require.NoError(t, err)
	require.Empty(t, plan.Mounts)
	plan, err = machine.Plan(sandbox.Rules{Root: t.TempDir()})
	require.NoError(t, err)
	require.Len(t, plan.Mounts, 2)
}

// A door that does not open is no machine to enforce anything by doors.
func TestProbeWithoutDoor(t *testing.T) {
	t.Parallel()
	machine := sandbox.Probe(t.Context(), []string{"false"})
	require.False(t, machine.Seccomp || machine.Mounts || machine.Networks)
	require.Zero(t, machine.Landlock)
}
