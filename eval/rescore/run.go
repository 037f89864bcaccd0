package rescore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/tidwall/gjson"

	"assay/eval/runs"
	"assay/internal/model"
	"assay/internal/redact"
	"assay/testcases"
)

// RegradeConfig configures [RegradeRun]. With the zero value command graders have an empty
// environment, and a grader that asks a model fails if the run has not recorded the call.
type RegradeConfig struct {
	Environ    []string                                // environment of command graders
	OpenJudge  func(name string) (model.Client, error) // opens the model of this name for calls that are not recorded; may be nil
	OnRegraded func(RegradedAttempt)                   // called with each attempt after its line is written; may be nil
	Redactor   *redact.Redactor                        // finds the secrets that are replaced in the files; nil: none are
}

// CasesWithAttempts returns those of cases at which the run has attempts. It fails if the run
// cannot be read, or if [testcases.CheckRunnable] refuses the cases.
func CasesWithAttempts(ctx context.Context, run *runs.Run, cases []testcases.Case) ([]testcases.Case, error) {
	triedIDs := map[string]bool{}
	for a, err := range storedAttempts(ctx, run, &runs.UnreadableLines{}) {
		if err != nil {
			return nil, err
		}
		triedIDs[a.CaseID] = true
	}
	var chosen []testcases.Case
	for _, c := range cases {
		if triedIDs[c.ID] {
			chosen = append(chosen, c)
		}
	}
	return chosen, testcases.CheckRunnable(chosen)
}

// RegradeRun grades the attempts of a stored run again, by the graders that the given cases
// with the same ids have now. dir is the absolute path of the run's folder. It writes a
// [RegradedAttempt] for each attempt and a final [Summary] into a new file in the folder's
// subfolder rescores, and changes no other file. Attempts are graded concurrently, and written
// and reported in the order of their lines in attempts.jsonl.
//
// Graders see what is stored: the answer, if the outcome lets it count, the notebook and the
// conversation. The kernel and the working folder no longer exist: a grader that needs them
// keeps its old result, if the run has one of the same grader. Calls of models by graders are
// replayed from the run's recording; other calls are made and recorded in a file beside the new
// one.
//
// A damaged line of attempts.jsonl is left out, and counted in the summary. It fails if a file cannot be
// read or written, and with the cause of ctx. The attempts that were graded before that are in the file.
func RegradeRun(ctx context.Context, run *runs.Run, dir string, cases []testcases.Case, cfg RegradeConfig) (summary Summary, err error) {
	summary = Summary{Type: TypeRescoreSummary, Run: run.Name}
	out, err := createVerdictsFile(dir, cfg.Redactor)
	if err != nil {
		return summary, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if summary.VerdictsFile, err = filepath.Rel(dir, out.path); err != nil {
		return summary, err
	}
	s := &regrader{run: run, dir: dir, cases: map[string]testcases.Case{}, cfg: cfg, judgeCalls: out.judgeCalls}
	for _, c := range cases {
		s.cases[c.ID] = c
	}
	var damaged runs.UnreadableLines
	next, stop := iter.Pull2(storedAttempts(ctx, run, &damaged))
	defer stop()
	consume := func(r regradeResult) error {
		if r.err != nil {
			return r.err
		}
		summary.addAttempt(r.RegradedAttempt, r.keptResults)
		if err := out.writeLine(r.RegradedAttempt); err != nil {
			return err
		}
		if cfg.OnRegraded != nil {
			cfg.OnRegraded(r.RegradedAttempt)
		}
		return nil
	}
	if err := runTasksInOrder(ctx, s.nextAttemptTask(next), resultConsumer[regradeResult]{consume: consume}); err != nil {
		return summary, err
	}
	if damaged.Count > 0 {
		summary.Unreadable = &damaged
	}
	return summary, out.writeLine(summary)
}

// regrader grades the attempts of one stored run again.
type regrader struct {
	run        *runs.Run
	dir        string                    // path of the run's folder
	cases      map[string]testcases.Case // by id
	cfg        RegradeConfig
	judgeCalls io.Writer // records the calls of judges that are not replayed
}

// attemptMemoryBytes is roughly how many bytes of memory an attempt takes while it is graded
// again, in addition to its line.
const attemptMemoryBytes = 1 << 20

// nextAttemptTask returns a function that reads the next attempt and returns the task of
// grading it again. That function fails with io.EOF after the last attempt, and if the attempt
// cannot be read.
func (s *regrader) nextAttemptTask(next func() (storedAttempt, error, bool)) func() (pipelineTask[regradeResult], error) {
	return func() (pipelineTask[regradeResult], error) {
		a, err, hasNext := next()
		if err == nil && !hasNext {
			err = io.EOF
		}
		return pipelineTask[regradeResult]{
			memoryBytes: a.lineBytes + attemptMemoryBytes,
			run:         func(ctx context.Context) regradeResult { return s.regradeAttempt(ctx, a) },
		}, err
	}
}

// storedAttempt is an attempt's line in attempts.jsonl, parsed, and the name of its folder.
type storedAttempt struct {
	runs.Attempt
	folderName string // base name of the attempt's folder
	lineBytes  int64  // length of the line
}

// storedAttempts yields the attempts of a run in the order of their lines in attempts.jsonl. Damaged
// lines are left out and counted. An error is yielded last.
func storedAttempts(ctx context.Context, run *runs.Run, damaged *runs.UnreadableLines) iter.Seq2[storedAttempt, error] {
	return func(yield func(storedAttempt, error) bool) {
		lines, err := run.AttemptLines()
		if err != nil {
			yield(storedAttempt{}, err)
			return
		}
		defer lines.Close()
		for line, err := range lines.LinesFrom(ctx, 1) {
			if err != nil {
				yield(storedAttempt{}, fmt.Errorf("attempts.jsonl: line %d: %w", line.Number+1, err))
				return
			}
			kind := gjson.GetBytes(line.Text, "type").String()
			a := storedAttempt{folderName: runs.AttemptFolderName(line.Text), lineBytes: int64(len(line.Text))}
			isAttempt := kind == runs.TypeAttempt
			if !gjson.ValidBytes(line.Text) || kind == "" || isAttempt && json.Unmarshal(line.Text, &a.Attempt) != nil {
				damaged.AddLine(line.Number)
				continue
			}
			if !isAttempt {
				continue
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}
