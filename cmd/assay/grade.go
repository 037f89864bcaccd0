package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"assay/eval/attempt"
	"assay/eval/rescore"
	"assay/internal/model"
	"assay/testcases/grading"
)

// gradeFlags are those of assay grade.
type gradeFlags struct {
	run  string
	json bool
}

func (p *process) gradeCommand() *cobra.Command {
	f := &gradeFlags{}
	cmd := &cobra.Command{
		Use:   "grade [FILE or -]",
		Short: "Grade answers without running anything",
		Long: fmt.Sprintf(`Grades the lines of a file, or of stdin. Each is an object, and each is answered
with one, in order and as soon as it is known:

  {"id", "grader": {"type", "config"}, "answer"}
  {"id", "graders": [{"type", "config"}, …], "answer"}
    {"id", "passed", "score", "metrics", "reasoning", "error", "graders"?}
  {"id", "extract": "summary", "conversation" or "eval_answer_file", "answer"}
    {"id", "found", "extracted", "error", "reason"?}

A line may have up to %d MiB. What cannot be read is answered with an error, and
the next line is read.

With --run it grades the attempts of a stored run again, with the cases as they
are today: those of PATH…, or else those that the run was started with. The old
verdicts stay; the new ones are written beside them, into RUN/rescores. A grader
that looks at what is gone, the kernel or the sandbox, keeps its old result if
its config is the same; otherwise the attempt is not graded again. The last line on stdout is

  PASS p/n  (failed f, ungraded u, infrastructure i, not graded again g, kept k)  was q/n  FILE

where k counts results.

Exit status: 0 every line was answered with a verdict or an extraction, whichever
it is, 1 some line could not be read or names no grader there is, 2 bad usage,
3 input or output failed, 130 or 143 interrupted. With --run: 0 all pass now,
1 some do not, 2 bad usage or cases, 3 nothing could be graded.`, rescore.MaxLineBytes>>20),
		Example: `  echo '{"id": 1, "grader": {"type": "exact", "config": {"ground_truth": 4}}, "answer": 4}' | assay grade
  assay grade --run runs/20260102-101500-cases`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("run") {
				return p.gradeRun(cmd.Context(), f, args)
			}
			return p.gradeLines(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "run `folder` whose attempts to grade again")
	flags.BoolVar(&f.json, "json", false, "with --run: print one JSON object per attempt, then the summary")
	return cmd
}

func (p *process) gradeLines(ctx context.Context, f *gradeFlags, args []string) (err error) {
	switch {
	case len(args) > 1:
		return usage(fmt.Errorf("grade: want one file, found %d (paths of cases go with --run)", len(args)))
	case f.json:
		return usage(errors.New("--json goes with --run: without it the output is JSON already"))
	}
	in, err := p.lines(args)
	if err != nil {
		return usage(err)
	}
	defer in.Close()
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	faulty, err := rescore.GradeLines(ctx, untilDone(ctx, in), p.out, grading.Input{Environ: attempt.EnvWithoutSecrets(p.environ), Judge: p.judge})
	switch status := interrupted.status(); {
	case status != 0:
		return &statusError{status: status}
	case err != nil:
		return broken(err)
	case faulty > 0:
		return &statusError{status: exitFailed, err: fmt.Errorf("%d lines could not be read or graded as they ask: see their errors", faulty)}
	default:
		return nil
	}
}

// lines opens what is to be graded: the file that is named, or stdin.
func (p *process) lines(args []string) (io.ReadCloser, error) {
	if len(args) == 1 && args[0] != "-" {
		return os.Open(args[0])
	}
	if in, ok := p.in.(io.Writer); ok && isTerminal(in) {
		_, _ = fmt.Fprintln(p.err, "assay: reading lines from the terminal, to the end of input (Ctrl-D)")
	}
	return io.NopCloser(p.in), nil
}

// judge opens a model for llm_judge, with the keys of the environment.
func (p *process) judge(name string) (model.Client, error) {
	client, _, err := p.openModel(name, nil)
	return client, err
}

// untilDone is in, until ctx ends. A read that then waits for a terminal or a
// pipe is left to the end of the process.
func untilDone(ctx context.Context, in io.Reader) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, in)
		_ = writer.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Cause(ctx)) })
	return reader
}
