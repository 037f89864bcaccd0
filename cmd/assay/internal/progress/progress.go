// Package progress shows a run to its user: a line for each result, what the running
// attempts are doing, and a summary. It also words these lines for other commands.
package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/cmd/assay/internal/terminal"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/kernel"
)

const (
	// activityInterval is the time between two lines about the running attempts, if
	// there is no live display.
	activityInterval = 10 * time.Second

	// maxActivities is the number of running attempts that such a line names.
	maxActivities = 8
)

// Config configures a [Reporter].
type Config struct {
	Out       io.Writer        // results for programs, or the summary line
	JSON      bool             // write results and the summary to Out as JSON, one object per line
	Err       io.Writer        // progress
	Screen    *terminal.Screen // behind Err, for a live display; nil writes lines only
	Color     bool             // color the verdicts
	LineCount int              // attempts and skipped cases of the whole run
	RunDir    string           // named in the summary
	Pool      *kernel.Pool     // its statistics are shown at the end; nil if there is none
}

// Reporter shows a run. It is a [batch.Observer]. Its methods are safe for concurrent
// use, except Finish.
type Reporter struct {
	cfg        Config
	started    time.Time
	stop       chan struct{}  // closed by Finish
	updateLoop sync.WaitGroup // the goroutine that shows running attempts

	mu      sync.Mutex
	running map[attemptKey]batch.RunningAttempt
	attemptTally
	endedUsage usage // of the attempts that have ended
	outError   error // the first error of Out
}

// attemptKey identifies an attempt of a run.
type attemptKey struct {
	caseID string
	epoch  int
}

// attemptTally counts the attempts of a run that have ended.
type attemptTally struct{ done, passed, failed, infrastructureFailures int }

// New returns a Reporter that shows nothing until Start.
func New(cfg Config) *Reporter {
	return &Reporter{cfg: cfg, started: time.Now(), stop: make(chan struct{}), running: map[attemptKey]batch.RunningAttempt{}}
}

// Start begins to show what the running attempts are doing. Finish must be called.
func (r *Reporter) Start() {
	interval, show := activityInterval, r.printActivities
	if r.cfg.Screen != nil {
		r.cfg.Screen.ShowBottomLines(r.bottomLines)
		interval, show = terminal.RedrawInterval, func() { _, _ = r.cfg.Err.Write(nil) }
	}
	r.updateLoop.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				show()
			case <-r.stop:
				return
			}
		}
	})
}

// Printf prints a line of progress. Control characters in it are replaced, because agents,
// cases and kernels supply parts of these lines.
func (r *Reporter) Printf(format string, args ...any) {
	_, _ = fmt.Fprintln(r.cfg.Err, terminal.Printable(fmt.Sprintf(format, args...)))
}

// printResult prints the line of a result. word is its verdict.
func (r *Reporter) printResult(word, text string) {
	if r.cfg.Color {
		word = coloredVerdict(word)
	}
	_, _ = fmt.Fprintf(r.cfg.Err, "[%d/%d] %s %s\n", r.done, r.cfg.LineCount, word, terminal.Printable(text))
}

// AttemptStarted adds a running attempt.
func (r *Reporter) AttemptStarted(running batch.RunningAttempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[attemptKey{running.CaseID, running.Epoch}] = running
}

// LineWritten shows a line of attempts.jsonl: an attempt that has ended, or a skipped
// case.
func (r *Reporter) LineWritten(line any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	switch line := line.(type) {
	case runs.Attempt:
		delete(r.running, attemptKey{line.CaseID, line.Epoch})
		r.endedUsage.add(line.Usage)
		r.countVerdict(line)
		r.printResult(VerdictWord(line), DescribeAttempt(line))
	case runs.SkippedCase:
		r.printResult("SKIP ", line.CaseID+": "+line.Reason)
	}
	r.writeJSON(line)
}

// countVerdict adds the verdict of an attempt to the tally.
func (t *attemptTally) countVerdict(a runs.Attempt) {
	switch {
	case a.IsInfrastructureFailure(), a.Grading != nil:
		t.infrastructureFailures++
	case a.Passed == nil:
	case *a.Passed:
		t.passed++
	default:
		t.failed++
	}
}

// writeJSON writes line to Out if results are wanted there, until a write fails.
func (r *Reporter) writeJSON(line any) {
	if r.cfg.JSON && r.outError == nil {
		r.outError = runs.EncodeLine(r.cfg.Out, line)
	}
}

// printActivities prints a line that says what the running attempts are doing.
func (r *Reporter) printActivities() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, running := range r.running {
		activity, since := running.Activity()
		texts = append(texts, fmt.Sprintf("%s for %.0fs: %s (%.0fs)%s", AttemptName(running.CaseID, running.Epoch),
			time.Since(running.StartedAt).Seconds(), activity, since.Seconds(), withIndent(usageOfAttempt(running.Usage()).String())))
	}
	slices.Sort(texts)
	more := ""
	if len(texts) > maxActivities {
		more = fmt.Sprintf("; and %d more", len(texts)-maxActivities)
		texts = texts[:maxActivities]
	}
	if len(texts) > 0 {
		r.Printf("[%d/%d] running%s  %s%s", r.done, r.cfg.LineCount, r.totalUsage(), strings.Join(texts, "; "), more)
	}
}

// Finish ends the display and shows the summary. It returns the first error of writing
// to Out.
func (r *Reporter) Finish(s batch.Summary) error {
	close(r.stop)
	r.updateLoop.Wait()
	if r.cfg.Screen != nil {
		r.cfg.Screen.ClearBottomLines(r.cfg.Err)
	}
	if r.cfg.Pool != nil {
		stats := r.cfg.Pool.Stats()
		r.Printf("pool: %d kernels forked, %d started cold", stats.ForkedKernels, stats.ColdKernels)
	}
	if s.Redacted > 0 {
		r.Printf("replaced in the run's files: %d secrets, such as API keys", s.Redacted)
	}
	r.writeJSON(s)
	if !r.cfg.JSON {
		_, r.outError = fmt.Fprintln(r.cfg.Out, SummaryLine(s, r.cfg.RunDir))
	}
	return r.outError
}

// SummaryLine returns the last line of a run on stdout. It begins with PASS if all
// attempts have passed, and ends with the run folder runDir.
func SummaryLine(s batch.Summary, runDir string) string {
	word := "PASS"
	if !s.AllPassed() {
		word = "FAIL"
	}
	return fmt.Sprintf("%s %d/%d  (failed %d, ungraded %d, infrastructure %d%s%s)  %s",
		word, s.Passed, s.GradedCount(), s.Failed, s.Ungraded, s.Infrastructure, gradingErrorsText(s.GradingErrors), lenientRate(s), runDir)
}

// gradingErrorsText returns the number of grading errors for a summary line; "" if there are none.
func gradingErrorsText(count int) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprintf(", grading errors %d", count)
}

// lenientRate returns the pass rate without the attempts that were lost to infrastructure or
// grading, for the summary line; "" if there are none.
func lenientRate(s batch.Summary) string {
	if s.GradingErrors+s.Infrastructure == 0 || s.PassRate.ExcludingInfrastructure == nil {
		return ""
	}
	return fmt.Sprintf("; %.0f %% without these", *s.PassRate.ExcludingInfrastructure*100)
}
