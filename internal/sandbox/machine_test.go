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

func TestPlanRefusesInvalidRules(t *testing.T) {
	t.Parallel()
	for want, rules := range map[string]sandbox.Rules{
		`the path "" is not absolute`:                          {},
		`the path "x" is not absolute`:                         {Workdir: "/", ReadPaths: []string{"x"}},
		`the path "./y" is not absolute`:                       {Workdir: "/", WritePaths: []string{"./y"}},
		`the network is "of", and must be on, loopback or off`: {Workdir: "/", Network: "of"},
		`a limit is below 0`:                                   {Workdir: "/", MaxMemoryBytes: -1},
	} {
		_, err := sandbox.Machine{}.Plan(rules)
		require.EqualError(t, err, "sandbox: "+want)
	}
	_, err := sandbox.Machine{LandlockVersion: 1}.Plan(sandbox.Rules{Workdir: "/no/such/folder"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A machine that can enforce only resource limits gets a plan with only these, and
// Enforceable says so.
func TestMachineWithResourceLimitsOnly(t *testing.T) {
	t.Parallel()
	rules := sandbox.Rules{Workdir: t.TempDir(), Network: sandbox.NetworkOff, MaxMemoryBytes: 1, MaxProcesses: 2, MaxOpenFiles: 3, MaxFileBytes: 4}
	plan, err := sandbox.Machine{IsRoot: true}.Plan(rules)
	require.NoError(t, err)
	require.Equal(t, sandbox.Plan{Rlimits: []sandbox.Rlimit{
		{Resource: unix.RLIMIT_DATA, Value: 1}, {Resource: unix.RLIMIT_NOFILE, Value: 3}, {Resource: unix.RLIMIT_FSIZE, Value: 4},
	}, Enforces: sandbox.Machine{IsRoot: true}.Enforceable(rules)}, plan)

	enforced := sandbox.Machine{IsRoot: true}.Enforceable(rules)
	require.Equal(t, map[string]bool{
		"read": false, "write": false, "attributes": false, "network": false, "unix_sockets": false, "signals": false,
		"capabilities": true, "environment": false, "shared_memory": false, "process_list": false,
		"memory": true, "total_memory": false, "processes": false, "open_files": true, "file_size": true,
	}, enforced)
	require.Len(t, sandbox.DescribeUnenforced(enforced), 11)
}

// A plan does not claim a cgroup that limits processes, because it cannot know whether
// the process gets one.
func TestPlanDoesNotClaimPidsCgroup(t *testing.T) {
	t.Parallel()
	for isRoot, want := range map[bool]bool{true: false, false: true} {
		machine := sandbox.Machine{PidsCgroups: true, IsRoot: isRoot}
		rules := sandbox.Rules{Workdir: t.TempDir(), MaxProcesses: 2}
		plan, err := machine.Plan(rules)
		require.NoError(t, err)
		require.True(t, machine.Enforceable(rules)[sandbox.EnforcesProcesses])
		require.Equal(t, want, plan.Enforces[sandbox.EnforcesProcesses], "root: %v", isRoot)
	}
}

// Nor does it claim a cgroup that limits memory.
func TestPlanDoesNotClaimMemoryCgroup(t *testing.T) {
	t.Parallel()
	machine := sandbox.Machine{MemoryCgroups: true}
	rules := sandbox.Rules{Workdir: t.TempDir(), MaxMemoryBytes: 1 << 30}
	plan, err := machine.Plan(rules)
	require.NoError(t, err)
	require.True(t, machine.Enforceable(rules)[sandbox.EnforcesTotalMemory])
	require.False(t, plan.Enforces[sandbox.EnforcesTotalMemory])

	template := &sandbox.Template{Machine: machine, Rules: rules}
	require.EqualValues(t, 1<<30+1<<28+64<<20, template.TotalMemoryBytes())
	template.Machine.MemoryCgroups = false
	require.Zero(t, template.TotalMemoryBytes(), "it cannot be limited")
	require.Zero(t, (&sandbox.Template{Machine: machine}).TotalMemoryBytes(), "nobody asked for it")
	require.Zero(t, (*sandbox.Template)(nil).TotalMemoryBytes())
}

func TestEnforceable(t *testing.T) {
	t.Parallel()
	full := sandbox.Machine{LandlockVersion: 9, Seccomp: true, MountNamespaces: true, ReadOnlyMounts: true, NetworkNamespaces: true, HiddenProcesses: true, PidsCgroups: true, MemoryCgroups: true, IsRoot: true}
	rules := sandbox.Rules{Workdir: "/x", Network: sandbox.NetworkLoopback, MaxProcesses: 1}
	enforced := full.Enforceable(rules)
	for name, held := range enforced {
		require.True(t, held, name)
	}
	require.Empty(t, sandbox.DescribeUnenforced(enforced))

	for name, test := range map[string]struct {
		key    string
		change func(*sandbox.Machine, *sandbox.Rules)
	}{
		"truncation":         {sandbox.EnforcesWrite, func(m *sandbox.Machine, _ *sandbox.Rules) { m.LandlockVersion = 2 }},
		"signals":            {sandbox.EnforcesSignals, func(m *sandbox.Machine, _ *sandbox.Rules) { m.LandlockVersion = 5 }},
		"signals, by limits": {sandbox.EnforcesSignals, func(m *sandbox.Machine, _ *sandbox.Rules) { m.Seccomp = false }},
		"sockets":            {sandbox.EnforcesUnixSockets, func(m *sandbox.Machine, _ *sandbox.Rules) { m.LandlockVersion = 8 }},
		"loopback":           {sandbox.EnforcesNetwork, func(m *sandbox.Machine, _ *sandbox.Rules) { m.NetworkNamespaces = false }},
		"one port": {sandbox.EnforcesNetwork, func(m *sandbox.Machine, r *sandbox.Rules) {
			m.NetworkNamespaces, r.Network, r.ListenerPort = false, sandbox.NetworkOff, 1
		}},
		"no network":          {sandbox.EnforcesNetwork, func(m *sandbox.Machine, r *sandbox.Rules) { m.Seccomp, r.Network = false, sandbox.NetworkOff }},
		"processes of root":   {sandbox.EnforcesProcesses, func(m *sandbox.Machine, _ *sandbox.Rules) { m.PidsCgroups = false }},
		"list of processes":   {sandbox.EnforcesProcessList, func(m *sandbox.Machine, _ *sandbox.Rules) { m.LandlockVersion = 0 }},
		"list of others":      {sandbox.EnforcesProcessList, func(m *sandbox.Machine, _ *sandbox.Rules) { m.HiddenProcesses = false }},
		"Workdir in /dev/shm": {sandbox.EnforcesSharedMemory, func(_ *sandbox.Machine, r *sandbox.Rules) { r.Workdir = "/dev/shm/x" }},
	} {
		m, r := full, rules
		test.change(&m, &r)
		require.False(t, m.Enforceable(r)[test.key], name)
		require.NotEmpty(t, sandbox.DescribeUnenforced(m.Enforceable(r)), name)
	}
	closed := sandbox.Rules{Workdir: "/x", Network: sandbox.NetworkOff}
	require.True(t, sandbox.Machine{Seccomp: true}.Enforceable(closed)[sandbox.EnforcesUnixSockets])
	closed.ListenerPort = 1
	enforced = sandbox.Machine{Seccomp: true, NetworkNamespaces: true}.Enforceable(closed)
	require.True(t, enforced[sandbox.EnforcesNetwork] && enforced[sandbox.EnforcesUnixSockets])
}

// The launcher opens a listener only in a private network, which NetworkOff has if there is one.
func TestPlanWithListener(t *testing.T) {
	t.Parallel()
	for network, isPrivate := range map[sandbox.Network]bool{"": false, sandbox.NetworkOn: false, sandbox.NetworkLoopback: true, sandbox.NetworkOff: true} {
		rules := sandbox.Rules{Workdir: t.TempDir(), Network: network}
		template := &sandbox.Template{Machine: sandbox.Machine{NetworkNamespaces: true}, Rules: rules}
		require.Equal(t, network == sandbox.NetworkLoopback, template.HasPrivateNetwork(), network)
		plan, err := template.PlanFor(rules.Workdir)
		require.NoError(t, err)
		require.Nil(t, plan.Listener)
		template = template.WithListener(7)
		require.Equal(t, isPrivate, template.HasPrivateNetwork(), network)
		plan, err = template.PlanFor(rules.Workdir)
		require.NoError(t, err)
		require.Equal(t, isPrivate, plan.Listener != nil && plan.Listener.Port == 7, network)
		require.Equal(t, isPrivate, plan.RaiseLoopback, network)

		template.Machine.NetworkNamespaces = false
		require.False(t, template.HasPrivateNetwork())
		plan, err = template.PlanFor(rules.Workdir)
		require.NoError(t, err)
		require.Nil(t, plan.Listener)
	}
	require.False(t, (*sandbox.Template)(nil).WithListener(7).HasPrivateNetwork())
}

// Plans for machines with older versions of Landlock use only what these versions know.
func TestOlderLandlockVersions(t *testing.T) {
	t.Parallel()
	machine := sandbox.ProbeMachine(t.Context(), []string{installedFilePath("sandbox.test"), "launch"})
	if machine.LandlockVersion == 0 {
		t.Skip("this machine has no Landlock")
	}
	root := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, nil, 0o600))
	for version := 1; version <= machine.LandlockVersion; version++ {
		older := sandbox.Machine{LandlockVersion: version, Seccomp: machine.Seccomp}
		plan, err := older.Plan(sandbox.Rules{Workdir: root, ReadPaths: sandbox.SystemPaths(), Network: sandbox.NetworkOff})
		require.NoError(t, err)
		text, err := json.Marshal(plan)
		require.NoError(t, err)
		out, errs, status := runLauncher(t, string(text), "sh", "-c", `cd "$0" && echo x >made && cat made; cat "$1"`, root, secret)
		require.Equal(t, "x\n", out, errs)
		require.Contains(t, errs, "Permission denied")
		require.NotZero(t, status)
	}
}

// A plan mounts nothing over a path that the rules name.
func TestNoMountHidesWorkdir(t *testing.T) {
	t.Parallel()
	machine := sandbox.Machine{LandlockVersion: 7, MountNamespaces: true}
	plan, err := machine.Plan(sandbox.Rules{Workdir: "/dev/shm"})
	require.NoError(t, err)
	require.Empty(t, plan.Mounts)
	plan, err = machine.Plan(sandbox.Rules{Workdir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, "/dev/shm", plan.Mounts[0].Target)
}

// If the launcher fails, the machine counts as unable to enforce everything that a
// launcher sets up.
func TestProbeMachineWithBrokenLauncher(t *testing.T) {
	t.Parallel()
	machine := sandbox.ProbeMachine(t.Context(), []string{"false"})
	require.False(t, machine.Seccomp || machine.MountNamespaces || machine.NetworkNamespaces)
	require.Zero(t, machine.LandlockVersion)
}
