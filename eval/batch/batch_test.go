package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/testcases"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAttempts has the fixed result of each attempt, by case id, so that tests need no
// sessions.
type fakeAttempts map[string]runs.Attempt

// runAttempt returns the fixed result for the case of the job at once.
func (a fakeAttempts) runAttempt(_ context.Context, job attempt.Job) runs.Attempt {
	result := a[job.Case.ID]
	result.Type, result.CaseID, result.Epoch, result.Try = runs.TypeAttempt, job.Case.ID, job.Epoch, job.Try
	return result
}

// gradedAttempt returns the line of a completed attempt with this verdict.
func gradedAttempt(passed bool) runs.Attempt {
	score := 0.0
	return runs.Attempt{Outcome: runs.OutcomeCompleted, Passed: &passed, Score: &score}
}

// casesWithIDs returns test cases that have only an id.
func casesWithIDs(ids ...string) (list []testcases.Case) {
	for _, id := range ids {
		list = append(list, testcases.Case{ID: id})
	}
	return list
}

// newRunWriter creates a run folder and returns its writer, which is closed when the test ends.
func newRunWriter(t *testing.T) *runs.Writer {
	t.Helper()
	f, err := runs.Create(filepath.Join(t.TempDir(), "run"), runs.Info{}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// countLineTypes returns how many lines of each type the run's attempts.jsonl has.
func countLineTypes(t *testing.T, f *runs.Writer) (types map[string]int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Dir, "attempts.jsonl"))
	require.NoError(t, err)
	types = map[string]int{}
	for line := range strings.Lines(string(text)) {
		var got struct {
			Type string `json:"type"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		types[got.Type]++
	}
	return types
}

func TestSummaryOfAttempts(t *testing.T) {
	t.Parallel()
	f := newRunWriter(t)
	summary, err := batch.Run(t.Context(), batch.Config{
		RunWriter: f, Cases: casesWithIDs("pass", "fail", "broken", "ungraded", "absent"), Epochs: 2, Jobs: 3,
		SkipReason: func(c testcases.Case) string { return map[string]string{"absent": "no R here"}[c.ID] },
		RunAttempt: fakeAttempts{
			"pass": gradedAttempt(true), "fail": gradedAttempt(false), "broken": {Outcome: runs.OutcomeAgentExit}, "ungraded": {Outcome: runs.OutcomeCompleted},
		}.runAttempt,
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"attempts": 1, "attempt": 8, "skipped": 1, "summary": 1}, countLineTypes(t, f))
	require.Equal(t, 2, summary.Passed)
	require.Equal(t, 2, summary.Failed)
	require.Equal(t, 2, summary.Infrastructure)
	require.Equal(t, 2, summary.Ungraded)
	require.Equal(t, 1, summary.Skipped)
	require.Equal(t, 4, summary.Cases)
	require.Equal(t, 8, summary.Attempts)
	require.Equal(t, 6, summary.GradedCount())
	require.False(t, summary.AllPassed())
	require.Equal(t, map[runs.Outcome]int{runs.OutcomeCompleted: 6, runs.OutcomeAgentExit: 2}, summary.ByOutcome)
	require.InDelta(t, 1.0/3, *summary.PassRate.Strict, 1e-12)
	require.InDelta(t, 1.0/2, *summary.PassRate.ExcludingInfrastructure, 1e-12)
	require.InDelta(t, 1.0/3, summary.PassAtK[2], 1e-12)
	require.Nil(t, summary.CostUSD, "no attempt's price is known")
}

// An attempt whose grading failed counts as not passed in the strict rate and is left out of the
// other one. Such a run has not passed.
func TestSummaryCountsGradingErrors(t *testing.T) {
	t.Parallel()
	summary, err := batch.Run(t.Context(), batch.Config{
		RunWriter: newRunWriter(t), Cases: casesWithIDs("pass", "broken"), Epochs: 1, Jobs: 1,
		RunAttempt: fakeAttempts{"pass": gradedAttempt(true), "broken": {Outcome: runs.OutcomeCompleted, Grading: &runs.GradingFailure{ErrorKind: "model"}}}.runAttempt,
	})
	require.NoError(t, err)
	require.Equal(t, 1, summary.GradingErrors)
	require.Zero(t, summary.Ungraded)
	require.Zero(t, summary.Failed)
	require.False(t, summary.AllPassed())
	require.InDelta(t, 0.5, *summary.PassRate.Strict, 1e-12)
	require.InDelta(t, 1, *summary.PassRate.ExcludingInfrastructure, 1e-12)
}

// The confidence interval of the pass rate of seven cases with three attempts each, of which 11
// of 21 pass, equals one that was computed by hand in the way of the public benchmarks' tables.
func TestPassRateInterval(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	left := map[string]int{"a": 3, "b": 3, "c": 2, "d": 2, "e": 1, "f": 0, "g": 0}
	summary, err := batch.Run(t.Context(), batch.Config{
		RunWriter: newRunWriter(t), Cases: casesWithIDs("a", "b", "c", "d", "e", "f", "g"), Epochs: 3, Jobs: 4,
		RunAttempt: func(_ context.Context, job attempt.Job) runs.Attempt {
			mu.Lock()
			defer mu.Unlock()
			left[job.Case.ID]--
			result := gradedAttempt(left[job.Case.ID] >= 0)
			result.CaseID = job.Case.ID
			return result
		},
	})
	require.NoError(t, err)
	require.InDelta(t, 11.0/21, *summary.PassRate.Strict, 1e-12)
	// Means 1 1 2/3 2/3 1/3 0 0: s = 0.424139, t(0.975, 6) = 2.446912.
	require.InDelta(t, 0.523810-0.392262, summary.PassRate.CI95Raw[0], 1e-5)
	require.InDelta(t, 0.523810+0.392262, summary.PassRate.CI95Raw[1], 1e-5)
	require.InDelta(t, 11.0/21, summary.PassAtK[1], 1e-12)
	require.InDelta(t, 5.0/7, summary.PassAtK[3], 1e-12)
	require.InDelta(t, 2.0/7, summary.PassHatK[3], 1e-12)
}

func TestNeverRunsMoreThanJobs(t *testing.T) {
	t.Parallel()
	const jobs = 3
	var mu sync.Mutex
	running, maxRunning := 0, 0
	together := make(chan struct{}, jobs)
	all := make(chan struct{})
	var once sync.Once
	_, err := batch.Run(t.Context(), batch.Config{
		RunWriter: newRunWriter(t), Cases: casesWithIDs("a", "b", "c", "d", "e", "f"), Jobs: jobs,
		RunAttempt: func(ctx context.Context, job attempt.Job) runs.Attempt {
			mu.Lock()
			running++
			maxRunning = max(maxRunning, running)
			mu.Unlock()
			if together <- struct{}{}; len(together) == jobs {
				once.Do(func() { close(all) })
			}
			<-all // until jobs attempts run at the same time
			<-together
			mu.Lock()
			running--
			mu.Unlock()
			return fakeAttempts{job.Case.ID: gradedAttempt(true)}.runAttempt(ctx, job)
		},
	})
	require.NoError(t, err)
	require.Equal(t, jobs, maxRunning)
}

func TestInterruptedRunWritesItsSummary(t *testing.T) {
	t.Parallel()
	f := newRunWriter(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	summary, err := batch.Run(ctx, batch.Config{
		RunWriter: f, Cases: casesWithIDs("a", "b", "c", "d"), Jobs: 1,
		RunAttempt: func(ctx context.Context, job attempt.Job) runs.Attempt {
			if job.Case.ID == "b" {
				cancel(errors.New("interrupted by SIGINT"))
				<-ctx.Done()
				return runs.Attempt{Type: runs.TypeAttempt, CaseID: "b", Outcome: runs.OutcomeCancelled, Detail: context.Cause(ctx).Error()}
			}
			return fakeAttempts{"a": gradedAttempt(true)}.runAttempt(ctx, job)
		},
	})
	require.NoError(t, err)
	require.Equal(t, 2, summary.Attempts, "c and d never started")
	require.Equal(t, 1, summary.Passed)
	require.Equal(t, 1, summary.ByOutcome[runs.OutcomeCancelled])
	require.Equal(t, map[string]int{"attempts": 1, "attempt": 2, "summary": 1}, countLineTypes(t, f))
}

func TestRunStopsWhenResultsCannotBeWritten(t *testing.T) {
	t.Parallel()
	f := newRunWriter(t)
	began := 0
	_, err := batch.Run(t.Context(), batch.Config{
		RunWriter: f, Cases: casesWithIDs("a", "b", "c"), Jobs: 1,
		RunAttempt: func(ctx context.Context, job attempt.Job) runs.Attempt {
			began++
			_ = f.Close()
			return fakeAttempts{}.runAttempt(ctx, job)
		},
	})
	require.ErrorContains(t, err, "the run is aborted: write ")
	require.Equal(t, 1, began)
}

// The observer gets a result only after the line with it is on disk.
func TestObserverIsCalledAfterTheLineIsOnDisk(t *testing.T) {
	t.Parallel()
	f := newRunWriter(t)
	r := &recordingObserver{t: t, writer: f}
	_, err := batch.Run(t.Context(), batch.Config{
		RunWriter: f, Cases: casesWithIDs("a", "b"), Jobs: 1, Observer: r,
		RunAttempt: fakeAttempts{"a": gradedAttempt(true), "b": gradedAttempt(false)}.runAttempt,
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, r.linesOnDisk)
	require.Equal(t, []string{"a", "b"}, r.started)
}

// recordingObserver is an Observer that records its calls, and how many attempts are on disk at
// each.
type recordingObserver struct {
	t           *testing.T
	writer      *runs.Writer
	linesOnDisk []int
	started     []string
}

func (r *recordingObserver) AttemptStarted(running batch.RunningAttempt) {
	r.started = append(r.started, running.CaseID)
}

func (r *recordingObserver) LineWritten(any) {
	r.linesOnDisk = append(r.linesOnDisk, countLineTypes(r.t, r.writer)["attempt"])
}
