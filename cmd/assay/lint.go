package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"assay/eval/runs"
	"assay/testcases/lint"
)

// lintFlags are those of assay lint.
type lintFlags struct {
	category string
	format   string // console or json
	quiet    bool
	pattern  string
	oracle   oracleFlags
}

func (p *process) lintCommand() *cobra.Command {
	f := &lintFlags{format: "console"}
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check case files",
		Long: `Checks the cases of files, folders and glob patterns, and runs nothing. What is
wrong is printed file by file: an error (the case cannot be run, or can never be
passed) or a warning, a code, the field, and what to do. A folder is searched to
the bottom; files in it in which no case can be are passed over, unless --pattern
names them. docs/lint.md has every code.

With --oracle each case without errors is played twice, with a kernel and a
sandbox of its own: by its own solution, which must pass, and by doing nothing,
which must not.

Exit status: 0 no case has an error, 1 some has, or there is none, 2 bad usage,
3 the cases could not be played, 130 or 143 interrupted.`,
		Example: "  assay lint mycases --format json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return p.lint(cmd.Context(), paths, f)
		},
	}
	f.add(cmd)
	f.oracle.add(cmd)
	return cmd
}

func (f *lintFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.category, "category", "c", "all", "only cases with this `task` in their metadata; unreadable files are always reported")
	flags.VarP(choice{&f.format, []string{"console", "json"}}, "format", "f", "output format: `console|json`")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only the summary")
	flags.StringVar(&f.pattern, "pattern", "", "only files of a folder that match the `glob`; ** is any number of folders, as in **/*.json (default: every file that may hold a case)")
}

func (p *process) lint(ctx context.Context, paths []string, f *lintFlags) error {
	if f.oracle.jobs < 1 {
		return usage(errors.New("-j is at least 1"))
	}
	prefixes, err := f.oracle.host.prefixes()
	if err != nil {
		return usage(err)
	}
	level := p.level.Level()
	if !f.quiet {
		p.logAtLeast(slog.LevelInfo) // what is passed over
	}
	opts := lint.CheckOptions{Pattern: f.pattern, Data: prefixes, Log: p.log()}
	if f.category != "all" {
		opts.Category = f.category
	}
	report, err := lint.Check(paths, opts)
	p.level.Set(level)
	if err != nil {
		return usage(err)
	}
	played := 0
	if f.oracle.on {
		if played, err = p.playCases(ctx, &f.oracle, &report); err != nil {
			return err
		}
	}
	if err := p.showLint(report, f, played); err != nil {
		return broken(err)
	}
	switch {
	case report.Summary.Checked == 0:
		return &statusError{exitFailed, errors.New("there is no case in " + strings.Join(paths, ", "))}
	case report.Summary.Errors > 0:
		return &statusError{status: exitFailed}
	default:
		return nil
	}
}

func (p *process) showLint(report lint.Report, f *lintFlags, played int) error {
	if f.quiet {
		report.Results = []lint.FileResult{}
	}
	if f.format == "json" {
		return runs.EncodeLine(p.out, report)
	}
	text := lintText(report)
	if f.oracle.on {
		text += count(played, "case") + " played, by the solution and by doing nothing\n"
	}
	text += lintSummary(report.Summary)
	_, err := io.WriteString(p.out, text)
	return err
}

// lintText is a report for people: the results that have issues.
func lintText(report lint.Report) string {
	var out strings.Builder
	for _, result := range report.Results {
		if len(result.Issues) == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s\n", printable(result.File))
		for _, issue := range result.Issues {
			out.WriteString(lintLine(issue))
		}
	}
	return out.String()
}

// lintSummary is how many there are of everything.
func lintSummary(s lint.Summary) string {
	return fmt.Sprintf("%s, %d passed, %s, %s\n", count(s.Checked, "file"), s.Passed, count(s.Errors, "error"), count(s.Warnings, "warning"))
}

func lintLine(issue lint.Issue) string {
	text := strings.Join(strings.Fields(issue.Message), " ")
	if issue.Location != "" {
		text = issue.Location + ": " + text
	}
	line := fmt.Sprintf("  %-7s  %s  %s\n", issue.Level, issue.Code, printable(text))
	if issue.Fix != nil {
		line += fmt.Sprintf("  %15s%s\n", "", printable("write "+issue.Fix.After+" in place of "+issue.Fix.Before))
	}
	return line
}

// count is a number of things: "1 file", "2 files".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
