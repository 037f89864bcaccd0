package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/trace"
)

// The enforced rules are those of the children that were started, not of what the machine could
// do: a rule is enforced only if it was for every child in a sandbox.
func TestEnforcedRulesHoldForEveryChild(t *testing.T) {
	t.Parallel()
	machine := sandbox.ProbeMachine(t.Context(), sandboxLauncherCommand())
	if !machine.Seccomp {
		t.Skip("this machine cannot close the network")
	}
	rules := sandbox.Rules{Network: sandbox.NetworkOff, ReadPaths: []string{"/"}}
	confined, unconfined := &sandbox.Template{Machine: machine, Rules: rules}, &sandbox.Template{Rules: rules}
	for name, c := range map[string]struct {
		agent  *sandbox.Template
		isHeld bool
	}{
		"agent without a sandbox":               {nil, true},
		"agent in the same sandbox":             {confined, true},
		"agent in a sandbox that holds nothing": {unconfined, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel, agent := silentKernelConfig(), silentAgentConfig()
			kernel.Sandbox, agent.Sandbox = confined, c.agent
			s := startSession(t, newSupervisor(t), session.Config{Kernel: kernel, Agent: agent, MaxDiskBytes: 1 << 20})
			require.NoError(t, s.End(t.Context(), "enough"))
			enforced := s.EnforcedRules()
			require.Equal(t, c.isHeld, enforced[sandbox.EnforcesNetwork])
			require.True(t, enforced[subprocess.EnforcesProcessGroup])
			require.Contains(t, enforced, subprocess.EnforcesCgroupKill)
			require.True(t, enforced["disk"])
		})
	}
}

// A kernel that was replaced counts, too, when the enforced rules are combined.
func TestEnforcedRulesCountReplacedKernels(t *testing.T) {
	t.Parallel()
	kernel := silentKernelConfig()
	kernel.Sandbox = &sandbox.Template{Rules: sandbox.Rules{Network: sandbox.NetworkOff, ReadPaths: []string{"/"}}} // the zero Machine holds nothing
	s := startSession(t, newSupervisor(t), session.Config{Kernel: kernel})
	require.False(t, s.EnforcedRules()[sandbox.EnforcesNetwork])
	kernel.Sandbox.Machine = sandbox.ProbeMachine(t.Context(), sandboxLauncherCommand())
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	s.awaitEntry(t, "the second kernel", entryMatcher(trace.KernelToServer, protocol.TypeReady))
	isHeld, isRecorded := s.EnforcedRules()[sandbox.EnforcesNetwork]
	require.True(t, isRecorded)
	require.False(t, isHeld)
}

func TestCombineEnforcedRules(t *testing.T) {
	t.Parallel()
	combined := map[string]bool{}
	for _, record := range []map[string]bool{
		{"both": true, "first false": false, "only first": true},
		{"both": true, "first false": true, "second false": false, "only second": true},
		{"both": true, "second false": true},
	} {
		session.CombineEnforcedRules(combined, record)
	}
	require.Equal(t, map[string]bool{
		"both": true, "first false": false, "second false": false, "only first": true, "only second": true,
	}, combined)
}
