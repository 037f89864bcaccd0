package attempt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
)

// A program of the agent that a check starts cannot fill the disk.
func TestDiskLimitOfCheck(t *testing.T) {
	t.Parallel()
	const setup = `with open("fill.py", "w") as file:
    file.write("""
import time
for n in range(100):
    with open(f"part{n}", "wb") as file:
        file.write(b"x" * (1 << 20))
    time.sleep(0.1)
""")`
	result, _ := runAttempt(t, submitsAtOnce, map[string]any{
		"id": "disk", "task": "Submit.", "setup": setup,
		"graders": []any{map[string]any{"type": "kernel_check", "config": map[string]any{
			"code": "import subprocess, sys\nsubprocess.run([sys.executable, 'fill.py'])",
		}}},
	}, func(cfg *attempt.Config) { cfg.LimitOverrides.MaxDiskBytes = 3 << 20 })
	require.Equal(t, runs.OutcomeCompleted, result.Outcome, result.Detail)
	require.NotNil(t, result.Passed)
	require.False(t, *result.Passed)
	require.Contains(t, string(result.Graders[0]), "disk: configured 3MiB, measured ")
}
