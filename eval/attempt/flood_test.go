package attempt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/trace"
)

// The attempt reads the trace while it collects the notebook. So an agent that sends very many
// messages after its submission loses neither the collected state nor the verdict of a grader
// that asks the kernel. Collecting takes 2 s here, because the kernel spends 0.1 s on the repr
// of each of 20 globals. A thread in the kernel prints all the time, because the server notices
// a full trace queue only when it reads a further message of the kernel.
func TestFloodAfterSubmissionKeepsCollectedState(t *testing.T) {
	t.Parallel()
	cell := `import threading, time
def tick():
    while True:
        print("tick", flush=True)
        time.sleep(0.05)
threading.Thread(target=tick, daemon=True).start()
class Slow:
    def __repr__(self):
        time.sleep(1)
globals().update({f"slow{n}": Slow() for n in range(20)})
kept = 41`
	result, dir := runAttempt(t, floodsAfterSubmission, map[string]any{
		"id": "flood", "task": cell,
		"graders": []any{
			map[string]any{"type": "exact", "config": map[string]any{"ground_truth": map[string]any{"n": 1}}},
			map[string]any{"type": "kernel_check", "config": map[string]any{"code": "kept == 41"}},
		},
	})
	requirePassed(t, result)
	text, err := os.ReadFile(filepath.Join(dir, "state.json"))
	require.NoError(t, err)
	var state session.CollectedState
	require.NoError(t, json.Unmarshal(text, &state))
	require.Empty(t, state.Errors)
	require.Contains(t, string(state.Globals), `"kept"`)
}

// An agent that sends very many messages while the case's setup runs, before it has its task,
// does not make the attempt fail. The setup takes longer than the agent's reader waits for room
// in the trace's queue.
func TestFloodDuringSetupDoesNotFailAttempt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	setup := fmt.Sprintf("import time\ntime.sleep(%g)\nready = True", (trace.RoomTimeout + time.Second).Seconds())
	result, _ := runAttempt(t, floodsBeforeTask, map[string]any{
		"id": "flood", "task": "Submit.", "setup": setup,
		"graders": []any{map[string]any{"type": "kernel_check", "config": map[string]any{"code": "ready"}}},
	})
	requirePassed(t, result)
}

// requirePassed fails the test unless the attempt's outcome is completed and its graders'
// verdict is passed.
func requirePassed(t *testing.T, result runs.Attempt) {
	t.Helper()
	require.Equal(t, runs.OutcomeCompleted, result.Outcome, result.Detail)
	require.NotNil(t, result.Passed)
	require.True(t, *result.Passed, "%s", result.Graders)
}

// What fills the trace beyond its limit is killed at once, and the notebook is collected without it.
func TestTraceLimitKillsKernelAndAgent(t *testing.T) {
	t.Parallel()
	result, dir := runAttempt(t, floodsAfterSubmission, map[string]any{
		"id": "flood", "task": "while True: print('x' * 10_000)",
		"graders": []any{map[string]any{"type": "kernel_check", "config": map[string]any{"code": "True", "live": true}}},
	}, func(cfg *attempt.Config) { cfg.LimitOverrides.MaxTraceBytes = 4 << 20 })
	require.Equal(t, runs.OutcomeLimit, result.Outcome, result.Detail)
	require.Contains(t, result.Detail, "trace: configured 4MiB, measured 4")
	require.NotNil(t, result.Passed, "the lost kernel is the agent's fault, not that of the grading")
	require.False(t, *result.Passed)
	text, err := os.ReadFile(filepath.Join(dir, "trace.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"type":"managed_process_exit","name":"kernel","exit_code":-1,"signal":"SIGKILL"`)
	text, err = os.ReadFile(filepath.Join(dir, "state.json"))
	require.NoError(t, err)
	var state session.CollectedState
	require.NoError(t, json.Unmarshal(text, &state))
	require.Contains(t, string(state.Context), "while True")
}
