package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/progress"
	"assay/cmd/assay/internal/terminal"
	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/internal/sandbox"
	"assay/testcases"
	"assay/testcases/lint"
)

// lintFlags are the flags of assay lint.
type lintFlags struct {
	category string
	format   string // console or json
	quiet    bool
	pattern  string

	playsCases bool // --oracle
	jobs       int
	host       kernelAndAgentFlags
}

func (p *cli) newLintCommand() *cobra.Command {
	f := &lintFlags{format: "console"}
	cmd := &cobra.Command{
		Use:   "lint PATH…",
		Short: "Check case files",
		Long: `Check the cases in files, folders and glob patterns without running them. Issues
are printed file by file: error (the case cannot be run, or can never be passed) or
warning, a code, the field, and what to do. Folders are searched recursively; files
in them that cannot contain a case are skipped, unless --pattern names them.
docs/lint.md lists all codes.

With --oracle run each case without errors twice, with a separate kernel and
sandbox: with its own solution, which must pass, and with an agent that does
nothing, which must not.

Exit status: 0 no case has an error, 1 some case has, or there is no case, 2 bad
usage, 3 the cases could not be run, 130 or 143 interrupted.`,
		Example: "  assay lint mycases --format json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return p.lint(cmd.Context(), paths, f)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *lintFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.category, "category", "c", "all", "only cases with this `task` in their metadata; unreadable files are always reported")
	flags.VarP(choiceFlag{&f.format, []string{"console", "json"}}, "format", "f", "output format: `console|json`")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only the summary")
	flags.StringVar(&f.pattern, "pattern", "", "only files of a folder that match the `glob`; ** is any number of folders, as in **/*.json (default: every file that may hold a case)")
	flags.BoolVar(&f.playsCases, "oracle", false, "also run each case with its own solution, which must pass, and with an agent that does nothing, which must fail")
	flags.IntVarP(&f.jobs, "jobs", "j", runtime.NumCPU(), "with --oracle: `number` of attempts at once")
	f.host.addSome(cmd, "kernel", "python", "data", "sandbox")
	f.host.sandbox.defaultNetwork = sandbox.NetworkLoopback // as in a run
}

// lint checks the cases in paths, prints the report, and returns an error with the exit
// status.
func (p *cli) lint(ctx context.Context, paths []string, f *lintFlags) error {
	if f.jobs < 1 {
		return exit.UsageError(errors.New("-j is at least 1"))
	}
	dataFolders, err := f.host.dataFolders()
	if err != nil {
		return exit.UsageError(err)
	}
	level := p.logLevel.Level()
	if !f.quiet {
		p.lowerLogLevel(slog.LevelInfo) // log the skipped files
	}
	opts := lint.CheckOptions{Pattern: f.pattern, Data: dataFolders, Log: p.newLogger()}
	if f.category != "all" {
		opts.Category = f.category
	}
	report, err := lint.Check(paths, opts)
	p.logLevel.Set(level)
	if err != nil {
		return exit.UsageError(err)
	}
	played := 0
	if f.playsCases {
		if played, err = p.runPlayableCases(ctx, f, &report); err != nil {
			return err
		}
	}
	if err := p.printLintReport(report, f, played); err != nil {
		return exit.BrokenError(err)
	}
	switch {
	case report.Summary.Checked == 0:
		return &exit.Error{Status: exit.StatusFailed, Err: errors.New("there is no case in " + strings.Join(paths, ", "))}
	case report.Summary.Errors > 0:
		return exit.FailedError()
	default:
		return nil
	}
}

// printLintReport prints the report as text or JSON. played is the number of cases that
// --oracle has run.
func (p *cli) printLintReport(report lint.Report, f *lintFlags, played int) error {
	if f.quiet {
		report.Results = []lint.FileResult{}
	}
	if f.format == "json" {
		return runs.EncodeLine(p.stdout, report)
	}
	text := lintIssuesText(report)
	if f.playsCases {
		text += formatCount(played, "case") + " played, by the solution and by doing nothing\n"
	}
	s := report.Summary
	text += fmt.Sprintf("%s, %d passed, %s, %s\n", formatCount(s.Checked, "case"), s.Passed, formatCount(s.Errors, "error"), formatCount(s.Warnings, "warning"))
	_, err := io.WriteString(p.stdout, text)
	return err
}

// lintIssuesText returns the issues of a report for people, below the names of the files.
func lintIssuesText(report lint.Report) string {
	var out strings.Builder
	for _, result := range report.Results {
		if len(result.Issues) == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s\n", terminal.Printable(result.File))
		for _, issue := range result.Issues {
			out.WriteString(lintIssueText(issue))
		}
	}
	return out.String()
}

// lintIssueText returns an issue as a line, and its fix as a second one.
func lintIssueText(issue lint.Issue) string {
	text := strings.Join(strings.Fields(issue.Message), " ")
	if issue.Location != "" {
		text = issue.Location + ": " + text
	}
	line := fmt.Sprintf("  %-7s  %s  %s\n", issue.Level, issue.Code, terminal.Printable(text))
	if issue.Fix != nil {
		line += fmt.Sprintf("  %15s%s\n", "", terminal.Printable("write "+issue.Fix.After+" in place of "+issue.Fix.Before))
	}
	return line
}

// formatCount returns a number of things: "1 case", "2 cases".
func formatCount(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// runPlayableCases runs the playable cases of a report with the agents oracle and noop, and adds
// to the report what that shows. It returns the number of cases that it could run.
func (p *cli) runPlayableCases(ctx context.Context, f *lintFlags, report *lint.Report) (int, error) {
	cases := report.PlayableCases()
	if len(cases) == 0 {
		return 0, nil
	}
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	solution, err := p.runCasesWithAgent(ctx, f, "oracle", cases)
	var nothing map[string]lint.PlayResult
	if err == nil {
		nothing, err = p.runCasesWithAgent(ctx, f, "noop", cases)
	}
	if err = interrupt.exitErrorOr(err); err != nil {
		return 0, err
	}
	return report.AddPlayResults(solution, nothing), nil
}

// runCasesWithAgent runs each case once with the agent oracle or noop, and returns the results by
// the source of the case. It stores nothing. Its errors carry an exit status.
func (p *cli) runCasesWithAgent(ctx context.Context, f *lintFlags, agent string, cases []testcases.Case) (plays map[string]lint.PlayResult, err error) {
	flags := f.host
	flags.agent = agent
	flags.sandbox.attemptsAtOnce = min(f.jobs, len(cases))
	flags.sandbox.withhold(cases)
	h, err := p.newHost(ctx, &flags)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	skipReason, err := h.checkRequirements(ctx, cases)
	if err != nil {
		return nil, exit.BrokenError(err)
	}
	attempts, err := h.attemptConfig()
	if err != nil {
		return nil, err
	}
	folder, err := runs.Create(filepath.Join(h.supervisor.TempDir(), "run"), runs.Info{Started: time.Now().UTC(), Host: h.machineInfo()}, p.redactor)
	if err != nil {
		return nil, exit.BrokenError(err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	var mu sync.Mutex
	plays = map[string]lint.PlayResult{}
	add := func(c testcases.Case, play lint.PlayResult) {
		mu.Lock()
		defer mu.Unlock()
		plays[c.Source.String()] = play
	}
	_, err = batch.Run(ctx, batch.Config{
		RunWriter: folder, Cases: cases, Jobs: f.jobs,
		SkipReason: func(c testcases.Case) string {
			reason := skipReason(c)
			if reason != "" {
				add(c, lint.PlayResult{SkipReason: reason})
			}
			return reason
		},
		RunAttempt: func(ctx context.Context, job attempt.Job) runs.Attempt {
			result := attempt.Run(ctx, attempts, job)
			add(job.Case, lint.PlayResult{IsPassed: result.Passed != nil && *result.Passed, Failure: describeFailedAttempt(result)})
			return result
		},
	})
	if err != nil {
		return nil, exit.BrokenError(err)
	}
	return plays, nil
}

// describeFailedAttempt returns why an attempt did not pass, with its answer if it gave none in
// the expected form.
func describeFailedAttempt(a runs.Attempt) string {
	if a.Outcome != runs.OutcomeCompleted || a.Passed == nil {
		return string(a.Outcome) + ": " + terminal.OneLine(a.Detail)
	}
	text := terminal.OneLine(progress.FirstFailedGrader(a))
	if len(a.Answer) == 0 {
		text += " (it handed in: " + terminal.OneLine(a.Summary) + ")"
	}
	return text
}
