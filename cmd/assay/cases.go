package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/cmd/assay/internal/progress"
	"assay/cmd/assay/internal/terminal"
	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/server"
	"assay/server/api"
	"assay/testcases"
)

// caseSequence is cases of assay serve that are tried one after the other, as one run.
type caseSequence struct {
	name  string // PATH or PATH#ID, as the user has named the cases
	cases []testcases.Case
}

// loadFlaggedCases loads the cases of --case, one run per flag.
func (s *serveHost) loadFlaggedCases() (all []caseSequence, err error) {
	for _, name := range s.flags.cases {
		path, id, _ := strings.Cut(name, "#")
		if path == "" {
			return nil, fmt.Errorf("--case %q: want PATH or PATH#id", name)
		}
		cases, err := s.loadCases(path, id)
		if err != nil {
			return nil, err
		}
		all = append(all, caseSequence{name, cases})
	}
	return all, nil
}

// loadCases loads the cases at path, or only the case with that id unless id is "".
func (s *serveHost) loadCases(path, id string) ([]testcases.Case, error) {
	dataFolders, err := s.flags.host.dataFolders()
	if err != nil {
		return nil, err
	}
	cases, err := testcases.Load([]string{path}, testcases.Options{Data: dataFolders})
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

// listCases lists all cases in the files and folders of --case, whatever their ids: a
// console may ask for any of them.
func (s *serveHost) listCases() (all []api.Case, err error) {
	cases, err := s.loadAllCases()
	for _, c := range cases {
		all = append(all, api.Case{Path: c.Source.File, ID: c.ID, Task: c.Task, Tags: c.Tags})
	}
	return all, err
}

// loadAllCases loads all cases in the files and folders of --case, whatever their ids.
func (s *serveHost) loadAllCases() ([]testcases.Case, error) {
	if len(s.flags.cases) == 0 {
		return nil, nil
	}
	dataFolders, err := s.flags.host.dataFolders()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range s.flags.cases {
		path, _, _ := strings.Cut(name, "#")
		paths = append(paths, path)
	}
	return testcases.Load(paths, testcases.Options{Data: dataFolders}) // a file that is named twice counts once
}

// prepareCase returns a function that makes attempts at the cases at path, which a console
// has asked for. The path must lie in a folder of --case, or beside a file of --case.
func (s *serveHost) prepareCase(path, id string) (server.AttemptRunner, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range s.flags.cases {
		folder, _, _ := strings.Cut(name, "#")
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			folder = filepath.Dir(folder)
		}
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			continue
		}
		if folder, err = filepath.Abs(folder); err != nil || !isPathWithin(folder, resolved) {
			continue
		}
		cases, err := s.loadCases(path, id)
		if err != nil {
			return nil, err
		}
		return s.attemptRunner(caseSequence{strings.TrimSuffix(path+"#"+id, "#"), cases}), nil
	}
	return nil, fmt.Errorf("%s is in no folder that --case has named", path)
}

// isPathWithin reports whether path is folder itself or lies in it.
func isPathWithin(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// attemptRunner returns a function that makes attempts at the cases as one run.
func (s *serveHost) attemptRunner(run caseSequence) server.AttemptRunner {
	return func(ctx context.Context, publisher *server.AttemptPublisher) error {
		if err := s.runCases(ctx, run, publisher); err != nil {
			return fmt.Errorf("%s could not be tried: %w", run.name, err)
		}
		return nil
	}
}

// runCases creates a run folder, makes an attempt at each case, shows them to consoles,
// and prints the summary.
func (s *serveHost) runCases(ctx context.Context, run caseSequence, publisher *server.AttemptPublisher) error {
	skipReason, err := s.checkCases(ctx, run.cases)
	if err != nil {
		return err
	}
	folder, err := runs.Create(newRunFolder(s.flags.runs, "serve"), runs.Info{
		Started: time.Now().UTC(), Host: s.host.machineInfo(),
		Config: map[string]any{"case": run.name, "agent": s.flags.host.agent, "model": s.flags.host.builtin.model, "person": s.host.person, "console": !s.flags.headless},
	}, s.p.redactor)
	if err != nil {
		return err
	}
	attempts := s.attempts
	attempts.SessionID, attempts.ChildLineSink = publisher.SessionID(), publisher.ChildLineSink
	attempts.OnTrace, attempts.OnSession, attempts.OnTaskSent = publisher.OnTrace, publisher.OnSession, publisher.OnTaskSent
	summary, err := batch.Run(ctx, batch.Config{
		RunWriter: folder, Cases: run.cases, Jobs: 1, SkipReason: skipReason, Observer: verdictReporter{s.p, publisher},
		RunAttempt: func(ctx context.Context, job attempt.Job) runs.Attempt {
			publisher.AttemptStarting(attemptInfo(attempts, job))
			return attempt.Run(ctx, attempts, job)
		},
	})
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	if _, err = fmt.Fprintln(s.p.resultsWriter(false), progress.SummaryLine(summary, folder.Dir)); err == nil && summary.Attempts == 0 && ctx.Err() == nil {
		err = errors.New("every case was skipped")
	}
	return err
}

// checkCases returns a function that says why a case must be skipped here, or an error with everything
// that the graders of the other cases need and that is missing.
func (s *serveHost) checkCases(ctx context.Context, cases []testcases.Case) (skipReason func(testcases.Case) string, err error) {
	if skipReason, err = s.host.checkRequirements(ctx, cases); err != nil {
		return nil, err
	}
	return skipReason, s.p.checkGraders(cases, skipReason)
}

// attemptInfo returns what consoles may know about a running attempt.
func attemptInfo(cfg attempt.Config, job attempt.Job) server.AttemptInfo {
	return server.AttemptInfo{
		CaseID: job.Case.ID, Task: job.Case.Task, Files: attempt.FileNames(job.Case), Epoch: job.Epoch, Limits: attempt.EffectiveLimits(cfg.LimitOverrides, job.Case),
	}
}

// verdictReporter is a [batch.Observer] that shows verdicts on stderr and to consoles when
// they are on disk.
type verdictReporter struct {
	p         *cli
	publisher *server.AttemptPublisher
}

// AttemptStarted does nothing: the log shows running attempts.
func (verdictReporter) AttemptStarted(batch.RunningAttempt) {}

// LineWritten shows a line of attempts.jsonl: an attempt that has ended, or a skipped
// case.
func (v verdictReporter) LineWritten(line any) {
	switch line := line.(type) {
	case runs.Attempt:
		_, _ = fmt.Fprintln(v.p.stderr, progress.VerdictWord(line)+" "+terminal.Printable(progress.DescribeAttempt(line)))
		v.publisher.AttemptEnded(line)
	case runs.SkippedCase:
		_, _ = fmt.Fprintln(v.p.stderr, terminal.Printable("SKIP  "+line.CaseID+": "+line.Reason))
	}
}
