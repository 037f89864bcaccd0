package attempt_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// "enforced" in an attempt's line covers all processes of that attempt: the session's kernel
// and agent, and the kernel that runs the notebook again for a grader.
func TestEnforcedRulesCoverAllProcessesOfAnAttempt(t *testing.T) {
	t.Parallel()
	result, dir := runAttempt(t, submitsAtOnce, map[string]any{
		"id": "enforced", "task": "Submit.",
		"graders": []any{map[string]any{"type": "notebook_check", "config": map[string]any{"must_run_clean": true}}},
	}, func(cfg *attempt.Config) {
		// The zero Machine cannot close the network.
		cfg.Kernel.Sandbox = &sandbox.Template{Rules: sandbox.Rules{Network: sandbox.NetworkOff, ReadPaths: []string{"/"}}}
	})
	require.Equal(t, runs.OutcomeCompleted, result.Outcome, result.Detail)
	require.FileExists(t, filepath.Join(dir, "rerun.ipynb"))
	isHeld, isRecorded := result.Enforced[sandbox.EnforcesNetwork]
	require.True(t, isRecorded)
	require.False(t, isHeld)
	require.True(t, result.Enforced[subprocess.EnforcesProcessGroup])
	require.True(t, result.Enforced["disk"])
}
