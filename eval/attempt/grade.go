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

// gradability says whether an outcome is graded, and whether the answer counts.
func (a *attempt) gradability() (graded, withAnswer bool) {
	switch a.result.Outcome {
	case runs.OutcomeCompleted, runs.OutcomeLimit:
		return true, true
	case runs.OutcomeStopped, runs.OutcomeAskedQuestion:
		return true, false
	case runs.OutcomeKernelExit:
		return a.agentKilledKernel, false
	default:
		return false, false
	}
}

// grade finds the answer and grades it, while the kernel still lives. Each
// grader has a deadline of its own.
func (a *attempt) grade(ctx context.Context) {
	found, err := grading.Extract(a.watch.submissions)
	a.result.Summary = a.watch.summary
	if found.Answer != nil {
		if text, merr := protocol.Marshal(found.Answer); merr == nil {
			a.result.Answer = text
		}
	}
	graded, withAnswer := a.gradability()
	if !graded || len(a.job.Case.Graders) == 0 {
		return
	}
	a.job.Progress.setActivity("grading")
	in := grading.Input{Answer: found.Answer, NoAnswer: found.Reason}
	if err != nil {
		in.NoAnswer = err.Error()
	}
	if !withAnswer {
		in.Answer, in.NoAnswer = nil, "the attempt ended as "+string(a.result.Outcome)
	}
	if ctx.Err() == nil {
		a.runGraders(ctx, in)
	}
	if ctx.Err() != nil { // in the middle of it: no verdict is better than half of one
		a.result.Outcome, a.result.Detail = runs.OutcomeCancelled, context.Cause(ctx).Error()
		a.result.Passed, a.result.Score, a.result.Graders = nil, nil, nil
	}
}

// runGraders grades in and what else there is. A verdict on less than that would be
// none, and it is not the agent's fault.
func (a *attempt) runGraders(ctx context.Context, in grading.Input) {
	if err := a.addEvidence(ctx, &in); err != nil {
		a.setHarnessError("graders cannot be shown what there is: " + err.Error())
		return
	}
	a.setVerdict(grading.GradeAll(ctx, a.job.Case.Graders, in))
}

func (a *attempt) setVerdict(results []grading.Result, passed bool, score float64) {
	a.result.Passed, a.result.Score = &passed, &score
	for _, result := range results {
		text, err := protocol.Marshal(result)
		if err != nil {
			a.setHarnessError("a grader's result cannot be written: " + err.Error())
			return
		}
		a.result.Graders = append(a.result.Graders, text)
	}
}

// addEvidence fills in what graders may look at beside the answer. It is no error that a
// notebook could not be collected: in has none then, which graders can tell.
func (a *attempt) addEvidence(ctx context.Context, in *grading.Input) error {
	in.Task, in.Dir, in.Environ = a.job.Case.Task, a.job.Case.Source.Dir(), WithoutSecrets(a.cfg.Environ)
	in.Kernel = kernelExecutor{a}
	if cells, err := a.collectedCells(); err != nil {
		a.log.Warn("graders do not see the notebook", "error", err)
	} else {
		in.Notebook = gradingNotebook(a.session.KernelReady().Language, cells, a.session.Executions())
		in.Rerun = func(ctx context.Context) (*grading.Notebook, error) { return a.rerunNotebook(ctx, cells) }
	}
	if a.cfg.OpenJudge != nil {
		in.Judge = a.openJudge
	}
	if !slices.ContainsFunc(a.job.Case.Graders, grading.Spec.ReadsRecord) {
		return nil
	}
	err := a.writeFilesSoFar(ctx)
	if err != nil {
		return err
	}
	if in.Conversation, err = a.readConversation(); err != nil {
		return err
	}
	in.Record, err = a.commandRecord(in.Answer)
	return err
}

// commandRecord is what a command is told: the attempt's line as far as it is known,
// with the answer as it counts, the task, and where its files are: the sandbox,
// which goes with the attempt, and the attempt's folder, both absolute.
func (a *attempt) commandRecord(answer pyvalue.Value) (json.RawMessage, error) {
	line := a.result
	line.Usage, line.TamperSignals, line.Interventions = a.watch.usage, a.markedFiles+a.watch.tamperSignals, a.watch.interventions
	line.Started, line.Ended = a.startedAt.UTC(), time.Now().UTC()
	line.DurationMS = line.Ended.Sub(line.Started).Milliseconds()
	if answer == nil {
		line.Answer = nil
	}
	folder, err := filepath.Abs(a.job.Dir)
	if err != nil {
		folder = a.job.Dir // there is no current folder
	}
	return protocol.Marshal(struct {
		runs.Attempt
		Task    string `json:"task"`
		Sandbox string `json:"sandbox"`
		Folder  string `json:"folder"`
	}{line, a.job.Case.Task, a.session.Workdir(), folder})
}

// kernelExecutor is the kernel as graders may use it.
type kernelExecutor struct{ *attempt }

// Execute runs code until ctx ends.
func (x kernelExecutor) Execute(ctx context.Context, code string) (grading.Execution, error) {
	within := secondsToDuration(x.limits.CellS)
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
