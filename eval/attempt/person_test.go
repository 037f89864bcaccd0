package attempt_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/trace"
)

// What a person does at a console is the agent's work: it counts as actions, ends silence, runs the agent's
// code, and is no intervention.
func TestWorkOfAPersonIsTheAgents(t *testing.T) {
	t.Parallel()
	const (
		edit     = `console>server#1 {"type":"notebook_action","action":"edit_cell","params":{"cell_id":"a"}}`
		editB    = `console>server#1 {"type":"notebook_action","action":"edit_cell","params":{"cell_id":"b"}}`
		read     = `console>server#1 {"type":"notebook_action","action":"get_context"}`
		run      = `console>server#1 {"type":"run_cell","cell_id":"a","code":"1"}`
		submit   = `console>server#1 {"type":"agent_query","query":"1","request_id":"q"}`
		kernelOf = `session {"type":"peer_ended","action":"kernel"}`
	)
	submitted := submissionFrame(`{"summary":"` + completionMarker + `","next_status":"done"}`)
	for name, tc := range map[string]struct {
		frames  []string
		want    runs.Outcome
		detail  string
		actions int
	}{
		"edits while typing":       {[]string{edit, edit, edit, submit, submitted}, runs.OutcomeCompleted, "", 1},
		"edits of two cells":       {[]string{edit, editB, edit, submitted}, runs.OutcomeCompleted, "", 3},
		"an edit after a run":      {[]string{edit, run, frameRunA, frameStartA, frameResultA, edit, submitted}, runs.OutcomeCompleted, "", 3},
		"reading":                  {[]string{read, read, submitted}, runs.OutcomeCompleted, "", 0},
		"refused to another":       {[]string{`console>server#2! {"type":"run_cell","cell_id":"a"}`, submitted}, runs.OutcomeCompleted, "", 0},
		"too many":                 {[]string{edit, editB, edit, editB}, runs.OutcomeLimit, "actions: configured 3, measured 4", 4},
		"after the submission":     {[]string{run, frameRunA, frameStartA, submitted, edit, editB, edit, run, frameResultA}, runs.OutcomeCompleted, "", 1},
		"a run that was just sent": {[]string{run, submitted, "wait 900ms", frameRunA, frameStartA, "wait 2s", frameResultA}, runs.OutcomeCompleted, "", 1},
		"a run that does not come": {[]string{run, submitted, "wait 1s"}, runs.OutcomeCompleted, "", 1},
		"silence":                  {[]string{"wait 20s", edit, "wait 30s"}, runs.OutcomeLimit, "idle: configured 30s", 1},
		"kernel dies in a cell":    {[]string{run, frameRunA, frameStartA, kernelOf}, runs.OutcomeKernelExit, "while it ran the agent's code", 1},
		"kernel dies after a run":  {[]string{run, frameRunA, frameStartA, frameResultA, kernelOf}, runs.OutcomeKernelExit, "after it had run the agent's code", 1},
		"kernel dies after code":   {[]string{`server>kernel {"type":"execute_code","code":"1"}`, kernelOf}, runs.OutcomeKernelExit, "after it had run the agent's code", 0},
		"kernel dies by itself":    {[]string{edit, kernelOf}, runs.OutcomeKernelExit, "", 1},
		"gives up":                 {[]string{`agent>server {"type":"agent_error","error":"the person gave up","fatal":false}`, frameAgentDone}, runs.OutcomeStopped, "the person gave up", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal := trace.NewJournal("s")
				w := attempt.NewPersonWatcherBeforeTask(journal, testLimits())
				w.StartTask()
				verdicts := make(chan testVerdict, 1)
				go func() {
					outcome, detail, _ := w.NextVerdict(t.Context())
					verdicts <- testVerdict{outcome: outcome, detail: detail}
				}()
				for _, frame := range tc.frames {
					synctest.Wait()
					require.Empty(t, verdicts)
					playTestCaseLine(t, journal, frame)
				}
				got := <-verdicts
				require.Equal(t, tc.want, got.outcome, got.detail)
				require.Contains(t, got.detail, tc.detail)
				require.Equal(t, tc.detail == "", got.detail == "", got.detail)
				require.Equal(t, tc.actions, w.Usage().Actions)
				require.Zero(t, w.Interventions())
				w.Close()
			})
		})
	}
}

// The work begins when the owner has pressed start, or not at all if a child has ended.
func TestPersonStartsTheAttempt(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct{ ends, starts bool }{
		`console>server#1 {"type":"attempt_start"}`:       {true, true},
		`console>server#1! {"type":"attempt_start"}`:      {false, false},
		`agent>server {"type":"attempt_start"}`:           {false, false},
		`session {"type":"peer_ended","action":"kernel"}`: {true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			journal := trace.NewJournal("s")
			w := attempt.NewPersonWatcherBeforeTask(journal, testLimits())
			started := make(chan bool, 1)
			go func() { started <- w.AwaitStart(t.Context()) }()
			<-time.After(time.Hour) // a person takes as long as it takes
			playTestCaseLine(t, journal, line)
			synctest.Wait()
			select {
			case hasStarted := <-started:
				require.True(t, want.ends, line)
				require.Equal(t, want.starts, hasStarted, line)
			default:
				require.False(t, want.ends, line)
				playTestCaseLine(t, journal, `console>server#1 {"type":"attempt_start"}`)
				require.True(t, <-started)
			}
			w.Close()
		})
	}
}

// A run whose person never starts is cancelled like any other.
func TestWaitForAPersonIsCancelled(t *testing.T) {
	t.Parallel()
	w := attempt.NewPersonWatcherBeforeTask(trace.NewJournal("s"), testLimits())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, w.AwaitStart(ctx))
	w.Close()
}

// An attempt that ends before its person has started keeps the time when it was prepared.
func TestAttemptOfAPersonWhoNeverStarts(t *testing.T) {
	t.Parallel()
	var killedAt time.Time
	result, _ := runAttempt(t, followsTask, map[string]any{
		"id": "never", "task": "t", "grader": map[string]any{"type": "exact", "config": map[string]any{"ground_truth": map[string]any{"n": 1}}},
	}, func(cfg *attempt.Config) {
		cfg.Person = "ada"
		cfg.OnSession = func(s *session.Session) {
			killedAt = time.Now()
			s.KillChildren()
		}
	})
	require.Contains(t, []runs.Outcome{runs.OutcomeAgentError, runs.OutcomeAgentExit, runs.OutcomeKernelExit}, result.Outcome, result.Detail)
	require.True(t, result.Started.Before(killedAt))
}
