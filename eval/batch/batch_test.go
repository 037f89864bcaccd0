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

// verdicts is a stand-in for attempts: the scheduler is what is tested here.
type verdicts map[string]runs.Attempt

func (v verdicts) attempt(_ context.Context, work attempt.Job) runs.Attempt {
	result := v[work.Case.ID]
	result.Type, result.CaseID, result.Epoch, result.Try = runs.TypeAttempt, work.Case.ID, work.Epoch, work.Try
	return result
}

func passed(yes bool) runs.Attempt {
	score := 0.0
	return runs.Attempt{Outcome: runs.OutcomeCompleted, Passed: &yes, Score: &score}
}

func cases(ids ...string) (list []testcases.Case) {
	for _, id := range ids {
		list = append(list, testcases.Case{ID: id})
	}
	return list
}

func folder(t *testing.T) *runs.Writer {
	t.Helper()
	f, err := runs.Create(filepath.Join(t.TempDir(), "run"), runs.Info{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func written(t *testing.T, f *runs.Writer) (types map[string]int) {
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

func TestSummary(t *testing.T) {
	t.Parallel()
	f := folder(t)
	summary, err := batch.Run(t.Context(), batch.Config{
		RunWriter: f, Cases: cases("pass", "fail", "broken", "ungraded", "absent"), Epochs: 2, Jobs: 3,
		SkipReason: func(c testcases.Case) string { return map[string]string{"absent": "no R here"}[c.ID] },
		RunAttempt: verdicts{
			"pass": passed(true), "fail": passed(false), "broken": {Outcome: runs.OutcomeAgentExit}, "ungraded": {Outcome: runs.OutcomeCompleted},
		}.attempt,
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"attempts": 1, "attempt": 8, "skipped": 1, "summary": 1}, written(t, f))
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

// The interval is that of the published tables: seven cases, three tries each.
// 11/21 of them passed; the values were worked out with Student's t by hand.
func TestInterval(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	left := map[string]int{"a": 3, "b": 3, "c": 2, "d": 2, "e": 1, "f": 0, "g": 0}
	summary, err := batch.Run(t.Context(), batch.Config{
		RunWriter: folder(t), Cases: cases("a", "b", "c", "d", "e", "f", "g"), Epochs: 3, Jobs: 4,
		RunAttempt: func(_ context.Context, work attempt.Job) runs.Attempt {
			mu.Lock()
			defer mu.Unlock()
			left[work.Case.ID]--
			result := passed(left[work.Case.ID] >= 0)
			result.CaseID = work.Case.ID
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

func TestNeverMoreAtOnceThanAsked(t *testing.T) {
	t.Parallel()
	const jobs = 3
	var mu sync.Mutex
	now, most := 0, 0
	together := make(chan struct{}, jobs)
	all := make(chan struct{})
	var once sync.Once
	_, err := batch.Run(t.Context(), batch.Config{
		RunWriter: folder(t), Cases: cases("a", "b", "c", "d", "e", "f"), Jobs: jobs,
		RunAttempt: func(ctx context.Context, work attempt.Job) runs.Attempt {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			if together <- struct{}{}; len(together) == jobs {
				once.Do(func() { close(all) })
			}
			<-all // the first three meet here
			<-together
			mu.Lock()
			now--
			mu.Unlock()
			return verdicts{work.Case.ID: passed(true)}.attempt(ctx, work)
		},
	})
	require.NoError(t, err)
	require.Equal(t, jobs, most)
}

func TestInterruptedRunKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	f := folder(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	summary, err := batch.Run(ctx, batch.Config{
		RunWriter: f, Cases: cases("a", "b", "c", "d"), Jobs: 1,
		RunAttempt: func(ctx context.Context, work attempt.Job) runs.Attempt {
			if work.Case.ID == "b" {
				cancel(errors.New("interrupted by SIGINT"))
				<-ctx.Done()
				return runs.Attempt{Type: runs.TypeAttempt, CaseID: "b", Outcome: runs.OutcomeCancelled, Detail: context.Cause(ctx).Error()}
			}
			return verdicts{"a": passed(true)}.attempt(ctx, work)
		},
	})
	require.NoError(t, err)
	require.Equal(t, 2, summary.Attempts, "c and d never began")
	require.Equal(t, 1, summary.Passed)
	require.Equal(t, 1, summary.ByOutcome[runs.OutcomeCancelled])
	require.Equal(t, map[string]int{"attempts": 1, "attempt": 2, "summary": 1}, written(t, f))
}

func TestRunIsBrokenOffWhenResultsCannotBeWritten(t *testing.T) {
	t.Parallel()
	f := folder(t)
	began := 0
	_, err := batch.Run(t.Context(), batch.Config{
		RunWriter: f, Cases: cases("a", "b", "c"), Jobs: 1,
		RunAttempt: func(ctx context.Context, work attempt.Job) runs.Attempt {
			began++
			_ = f.Close()
			return verdicts{}.attempt(ctx, work)
		},
	})
	require.ErrorContains(t, err, "the run is broken off: write ")
	require.Equal(t, 1, began)
}

// Report is told of a result only when it is on disk.
func TestReportComesAfterTheDisk(t *testing.T) {
	t.Parallel()
	f := folder(t)
	r := &reader{t: t, folder: f}
	_, err := batch.Run(t.Context(), batch.Config{
		RunWriter: f, Cases: cases("a", "b"), Jobs: 1, Observer: r,
		RunAttempt: verdicts{"a": passed(true), "b": passed(false)}.attempt,
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, r.onDisk)
	require.Equal(t, []string{"a", "b"}, r.began)
}

type reader struct {
	t      *testing.T
	folder *runs.Writer
	onDisk []int
	began  []string
}

func (r *reader) AttemptStarted(running batch.RunningAttempt) {
	r.began = append(r.began, running.CaseID)
}

func (r *reader) LineWritten(any) { r.onDisk = append(r.onDisk, written(r.t, r.folder)["attempt"]) }
