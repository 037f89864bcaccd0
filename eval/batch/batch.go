// Package batch runs attempts at many cases: each case as often as configured, several attempts at
// once. It writes every result to the run's folder before it reports it, and sums them up at the end.
package batch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/testcases"
)

// Config describes a run: which attempts to make, how many at once, and where to write the
// results.
type Config struct {
	RunWriter *runs.Writer // required
	Cases     []testcases.Case
	Epochs    int // attempts per case; 0 means 1
	Jobs      int // attempts at the same time; 0 means 1

	// SkipReason returns why a case cannot be tried on this machine, or "" if it can. nil means
	// that all can.
	SkipReason func(testcases.Case) string

	// RunAttempt makes one attempt. Required. It is called by several goroutines.
	RunAttempt func(context.Context, attempt.Job) runs.Attempt

	// Observer, if set, is called when the run makes progress. Its methods are called by several
	// goroutines.
	Observer Observer
}

// Observer gets a call when an attempt starts and when a result is written.
type Observer interface {
	// AttemptStarted is called before an attempt starts.
	AttemptStarted(RunningAttempt)
	// LineWritten is called with each runs.Attempt and runs.SkippedCase after it is on disk.
	LineWritten(line any)
}

// RunningAttempt identifies an attempt that is running, and has its progress.
type RunningAttempt struct {
	*attempt.Progress
	CaseID    string
	Epoch     int // from 1
	StartedAt time.Time
}

// scheduler makes the attempts of one run and collects their results.
type scheduler struct {
	cfg Config

	mu      sync.Mutex
	results summaryBuilder
}

// Run makes all attempts of a run, writes their results to the run's folder, and returns the
// summary, which is also written. When ctx ends, running attempts are cancelled, no further
// attempt starts, and the summary covers those that were made. Run fails if a result cannot be
// written; it then starts no further attempt.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	cfg.Epochs, cfg.Jobs = max(cfg.Epochs, 1), max(cfg.Jobs, 1)
	if cfg.SkipReason == nil {
		cfg.SkipReason = func(testcases.Case) string { return "" }
	}
	if cfg.Observer == nil {
		cfg.Observer = noopObserver{}
	}
	started := time.Now()
	s := &scheduler{cfg: cfg, results: newSummaryBuilder()}
	err := s.scheduleAttempts(ctx)
	summary := s.results.build(cfg.RunWriter.Name, cfg.Epochs, time.Since(started))
	if err != nil {
		return summary, err
	}
	return summary, cfg.RunWriter.AppendLine(summary)
}

// noopObserver is an Observer that ignores all calls.
type noopObserver struct{}

func (noopObserver) AttemptStarted(RunningAttempt) {}
func (noopObserver) LineWritten(any)               {}

// scheduleAttempts starts the attempts, first those of all cases in the first epoch and so on,
// at most Config.Jobs at a time, and waits for them. The first error cancels the rest and is
// returned.
func (s *scheduler) scheduleAttempts(ctx context.Context) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(s.cfg.Jobs)
	lastNumber := 0 // of the attempts' folders
	for epoch := range s.cfg.Epochs {
		for _, c := range s.cfg.Cases {
			if ctx.Err() != nil {
				return workers.Wait()
			}
			if reason := s.cfg.SkipReason(c); reason != "" {
				if epoch == 0 {
					workers.Go(func() error { return s.recordSkipped(c, reason) })
				}
				continue
			}
			lastNumber++
			number := lastNumber
			workers.Go(func() error { return s.runAttempt(ctx, c, epoch+1, number) })
		}
	}
	return workers.Wait()
}

// recordSkipped writes the line of a case that cannot be tried on this machine, counts it and
// tells the observer. It fails if the line cannot be written.
func (s *scheduler) recordSkipped(c testcases.Case, reason string) error {
	line := runs.SkippedCase{Type: runs.TypeSkipped, CaseID: c.ID, Reason: reason}
	if err := s.cfg.RunWriter.AppendLine(line); err != nil {
		return err
	}
	s.mu.Lock()
	s.results.addSkipped()
	s.mu.Unlock()
	s.cfg.Observer.LineWritten(line)
	return nil
}

// runAttempt makes one attempt at case c, writes its line, counts it and tells the observer.
// number is the attempt's number in the run. It does nothing if ctx has ended. It fails if the
// attempt's folder cannot be made or the line cannot be written.
func (s *scheduler) runAttempt(ctx context.Context, c testcases.Case, epoch, number int) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the run ended while this attempt waited for a worker; the cause is reported elsewhere
	}
	const firstTry = 1
	dir, relDir, err := s.cfg.RunWriter.MakeAttemptDir(number, c.ID, epoch, firstTry)
	if err != nil {
		return err
	}
	progress := &attempt.Progress{}
	s.cfg.Observer.AttemptStarted(RunningAttempt{Progress: progress, CaseID: c.ID, Epoch: epoch, StartedAt: time.Now()})
	result := s.cfg.RunAttempt(ctx, attempt.Job{Case: c, Epoch: epoch, Try: firstTry, Dir: dir, RelDir: relDir, Progress: progress})
	result.Run = s.cfg.RunWriter.Name
	if err := s.cfg.RunWriter.AppendLine(result); err != nil {
		return fmt.Errorf("the run is aborted: %w", err)
	}
	s.mu.Lock()
	s.results.addAttempt(result)
	s.mu.Unlock()
	s.cfg.Observer.LineWritten(result)
	return nil
}
