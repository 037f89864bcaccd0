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
	for a, err := range attempts(ctx, run) {
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
	out, err := newRescores(dir)
	if err != nil {
		return summary, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if summary.VerdictsFile, err = filepath.Rel(dir, out.path); err != nil {
		return summary, err
	}
	s := &stored{run: run, dir: dir, cases: map[string]testcases.Case{}, cfg: cfg, calls: out.calls}
	for _, c := range cases {
		s.cases[c.ID] = c
	}
	next, stop := iter.Pull2(attempts(ctx, run))
	defer stop()
	take := func(r regraded) error {
		if r.err != nil {
			return r.err
		}
		summary.add(r.RegradedAttempt, r.kept)
		if err := out.write(r.RegradedAttempt); err != nil {
			return err
		}
		if cfg.OnRegraded != nil {
			cfg.OnRegraded(r.RegradedAttempt)
		}
		return nil
	}
	if err := inOrder(ctx, s.tasks(next), taker[regraded]{take: take}); err != nil {
		return summary, err
	}
	return summary, out.write(summary)
}

// stored is a run while it is graded again.
type stored struct {
	run   *runs.Run
	dir   string                    // its folder
	cases map[string]testcases.Case // by id
	cfg   RegradeConfig
	calls io.Writer // of judges that were asked anew
}

// attemptCost is what an attempt takes beside its line while it is graded, in
// bytes, as a rule.
const attemptCost = 1 << 20

func (s *stored) tasks(next func() (attempt, error, bool)) func() (task[regraded], error) {
	return func() (task[regraded], error) {
		a, err, ok := next()
		if err == nil && !ok {
			err = io.EOF
		}
		return task[regraded]{
			cost: a.size + attemptCost,
			do:   func(ctx context.Context) regraded { return s.regrade(ctx, a) },
		}, err
	}
}

// attempt is a line of attempts.jsonl.
type attempt struct {
	runs.Attempt
	name string // of its folder
	size int64  // of the line, in bytes
}

// attempts reads the attempts of a run, in the order in which they ended.
func attempts(ctx context.Context, run *runs.Run) iter.Seq2[attempt, error] {
	return func(yield func(attempt, error) bool) {
		lines, err := run.AttemptLines()
		if err != nil {
			yield(attempt{}, err)
			return
		}
		defer lines.Close()
		for line, err := range lines.LinesFrom(ctx, 1) {
			if err == nil && gjson.GetBytes(line.Text, "type").String() != runs.TypeAttempt {
				continue
			}
			a := attempt{name: runs.AttemptFolderName(line.Text), size: int64(len(line.Text))}
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
