package attempt

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// graded says whether an outcome is graded, and whether the answer counts.
func (a *attempt) graded() (graded, withAnswer bool) {
	switch a.result.Outcome {
	case runs.OutcomeCompleted, runs.OutcomeLimit:
		return true, true
	case runs.OutcomeStopped, runs.OutcomeAskedQuestion:
		return true, false
	case runs.OutcomeKernelExit:
		return a.ranCode, false
	default:
		return false, false
	}
}

// grade finds the answer and grades it, while the kernel still lives. Each
// grader has a deadline of its own.
func (a *attempt) grade(ctx context.Context) {
	found, err := grading.Extract(a.watch.handedIn)
	a.result.Summary = a.watch.summary
	if found.Answer != nil {
		if text, merr := protocol.Marshal(found.Answer); merr == nil {
			a.result.Answer = text
		}
	}
	graded, withAnswer := a.graded()
	if !graded || len(a.work.Case.Graders) == 0 {
		return
	}
	a.work.Progress.set("grading")
	in := grading.Input{Answer: found.Answer, NoAnswer: found.Reason}
	if err != nil {
		in.NoAnswer = err.Error()
	}
	if !withAnswer {
		in.Answer, in.NoAnswer = nil, "the attempt ended as "+string(a.result.Outcome)
	}
	if ctx.Err() == nil {
		a.gradeBy(ctx, in)
	}
	if ctx.Err() != nil { // in the middle of it: no verdict is better than half of one
		a.result.Outcome, a.result.Detail = runs.OutcomeCancelled, context.Cause(ctx).Error()
		a.result.Passed, a.result.Score, a.result.Graders = nil, nil, nil
	}
}

// gradeBy grades in and what else there is. A verdict on less than that would be
// none, and it is not the agent's fault.
func (a *attempt) gradeBy(ctx context.Context, in grading.Input) {
	if err := a.show(ctx, &in); err != nil {
		a.broke("graders cannot be shown what there is: " + err.Error())
		return
	}
	a.note(grading.GradeAll(ctx, a.work.Case.Graders, in))
}

func (a *attempt) note(results []grading.Result, passed bool, score float64) {
	a.result.Passed, a.result.Score = &passed, &score
	for _, result := range results {
		text, err := protocol.Marshal(result)
		if err != nil {
			a.broke("a grader's result cannot be written: " + err.Error())
			return
		}
		a.result.Graders = append(a.result.Graders, text)
	}
}

// show fills in what graders may look at beside the answer. It is no error that a
// notebook could not be collected: in has none then, which graders can tell.
func (a *attempt) show(ctx context.Context, in *grading.Input) error {
	in.Task, in.Dir, in.Environ = a.work.Case.Task, a.work.Case.Source.Dir(), WithoutSecrets(a.cfg.Environ)
	in.Kernel = executor{a}
	if cells, err := a.cells(); err != nil {
		a.log.Warn("graders do not see the notebook", "error", err)
	} else {
		in.Notebook = shownNotebook(a.session.KernelReady().Language, cells, a.session.Executions())
		in.Rerun = func(ctx context.Context) (*grading.Notebook, error) { return a.rerun(ctx, cells) }
	}
	if a.cfg.OpenJudge != nil {
		in.Judge = a.judge
	}
	if !slices.ContainsFunc(a.work.Case.Graders, grading.Spec.ReadsRecord) {
		return nil
	}
	err := a.filesSoFar(ctx)
	if err != nil {
		return err
	}
	if in.Conversation, err = a.conversation(); err != nil {
		return err
	}
	in.Record, err = a.record(in.Answer)
	return err
}

// record is what a command is told: the attempt's line as far as it is known,
// with the answer as it counts, the task, and where its files are: the sandbox,
// which goes with the attempt, and the attempt's folder, both absolute.
func (a *attempt) record(answer pyvalue.Value) (json.RawMessage, error) {
	line := a.result
	line.Usage, line.TamperSignals, line.Interventions = a.watch.counts, a.tamper+a.watch.tamper, a.watch.interventions
	line.Started, line.Ended = a.began.UTC(), time.Now().UTC()
	line.DurationMS = line.Ended.Sub(line.Started).Milliseconds()
	if answer == nil {
		line.Answer = nil
	}
	folder, err := filepath.Abs(a.work.Dir)
	if err != nil {
		folder = a.work.Dir // there is no current folder
	}
	return protocol.Marshal(struct {
		runs.Attempt
		Task    string `json:"task"`
		Sandbox string `json:"sandbox"`
		Folder  string `json:"folder"`
	}{line, a.work.Case.Task, a.session.Workdir(), folder})
}

// executor is the kernel as graders may use it.
type executor struct{ *attempt }

// Execute runs code until ctx ends.
func (x executor) Execute(ctx context.Context, code string) (grading.Execution, error) {
	within := seconds(x.limits.CellS)
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline)
	}
	done, err := x.session.ExecutePristine(ctx, code, within)
	if err != nil {
		return grading.Execution{}, err
	}
	out := grading.Execution{Status: done.Status, Stdout: done.Stdout, Stderr: done.Stderr, Exception: done.Exception}
	if done.Result != nil {
		out.Result = *done.Result
	}
	return out, nil
}
