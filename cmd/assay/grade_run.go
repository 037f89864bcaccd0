package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"assay/eval/attempt"
	"assay/eval/rescore"
	"assay/eval/runs"
	"assay/testcases"
)

// gradeRun grades a stored run again, by the cases of these paths.
func (p *process) gradeRun(ctx context.Context, f *gradeFlags, paths []string) (err error) {
	dir, err := filepath.Abs(f.run)
	if err != nil {
		return broken(err)
	}
	run, err := runs.NewStore(filepath.Dir(dir)).Open(filepath.Base(dir))
	if errors.Is(err, runs.ErrNotFound) {
		return usage(fmt.Errorf("%s is not the folder of a run: it has no run.json", f.run))
	}
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	cases, err := casesOf(ctx, run, paths)
	if status := interrupted.status(); status != 0 {
		return &statusError{status: status}
	}
	if err != nil {
		return usage(err)
	}
	show := &rescored{out: p.out, json: f.json}
	summary, err := rescore.RegradeRun(ctx, run, dir, cases, rescore.RegradeConfig{Environ: attempt.EnvWithoutSecrets(p.environ), OpenJudge: p.judge, OnRegraded: show.attempt})
	if status := interrupted.status(); status != 0 {
		return &statusError{status: status}
	}
	if err == nil {
		err = show.end(f.run, summary)
	}
	if err != nil {
		return broken(err)
	}
	return rescoreStatus(summary)
}

// casesOf loads the cases to grade by: those of the paths, or those that the run
// was started with.
func casesOf(ctx context.Context, run *runs.Run, paths []string) ([]testcases.Case, error) {
	given := len(paths) > 0
	if !given {
		var config struct {
			Paths []string `json:"paths"`
		}
		if err := json.Unmarshal(run.RawInfo["config"], &config); err != nil || len(config.Paths) == 0 {
			return nil, errors.New("run.json does not say where the cases are: name them behind --run RUN")
		}
		paths = config.Paths
	}
	cases, err := testcases.Load(paths, testcases.Options{})
	if errors.Is(err, fs.ErrNotExist) && !given {
		return nil, fmt.Errorf("the cases that the run was started with are not there: %w (name them behind --run RUN)", err)
	}
	if err != nil {
		return nil, err
	}
	return rescore.CasesWithAttempts(ctx, run, cases)
}

// rescored shows a run that is graded again.
type rescored struct {
	out     io.Writer
	json    bool
	problem error // with out
}

// attempt shows an attempt: with --json all of it, else whether its verdict has
// changed, or was lost.
func (r *rescored) attempt(a rescore.RegradedAttempt) {
	lost := a.Old.Passed != nil && a.New.Passed == nil
	switch {
	case r.problem != nil:
	case r.json:
		r.problem = runs.EncodeLine(r.out, a)
	case a.IsChanged || lost:
		why := a.Reason
		if why == "" {
			why = whyNot(runs.Attempt{Graders: a.New.Graders})
		}
		_, r.problem = fmt.Fprintln(r.out, printable(fmt.Sprintf("%s -> %s  %s  %s", shortVerdict(a.Old), shortVerdict(a.New), named(a.CaseID, a.Epoch), oneLine(why))))
	}
}

// shortVerdict is a verdict in nine characters.
func shortVerdict(v rescore.Verdict) string {
	word, score := "FAIL", 0.0
	switch {
	case v.Passed == nil:
		return "none     "
	case *v.Passed:
		word = "PASS"
	}
	if v.Score != nil {
		score = *v.Score
	}
	return fmt.Sprintf("%s %.2f", word, score)
}

// end shows the summary of the run in that folder.
func (r *rescored) end(dir string, s rescore.Summary) error {
	switch {
	case r.problem != nil:
		return r.problem
	case r.json:
		return runs.EncodeLine(r.out, s)
	}
	word := "PASS"
	if s.Passed < s.GradedCount() {
		word = "FAIL"
	}
	_, err := fmt.Fprintf(r.out, "%s %d/%d  (failed %d, ungraded %d, infrastructure %d, not graded again %d, kept %d)  was %d/%d  %s\n",
		word, s.Passed, s.GradedCount(), s.Failed, s.Ungraded, s.Infrastructure, s.NotRegraded, s.KeptResults, s.OldCounts.Passed, s.OldCounts.GradedCount(), filepath.Join(dir, s.VerdictsFile))
	return err
}

// rescoreStatus is the exit status that the new verdicts call for.
func rescoreStatus(s rescore.Summary) error {
	switch {
	case s.Attempts == 0:
		return broken(errors.New("the run has no attempts"))
	case s.Passed+s.Failed == 0 && s.GradedCount() > 0:
		return broken(errors.New("nothing could be graded"))
	case s.Passed < s.GradedCount():
		return &statusError{status: exitFailed}
	default:
		return nil
	}
}
