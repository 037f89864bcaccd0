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

// gradability returns whether an attempt with this outcome is graded, and whether its answer is
// given to the graders.
func (a *attempt) gradability() (isGraded, isAnswerGraded bool) {
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

// grade sets the answer of the result and, if the outcome is graded, runs the graders, while the
// kernel still lives. Each grader has its own time limit. If ctx ends meanwhile, the attempt is
// cancelled and has no verdict.
func (a *attempt) grade(ctx context.Context) {
	found, err := grading.Extract(a.watcher.submitted.messages)
	a.result.Summary = a.watcher.submitted.summary
	if found.Answer != nil {
		if text, marshalErr := protocol.Marshal(found.Answer); marshalErr == nil {
			a.result.Answer = text
		}
	}
	isGraded, isAnswerGraded := a.gradability()
	if !isGraded || len(a.job.Case.Graders) == 0 {
		return
	}
	a.job.Progress.setActivity("grading")
	in := grading.Input{Answer: found.Answer, NoAnswerReason: found.Reason}
	if err != nil {
		in.NoAnswerReason = err.Error()
	}
	if !isAnswerGraded {
		in.Answer, in.NoAnswerReason = nil, "the attempt ended as "+string(a.result.Outcome)
	}
	if ctx.Err() == nil {
		a.runGraders(ctx, in)
	}
	if ctx.Err() != nil { // the graders may have been cut short: no verdict is better than a wrong one
		a.result.Outcome, a.result.Detail = runs.OutcomeCancelled, context.Cause(ctx).Error()
		a.result.Passed, a.result.Score, a.result.Graders = nil, nil, nil
	}
}

// runGraders runs the graders of the case. If it cannot give them everything that they may look at,
// the attempt is a harness error, because that is not the agent's fault.
func (a *attempt) runGraders(ctx context.Context, in grading.Input) {
	if err := a.addEvidence(ctx, &in); err != nil {
		a.setHarnessError("the graders' input could not be prepared: " + err.Error())
		return
	}
	a.setVerdict(grading.GradeAll(ctx, a.job.Case.Graders, in))
}

// setVerdict sets the verdict of the result.
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

// addEvidence sets everything in a grading.Input except for the answer. If the notebook could not
// be collected the input has none, which is no error: graders that need it say so.
func (a *attempt) addEvidence(ctx context.Context, in *grading.Input) error {
	in.Task, in.Dir, in.Environ = a.job.Case.Task, a.job.Case.Source.Dir(), WithoutSecrets(a.cfg.Environ)
	in.Kernel = kernelExecutor{a}
	if cells, err := a.collectedCells(); err != nil {
		a.log.Warn("the graders get no notebook", "error", err)
	} else {
		in.Notebook = gradingNotebook(a.session.KernelReady().Language, cells, a.session.Executions())
		in.Rerun = func(ctx context.Context) (*grading.Notebook, error) { return a.rerunNotebook(ctx, cells) }
	}
	if a.cfg.OpenJudge != nil {
		in.Judge = a.openJudge
	}
	if !slices.ContainsFunc(a.job.Case.Graders, grading.Spec.NeedsRecord) {
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

// commandRecord returns the JSON that a command grader reads on stdin: the known part of the
// attempt's line, with the answer if it counts, the task, and the absolute paths of the working
// folder (sandbox), which is removed after the attempt, and of the attempt's folder.
func (a *attempt) commandRecord(answer pyvalue.Value) (json.RawMessage, error) {
	line := a.result
	line.Usage, line.TamperSignals, line.Interventions = a.watcher.counts.usage, a.markedFiles+a.watcher.counts.tamperSignals, a.watcher.counts.interventions
	line.Started, line.Ended = a.startedAt.UTC(), time.Now().UTC()
	line.DurationMS = line.Ended.Sub(line.Started).Milliseconds()
	line.Enforced = a.enforced()
	if answer == nil {
		line.Answer = nil
	}
	folder, err := filepath.Abs(a.job.Dir)
	if err != nil {
		folder = a.job.Dir // the current folder does not exist any more
	}
	return protocol.Marshal(struct {
		runs.Attempt
		Task    string `json:"task"`
		Sandbox string `json:"sandbox"`
		Folder  string `json:"folder"`
	}{line, a.job.Case.Task, a.session.Workdir(), folder})
}

// kernelExecutor lets graders execute code in the attempt's kernel.
type kernelExecutor struct{ *attempt }

// Execute runs code in the kernel until it ends, or until the deadline of ctx; without a deadline,
// for the cell limit. It fails if the time is over or the kernel is dead; code that raises is no
// error.
func (x kernelExecutor) Execute(ctx context.Context, code string) (grading.Execution, error) {
	timeout := secondsToDuration(x.limits.CellTimeoutS)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	response, err := x.session.ExecutePristine(ctx, code, timeout)
	if err != nil {
		return grading.Execution{}, err
	}
	out := grading.Execution{Status: response.Status, Stdout: response.Stdout, Stderr: response.Stderr, Exception: response.Exception}
	if response.Result != nil {
		out.Result = *response.Result
	}
	return out, nil
}
