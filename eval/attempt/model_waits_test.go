package attempt_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/trace"
)

// retryEvent returns the agent_event which says that the agent will repeat a model call after
// waitMS milliseconds.
func retryEvent(waitMS float64, attempt int) string {
	return fmt.Sprintf(`agent>server {"type":"agent_event","channel":"ai","mode":"NL","text":"t","metadata":{"type":"retry","status":529,"wait_ms":%g,"attempt":%d,"error":"anthropic: 529 overloaded_error: Overloaded","waited_ms":0}}`, waitMS, attempt)
}

// CO-6: the time that an agent waits before calls of its model is summed up. Waits at the same
// time count once, and a wait that ends early counts until then.
func TestCO6ModelWaitTimeIsSummed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames  []string // a second apart
		after   time.Duration
		want    time.Duration
		retries int
	}{
		"none":             {[]string{historyMessageFrame("user", `"a"`)}, time.Second, 0, 0},
		"one":              {[]string{retryEvent(1500, 1)}, 10 * time.Second, 1500 * time.Millisecond, 1},
		"several":          {[]string{retryEvent(500, 1), retryEvent(700, 2)}, 10 * time.Second, 1200 * time.Millisecond, 2},
		"at the same time": {[]string{retryEvent(5000, 1), retryEvent(5000, 1)}, 10 * time.Second, 6 * time.Second, 2},
		"not over yet":     {[]string{retryEvent(60_000, 1)}, 10 * time.Second, 10 * time.Second, 1},
		"ended early":      {[]string{retryEvent(60_000, 1), `agent>server {"type":"agent_stream_start"}`}, 10 * time.Second, time.Second, 1},
		"negative":         {[]string{retryEvent(-5, 1)}, 10 * time.Second, 0, 1},
		"too long":         {[]string{retryEvent(1e300, 1)}, 2 * time.Hour, time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal := trace.NewJournal("s")
				w := attempt.NewWatcher(journal, runs.Limits{WallTimeoutS: 24 * 3600})
				<-time.After(time.Minute) // the agent has not waited
				for _, frame := range c.frames {
					playTestCaseLine(t, journal, frame)
					<-time.After(time.Second)
				}
				<-time.After(c.after - time.Second)
				playTestCaseLine(t, journal, frameAgentDone)
				_, _, _ = w.NextVerdict(t.Context())
				require.Equal(t, c.want, w.ModelWaitTime())
				require.Equal(t, c.retries, w.Usage().Retries)
				w.Close()
			})
		})
	}
}

// A delay before a model call that the agent has reported does not count towards the idle
// limit, however long it is.
func TestReportedDelayDoesNotCountAsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{IdleTimeoutS: 30})
		began := time.Now()
		playTestCaseLine(t, journal, retryEvent(100_000, 1))
		got, detail, _ := w.NextVerdict(t.Context())
		require.Equal(t, runs.OutcomeLimit, got)
		require.Contains(t, detail, "idle: configured 30s")
		require.Equal(t, 130*time.Second, time.Since(began))
		w.Close()
	})
}
