package progress

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newReporterWithAttempts returns a Reporter with one running attempt per name, started a second apart.
func newReporterWithAttempts(names ...string) *Reporter {
	r := New(Config{LineCount: 40, Err: io.Discard})
	for i, name := range names {
		r.AttemptStarted(batch.RunningAttempt{Progress: &attempt.Progress{}, CaseID: name, Epoch: 1, StartedAt: time.Now().Add(time.Duration(i) * time.Second)})
	}
	return r
}

func TestLiveDisplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReporterWithAttempts("sum", "細胞の数を数える", "a\x1b[2J")
		r.AttemptStarted(batch.RunningAttempt{Progress: &attempt.Progress{}, CaseID: "sum", Epoch: 2, StartedAt: time.Now().Add(30 * time.Second)})
		yes, no := true, false
		for _, a := range []runs.Attempt{
			{CaseID: "b", Outcome: runs.OutcomeCompleted, Passed: &yes},
			{CaseID: "c", Outcome: runs.OutcomeCompleted, Passed: &no},
			{CaseID: "d", Outcome: runs.OutcomeAgentExit},
		} {
			r.LineWritten(a)
		}
		<-time.After(90 * time.Second)
		require.Equal(t, []string{
			"  sum                1m30s  beginning (0s)",
			"  細胞の数を数える   1m29s  beginning (0s)",
			"  a\uFFFD[2J              1m28s  beginning (0s)",
			"  sum (epoch 2)       1m0s  beginning (0s)",
			"3/40 done  1 passed  1 failed  1 errors  1m30s  2.0/min",
		}, r.bottomLines(80, 24))
	})
}

func TestLiveDisplayFitsTheTerminal(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 14 {
		names = append(names, fmt.Sprintf("case-%02d", i))
	}
	for rows, shown := range map[int]int{24: 10, 9: 5, 3: 0} {
		lines := newReporterWithAttempts(names...).bottomLines(80, rows)
		require.Len(t, lines, shown+2, "of %d rows", rows)
		require.Equal(t, fmt.Sprintf("  and %d more", len(names)-shown), lines[shown])
	}
}
