// Package batch carries out a run: it takes cases, tries each as often as asked,
// several at once, and writes every result down before anybody is told of it.
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

// Config says what to run.
type Config struct {
	RunWriter *runs.Writer
	Cases     []testcases.Case
	Epochs    int // tries per case; 0 is 1
	Jobs      int // attempts at once; 0 is 1

	// Missing says why a case cannot be tried on this machine, empty when it
	// can; nil: all can.
	SkipReason func(testcases.Case) string

	// Attempt tries a case once.
	RunAttempt func(context.Context, attempt.Job) runs.Attempt

	// Report, if set, is told of every attempt that begins, and of every line
	// that was written. Its methods are called by several goroutines.
	Observer Observer
}

// Observer watches a run.
type Observer interface {
	AttemptStarted(RunningAttempt)
	LineWritten(line any) // a runs.Attempt or a runs.Skipped
}

// RunningAttempt is an attempt that goes on.
type RunningAttempt struct {
	*attempt.Progress
	CaseID    string
	Epoch     int
	StartedAt time.Time
}

// batch is a run while it lasts.
type batch struct {
	cfg Config

	mu    sync.Mutex
	tally tally
}

// Run carries out the run and returns its summary, which it has also written.
// When ctx ends, no further attempt begins, those that go on are cancelled, and
// the summary speaks of what there is. The error says that results could not be
// written: the run is then broken off.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	cfg.Epochs, cfg.Jobs = max(cfg.Epochs, 1), max(cfg.Jobs, 1)
	if cfg.SkipReason == nil {
		cfg.SkipReason = func(testcases.Case) string { return "" }
	}
	if cfg.Observer == nil {
		cfg.Observer = silence{}
	}
	began := time.Now()
	b := &batch{cfg: cfg, tally: newTally()}
	err := b.run(ctx)
	summary := b.tally.summary(cfg.RunWriter.Name, cfg.Epochs, time.Since(began))
	if err != nil {
		return summary, err
	}
	return summary, cfg.RunWriter.AppendLine(summary)
}

type silence struct{}

func (silence) AttemptStarted(RunningAttempt) {}
func (silence) LineWritten(any)               {}

// run gives out the attempts, epoch by epoch, to as many workers as there are
// jobs. A failure to write ends it.
func (b *batch) run(ctx context.Context) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(b.cfg.Jobs)
	n := 0 // numbers the attempts' folders
	for epoch := range b.cfg.Epochs {
		for _, c := range b.cfg.Cases {
			if ctx.Err() != nil {
				return workers.Wait()
			}
			if reason := b.cfg.SkipReason(c); reason != "" {
				if epoch == 0 {
					workers.Go(func() error { return b.skip(c, reason) })
				}
				continue
			}
			n++
			number := n
			workers.Go(func() error { return b.try(ctx, c, epoch+1, number) })
		}
	}
	return workers.Wait()
}

func (b *batch) skip(c testcases.Case, reason string) error {
	line := runs.Skipped{Type: runs.TypeSkipped, CaseID: c.ID, Reason: reason}
	if err := b.cfg.RunWriter.AppendLine(line); err != nil {
		return err
	}
	b.mu.Lock()
	b.tally.skip()
	b.mu.Unlock()
	b.cfg.Observer.LineWritten(line)
	return nil
}

// try tries a case once and writes the result down.
func (b *batch) try(ctx context.Context, c testcases.Case, epoch, n int) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the run ended while this waited for its turn, which is no failure of its own
	}
	const firstTry = 1
	dir, rel, err := b.cfg.RunWriter.MakeAttemptDir(n, c.ID, epoch, firstTry)
	if err != nil {
		return err
	}
	doing := &attempt.Progress{}
	b.cfg.Observer.AttemptStarted(RunningAttempt{Progress: doing, CaseID: c.ID, Epoch: epoch, StartedAt: time.Now()})
	result := b.cfg.RunAttempt(ctx, attempt.Job{Case: c, Epoch: epoch, Try: firstTry, Dir: dir, RelDir: rel, Progress: doing})
	result.Run = b.cfg.RunWriter.Name
	if err := b.cfg.RunWriter.AppendLine(result); err != nil {
		return fmt.Errorf("the run is broken off: %w", err)
	}
	b.mu.Lock()
	b.tally.add(result)
	b.mu.Unlock()
	b.cfg.Observer.LineWritten(result)
	return nil
}
