package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/server"
	"assay/server/api"
	"assay/testcases"
)

// caseRun is cases to be tried one after the other, as one run.
type caseRun struct {
	from  string // PATH[#id]
	cases []testcases.Case
}

// attached are the cases that the flags name.
func (s *serving) attached() (all []caseRun, err error) {
	for _, from := range s.f.cases {
		path, id, _ := strings.Cut(from, "#")
		if path == "" {
			return nil, fmt.Errorf("--case %q: want PATH or PATH#id", from)
		}
		cases, err := s.load(path, id)
		if err != nil {
			return nil, err
		}
		all = append(all, caseRun{from, cases})
	}
	return all, nil
}

// load reads the cases at path; id, unless it is empty, names one of them.
func (s *serving) load(path, id string) ([]testcases.Case, error) {
	prefixes, err := s.f.host.prefixes()
	if err != nil {
		return nil, err
	}
	cases, err := testcases.Load([]string{path}, testcases.Options{Data: prefixes})
	if err != nil {
		return nil, err
	}
	if id == "" {
		return cases, testcases.CheckRunnable(cases)
	}
	for _, c := range cases {
		if c.ID == id {
			return []testcases.Case{c}, testcases.CheckRunnable([]testcases.Case{c})
		}
	}
	return nil, fmt.Errorf("%s has no case %q", path, id)
}

// list reads the cases of what the flags name, those too that an id was not given
// for: any of them may be attached.
func (s *serving) list() (all []api.Case, err error) {
	prefixes, err := s.f.host.prefixes()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, from := range s.f.cases {
		path, _, _ := strings.Cut(from, "#")
		paths = append(paths, path)
	}
	cases, err := testcases.Load(paths, testcases.Options{Data: prefixes}) // a file that is named twice counts once
	for _, c := range cases {
		all = append(all, api.Case{Path: c.Source.File, ID: c.ID, Task: c.Task, Tags: c.Tags})
	}
	return all, err
}

// prepare makes attempts at a case that somebody names while the server runs: it
// must lie in a folder that --case has named, or be named so itself.
func (s *serving) prepare(path, id string) (server.AttemptRunner, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	for _, from := range s.f.cases {
		folder, _, _ := strings.Cut(from, "#")
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			folder = filepath.Dir(folder)
		}
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			continue
		}
		if folder, err = filepath.Abs(folder); err != nil || !below(folder, real) {
			continue
		}
		cases, err := s.load(path, id)
		if err != nil {
			return nil, err
		}
		return s.try(caseRun{strings.TrimSuffix(path+"#"+id, "#"), cases}), nil
	}
	return nil, fmt.Errorf("%s is in no folder that --case has named", path)
}

// try makes attempts at cases, a run of their own.
func (s *serving) try(run caseRun) server.AttemptRunner {
	return func(ctx context.Context, show *server.AttemptPublisher) error {
		if err := s.tryAll(ctx, run, show); err != nil {
			return fmt.Errorf("%s could not be tried: %w", run.from, err)
		}
		return nil
	}
}

func (s *serving) tryAll(ctx context.Context, run caseRun, show *server.AttemptPublisher) error {
	missing, err := s.h.requirements(ctx, run.cases)
	if err != nil {
		return err
	}
	folder, err := runs.Create(unused(filepath.Join(s.f.runs, time.Now().Format("20060102-150405")+"-serve")), runs.Info{
		Started: time.Now().UTC(), Host: s.h.info(),
		Config: map[string]any{"case": run.from, "agent": s.f.host.agent, "model": s.f.host.builtin.model, "console": !s.f.headless},
	})
	if err != nil {
		return err
	}
	attempts := s.attempts
	attempts.SessionID, attempts.ChildLineSink = show.SessionID(), show.ChildLineSink
	attempts.OnTrace, attempts.OnSession, attempts.OnTaskSent = show.OnTrace, show.OnSession, show.OnTaskSent
	summary, err := batch.Run(ctx, batch.Config{
		RunWriter: folder, Cases: run.cases, Jobs: 1, SkipReason: missing, Observer: verdicts{s.p, show},
		RunAttempt: func(ctx context.Context, work attempt.Job) runs.Attempt {
			show.AttemptStarting(attempting(attempts, work))
			return attempt.Run(ctx, attempts, work)
		},
	})
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	if _, err = fmt.Fprintln(s.p.out, (&report{dir: folder.Dir}).line(summary)); err == nil && summary.Attempts == 0 && ctx.Err() == nil {
		err = errors.New("every case was skipped")
	}
	return err
}

// attempting is what consoles may know of an attempt while it is made.
func attempting(cfg attempt.Config, work attempt.Job) server.AttemptInfo {
	return server.AttemptInfo{
		CaseID: work.Case.ID, Task: work.Case.Task, Epoch: work.Epoch, Limits: attempt.EffectiveLimits(cfg.LimitOverrides, work.Case),
	}
}

// verdicts tells consoles and the terminal what became of attempts, once that is
// on disk.
type verdicts struct {
	p    *process
	show *server.AttemptPublisher
}

// AttemptStarted has nothing to say: the log has.
func (verdicts) AttemptStarted(batch.RunningAttempt) {}

// LineWritten tells of a line.
func (v verdicts) LineWritten(line any) {
	switch line := line.(type) {
	case runs.Attempt:
		_, _ = fmt.Fprintln(v.p.err, (&report{}).verdict(line)+" "+printable(describe(line)))
		v.show.AttemptEnded(line)
	case runs.SkippedCase:
		_, _ = fmt.Fprintln(v.p.err, printable("SKIP  "+line.CaseID+": "+line.Reason))
	}
}
