package main

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/testcases"
	"assay/testcases/lint"
)

// oracleFlags are those of assay lint that are about playing the cases.
type oracleFlags struct {
	on   bool
	jobs int
	host hostFlags
}

func (f *oracleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "oracle", false, "also run each case with its own solution, which must pass, and with an agent that does nothing, which must fail")
	flags.IntVarP(&f.jobs, "jobs", "j", runtime.NumCPU(), "with --oracle: `number` of attempts at once")
	f.host.addSome(cmd, "kernel", "python", "data", "sandbox")
}

// playCases adds to a report what playing its cases shows, and returns how many
// it could play. Those with errors are not played, and neither are those without
// a solution or a grader.
func (p *process) playCases(ctx context.Context, f *oracleFlags, report *lint.Report) (int, error) {
	var cases []testcases.Case
	for i, result := range report.Results {
		switch c := result.Case; {
		case c == nil:
		case unplayable(*c) != "":
			report.AddIssue(i, "W110", "oracle", "not played: the case has no "+unplayable(*c))
		default:
			cases = append(cases, *c)
		}
	}
	if len(cases) == 0 {
		return 0, nil
	}
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	solved, err := p.play(ctx, f, "oracle", cases)
	var idle *played
	if err == nil {
		idle, err = p.play(ctx, f, "noop", cases)
	}
	if status := interrupted.status(); status != 0 {
		return 0, &statusError{status: status}
	}
	if err != nil {
		return 0, err
	}
	for i, result := range report.Results {
		where := result.File
		if reason, skipped := solved.skipped[where]; skipped {
			report.AddIssue(i, "W111", "requires", "not played: "+reason)
		}
		if a, tried := solved.attempts[where]; tried && !passed(a) {
			report.AddIssue(i, "E110", "oracle", "its own solution does not pass: "+why(a))
		}
		if a, tried := idle.attempts[where]; tried && passed(a) {
			report.AddIssue(i, "E111", "grader", "doing nothing passes: an empty notebook, and what was there before, is all that the graders ask for")
		}
	}
	return len(solved.attempts), nil
}

// unplayable says what a case lacks to be played, empty when it has all.
func unplayable(c testcases.Case) string {
	switch {
	case c.Oracle == nil:
		return "oracle"
	case len(c.Graders) == 0:
		return "grader"
	default:
		return ""
	}
}

func passed(a runs.Attempt) bool { return a.Passed != nil && *a.Passed }

// why says what stands behind an attempt that has not passed.
func why(a runs.Attempt) string {
	if a.Outcome != runs.OutcomeCompleted || a.Passed == nil {
		return string(a.Outcome) + ": " + oneLine(a.Detail)
	}
	text := oneLine(whyNot(a))
	if len(a.Answer) == 0 {
		text += " (it handed in: " + oneLine(a.Summary) + ")"
	}
	return text
}

// played is what became of cases that an agent of ours has tried, by the place
// where each case stands.
type played struct {
	mu       sync.Mutex
	attempts map[string]runs.Attempt
	skipped  map[string]string // reasons
}

// play tries each case once with the agent oracle or noop. Nothing of it is kept.
func (p *process) play(ctx context.Context, f *oracleFlags, agent string, cases []testcases.Case) (result *played, err error) {
	flags := f.host
	flags.agent = agent
	h, err := p.newHost(ctx, &flags)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	missing, err := h.requirements(ctx, cases)
	if err != nil {
		return nil, broken(err)
	}
	attempts, err := h.attempts()
	if err != nil {
		return nil, err
	}
	folder, err := runs.Create(filepath.Join(h.supervisor.TempDir(), "run"), runs.Info{Started: time.Now().UTC(), Host: h.info()})
	if err != nil {
		return nil, broken(err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	result = &played{attempts: map[string]runs.Attempt{}, skipped: map[string]string{}}
	_, err = batch.Run(ctx, batch.Config{
		RunWriter: folder, Cases: cases, Jobs: f.jobs,
		SkipReason: func(c testcases.Case) string { return result.skip(c, missing(c)) },
		RunAttempt: func(ctx context.Context, work attempt.Job) runs.Attempt {
			return result.keep(work.Case, attempt.Run(ctx, attempts, work))
		},
	})
	if err != nil {
		return nil, broken(err)
	}
	return result, nil
}

func (r *played) skip(c testcases.Case, reason string) string {
	if reason != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.skipped[c.Source.String()] = reason
	}
	return reason
}

func (r *played) keep(c testcases.Case, a runs.Attempt) runs.Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts[c.Source.String()] = a
	return a
}
