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
	"assay/testcases"
)

// RegradeConfig is what grading a run again may be told. The zero value gives
// commands no environment and asks no model.
type RegradeConfig struct {
	Environ    []string                                // of command graders
	OpenJudge  func(name string) (model.Client, error) // opens a model, for what the run has not recorded
	OnRegraded func(RegradedAttempt)                   // told of each attempt, once it is written down
}

// TriedCases returns those of cases that the run has attempts at. The error says that
// the run cannot be read, or what keeps them from being graded, as
// [testcases.CheckRun] does.
func TriedCases(ctx context.Context, run *runs.Run, cases []testcases.Case) ([]testcases.Case, error) {
	tried := map[string]bool{}
	for a, err := range storedAttempts(ctx, run) {
		if err != nil {
			return nil, err
		}
		tried[a.CaseID] = true
	}
	var chosen []testcases.Case
	for _, c := range cases {
		if tried[c.ID] {
			chosen = append(chosen, c)
		}
	}
	return chosen, testcases.CheckRun(chosen)
}

// RegradeRun grades the attempts of the run in dir, an absolute path, again, by the cases of the same
// ids, and writes a [RegradedAttempt] for each and last the [Summary] into a new file in
// rescores there. Nothing that was there is changed. Several attempts are graded
// at once; they are written and reported in the order in which they ended.
//
// An attempt is graded as it was when it ended, from what is stored: its answer,
// if its outcome lets it count, its notebook and its conversation. What is in the
// sandbox and in the kernel no more, the results tell that graders of the same
// type at the same place had. A judge's calls are answered by those that were
// recorded, and others recorded beside the file.
//
// The error says that something could not be read or written, or is the cause of
// ctx; what was graded until then is in the file.
func RegradeRun(ctx context.Context, run *runs.Run, dir string, cases []testcases.Case, cfg RegradeConfig) (summary Summary, err error) {
	summary = Summary{Type: TypeRescoreSummary, Run: run.Name}
	out, err := createVerdictsFile(dir)
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
	next, stop := iter.Pull2(storedAttempts(ctx, run))
	defer stop()
	take := func(r regradeResult) error {
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
	if err := processInOrder(ctx, s.taskSource(next), consumer[regradeResult]{consume: take}); err != nil {
		return summary, err
	}
	return summary, out.writeLine(summary)
}

// regrader is a run while it is graded again.
type regrader struct {
	run        *runs.Run
	dir        string                    // its folder
	cases      map[string]testcases.Case // by id
	cfg        RegradeConfig
	judgeCalls io.Writer // of judges that were asked anew
}

// attemptMemoryBytes is what an attempt takes beside its line while it is graded, in
// bytes, as a rule.
const attemptMemoryBytes = 1 << 20

func (s *regrader) taskSource(next func() (storedAttempt, error, bool)) func() (task[regradeResult], error) {
	return func() (task[regradeResult], error) {
		a, err, ok := next()
		if err == nil && !ok {
			err = io.EOF
		}
		return task[regradeResult]{
			memoryBytes: a.lineBytes + attemptMemoryBytes,
			run:         func(ctx context.Context) regradeResult { return s.regrade(ctx, a) },
		}, err
	}
}

// storedAttempt is a line of attempts.jsonl.
type storedAttempt struct {
	runs.Attempt
	folderName string // of its folder
	lineBytes  int64  // of the line, in bytes
}

// storedAttempts reads the attempts of a run, in the order in which they ended.
func storedAttempts(ctx context.Context, run *runs.Run) iter.Seq2[storedAttempt, error] {
	return func(yield func(storedAttempt, error) bool) {
		lines, err := run.AttemptLines()
		if err != nil {
			yield(storedAttempt{}, err)
			return
		}
		defer lines.Close()
		for line, err := range lines.LinesFrom(ctx, 1) {
			if err == nil && gjson.GetBytes(line.Text, "type").String() != runs.TypeAttempt {
				continue
			}
			a := storedAttempt{folderName: runs.AttemptFolderName(line.Text), lineBytes: int64(len(line.Text))}
			if err == nil {
				err = json.Unmarshal(line.Text, &a.Attempt)
			}
			if err != nil {
				yield(a, fmt.Errorf("attempts.jsonl: line %d: %w", line.Number+1, err))
				return
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}
