package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/progress"
	"assay/cmd/assay/internal/terminal"
	"assay/eval/attempt"
	"assay/eval/rescore"
	"assay/eval/runs"
	"assay/testcases"
	"assay/testcases/grading"
)

// gradeFlags are the flags of assay grade.
type gradeFlags struct {
	run  string
	json bool
}

func (p *cli) newGradeCommand() *cobra.Command {
	f := &gradeFlags{}
	cmd := &cobra.Command{
		Use:   "grade [FILE or -]",
		Short: "Grade answers without running anything",
		Long: fmt.Sprintf(`Grade the lines of a file, or of stdin. Each line is a JSON object, and is answered
with one, in order and as soon as its result is known:

  {"id", "grader": {"type", "config"}, "answer"}
  {"id", "graders": [{"type", "config"}, …], "answer"}
    {"id", "passed", "score", "metrics", "reasoning", "error", "graders"?}
  {"id", "extract": "summary", "conversation" or "eval_answer_file", "answer"}
    {"id", "found", "extracted", "error", "reason"?}

A line has at most %d MiB. An invalid line is answered with an error, and the next
line is read.

With --run grade the attempts of a stored run again, with the cases in PATH…, or
else with the current cases in the paths that the run was started with. The new
verdicts are written into RUN/rescores; the old ones stay. A grader that needs the
kernel or the sandbox, which are gone, keeps its old result if its config is the
same; otherwise the attempt is not graded again. The last line on stdout is

  PASS p/n  (failed f, ungraded u, infrastructure i, not graded again g, kept k)  was q/n  FILE

where k counts results.

Exit status: 0 every line was answered with a verdict or an extraction, passed or
not, 1 some line was invalid or names an unknown grader, 2 bad usage, 3 input or
output failed, 130 or 143 interrupted. With --run: 0 all pass now, 1 some do not,
2 bad usage or cases, 3 nothing could be graded.`, rescore.MaxLineBytes>>20),
		Example: `  echo '{"id": 1, "grader": {"type": "exact", "config": {"ground_truth": 4}}, "answer": 4}' | assay grade
  assay grade --run runs/20260102-101500-cases`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("run") {
				return p.regradeRun(cmd.Context(), f, args)
			}
			return p.gradeLines(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "run `folder` whose attempts to grade again")
	flags.BoolVar(&f.json, "json", false, "with --run: print one JSON object per attempt, then the summary")
	return cmd
}

// gradeLines grades the lines of the file in args, or of stdin.
func (p *cli) gradeLines(ctx context.Context, f *gradeFlags, args []string) (err error) {
	switch {
	case len(args) > 1:
		return exit.UsageError(fmt.Errorf("grade: want one file, found %d (paths of cases go with --run)", len(args)))
	case f.json:
		return exit.UsageError(errors.New("--json goes with --run: without it the output is JSON already"))
	}
	in, err := p.openInputLines(args)
	if err != nil {
		return exit.UsageError(err)
	}
	defer in.Close()
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	faulty, err := rescore.GradeAnswerLines(ctx, cancellableReader(ctx, in), p.resultsWriter(true), grading.Input{Environ: attempt.EnvWithoutSecrets(p.environ), Judge: p.openJudge})
	if err == nil && faulty > 0 {
		err = &exit.Error{Status: exit.StatusFailed, Err: fmt.Errorf("%d lines are invalid or name an unknown grader: see their errors", faulty)}
	}
	return interrupt.exitErrorOr(exit.FirstErrorOrBroken(err))
}

// openInputLines opens the file in args, or stdin if args is empty or "-".
func (p *cli) openInputLines(args []string) (io.ReadCloser, error) {
	if len(args) == 1 && args[0] != "-" {
		return os.Open(args[0])
	}
	if terminal.IsTerminal(p.stdin) {
		_, _ = fmt.Fprintln(p.stderr, "assay: reading lines from the terminal, to the end of input (Ctrl-D)")
	}
	return io.NopCloser(p.stdin), nil
}

// cancellableReader reads from in until ctx ends, then fails with the cause of ctx. A read
// of a terminal or a pipe that does not return is left to the end of the process.
func cancellableReader(ctx context.Context, in io.Reader) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, in)
		_ = writer.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Cause(ctx)) })
	return reader
}

// regradeRun grades a stored run again, with the cases in paths.
func (p *cli) regradeRun(ctx context.Context, f *gradeFlags, paths []string) (err error) {
	dir, err := filepath.Abs(f.run)
	if err != nil {
		return exit.BrokenError(err)
	}
	run, err := runs.NewStore(filepath.Dir(dir)).Open(filepath.Base(dir))
	if errors.Is(err, runs.ErrNotFound) {
		return exit.UsageError(fmt.Errorf("%s is not the folder of a run: it has no run.json", f.run))
	}
	if err != nil {
		return exit.UsageError(err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	cases, err := loadRegradeCases(ctx, run, paths)
	if err != nil {
		return interrupt.exitErrorOr(exit.UsageError(err))
	}
	reporter := &progress.RegradeReporter{Out: p.resultsWriter(f.json), JSON: f.json}
	summary, err := rescore.RegradeRun(ctx, run, dir, cases, rescore.RegradeConfig{
		Environ: attempt.EnvWithoutSecrets(p.environ), OpenJudge: p.openJudge, OnRegraded: reporter.AttemptRegraded, Redactor: p.redactor,
	})
	if interrupted := interrupt.exitError(); interrupted != nil {
		return interrupted
	}
	if err == nil {
		err = reporter.Finish(summary, f.run)
	}
	if err != nil {
		return exit.BrokenError(err)
	}
	if damaged := summary.Unreadable; damaged != nil {
		_, _ = fmt.Fprintf(p.stderr, "assay: %s: damaged lines that were left out: %d, the first is line %d\n", filepath.Join(f.run, "attempts.jsonl"), damaged.Count, damaged.First+1)
	}
	return regradeExitError(summary)
}

// loadRegradeCases loads the cases in paths, or if paths is empty those in the paths that
// the run was started with. It returns the cases that the run has tried.
func loadRegradeCases(ctx context.Context, run *runs.Run, paths []string) ([]testcases.Case, error) {
	areGiven := len(paths) > 0
	if !areGiven {
		var config struct {
			Paths []string `json:"paths"`
		}
		if err := json.Unmarshal(run.RawInfo["config"], &config); err != nil || len(config.Paths) == 0 {
			return nil, errors.New("run.json has no paths of cases: name them after --run RUN")
		}
		paths = config.Paths
	}
	cases, err := testcases.Load(paths, testcases.Options{})
	if errors.Is(err, fs.ErrNotExist) && !areGiven {
		return nil, fmt.Errorf("the cases of the run are gone: %w (name them after --run RUN)", err)
	}
	if err != nil {
		return nil, err
	}
	return rescore.CasesWithAttempts(ctx, run, cases)
}

// regradeExitError returns an error with the exit status for the new verdicts, or nil if
// all attempts pass and no line of them is damaged.
func regradeExitError(s rescore.Summary) error {
	switch {
	case s.Attempts == 0:
		return exit.BrokenError(errors.New("the run has no attempts"))
	case s.Passed+s.Failed == 0 && s.GradingErrors == 0 && s.GradedCount() > 0:
		return exit.BrokenError(errors.New("nothing could be graded"))
	case s.Passed < s.GradedCount() || s.Unreadable != nil:
		return exit.FailedError()
	default:
		return nil
	}
}
