package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// gradability returns whether an attempt with its outcome is graded at all, and whether the
// graders get its answer.
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

// grade extracts the agent's answer and, if the outcome allows it, runs the graders while the
// kernel still lives. Each grader has its own time limit. If ctx ends meanwhile, the
// outcome becomes cancelled and there is no verdict.
func (a *attempt) grade(ctx context.Context) {
	found, err := grading.ExtractAnswer(a.watcher.submitted.messages)
	a.result.Summary = clipSummary(a.watcher.submitted.summary)
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
		a.clearVerdict()
	}
}

// clearVerdict removes the verdict of the graders from the result.
func (a *attempt) clearVerdict() {
	a.result.Passed, a.result.Score, a.result.Graders, a.result.Grading = nil, nil, nil, nil
}

// runGraders runs the graders of the case and sets the verdict. Meanwhile the agent's kernel, and what it
// has started, stands still unless a grader executes code in it, so that it can neither change files nor
// keep the processors from what grades. If the graders' input cannot be
// prepared the outcome becomes harness_error, because that is not the agent's fault.
func (a *attempt) runGraders(ctx context.Context, in grading.Input) {
	a.thawKernel = a.session.FreezeKernel()
	defer func() { a.thawKernel() }()
	err := a.addGradingEvidence(ctx, &in)
	if err == nil && slices.ContainsFunc(a.job.Case.Graders, grading.Spec.NeedsWorkdir) {
		var workdirCopy string
		if workdirCopy, err = a.copyWorkdirForGraders(ctx); err == nil {
			defer a.removeWorkdirCopy(workdirCopy)
			in.Record, err = a.commandGraderRecord(in.Answer, workdirCopy)
		} else if incomplete, isIncomplete := errors.AsType[incompleteCopyError](err); isIncomplete {
			in.WorkdirFault, err = incomplete.text, nil
		}
	}
	if err != nil {
		a.setHarnessError("the graders' input could not be prepared: " + err.Error())
		return
	}
	results, passed, score := grading.GradeAll(ctx, a.job.Case.Graders, in)
	a.setGradingVerdict(results, passed, score)
}

// removeWorkdirCopy removes the copy of the working folder. A failure is only logged.
func (a *attempt) removeWorkdirCopy(dir string) {
	if err := session.RemoveWorkdir(a.cfg.Supervisor, dir); err != nil {
		a.log.Warn("the copy of the working folder could not be removed", "error", err)
	}
}

// setGradingVerdict writes passed, score and the result of each grader into the attempt's
// result. If a grader has failed, there is no verdict but the failure. If a result cannot be encoded the
// outcome becomes harness_error.
func (a *attempt) setGradingVerdict(results []grading.Result, passed bool, score float64) {
	a.result.Passed, a.result.Score = &passed, &score
	for _, result := range results {
		if kind := result.FailureKind(); kind != "" && a.result.Grading == nil {
			a.result.Passed, a.result.Score = nil, nil
			a.result.Grading = &runs.GradingFailure{ErrorKind: kind, Text: result.Error.Text}
		}
		text, err := protocol.Marshal(result)
		if err != nil {
			a.setHarnessError("a grader's result cannot be written: " + err.Error())
			return
		}
		a.result.Graders = append(a.result.Graders, text)
	}
}

// addGradingEvidence sets all fields of the graders' input except for the answer: notebook,
// kernel, conversation and so on. If the notebook could not be collected it is left out without
// an error; graders that need it report that. It fails if a file cannot be read or written.
func (a *attempt) addGradingEvidence(ctx context.Context, in *grading.Input) error {
	in.Task, in.Dir, in.Environ = a.job.Case.Task, a.job.Case.Source.Dir(), EnvWithoutSecrets(a.cfg.Environ)
	in.Kernel = kernelExecutor{a}
	if cfg := a.cfg.Kernel; cfg.Python != nil && cfg.Command == nil && cfg.Emacs == nil {
		in.Export = a.exportForCheck
	}
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
	err := a.writeFilesForGraders(ctx)
	if err != nil {
		return err
	}
	in.Conversation, err = a.readConversation()
	return err
}

// commandGraderRecord returns the JSON that a command grader reads on stdin: the attempt's line
// as it is known by now, with the answer if it counts, the task, and the absolute paths of the copy
// of the working folder ("sandbox") and of the attempt's folder. It fails if encoding fails.
func (a *attempt) commandGraderRecord(answer pyvalue.Value, workdirCopy string) (json.RawMessage, error) {
	line := a.result
	line.Usage, line.TamperSignals, line.Interventions = a.usage(), a.tamperSignals(), a.watcher.counts.interventions
	line.Started, line.Ended = a.startedAt.UTC(), time.Now().UTC()
	line.DurationMS = line.Ended.Sub(line.Started).Milliseconds()
	line.Enforced = a.enforcedRules()
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
	}{line, a.job.Case.Task, workdirCopy, folder})
}

// kernelExecutor lets graders execute code in the attempt's kernel, which still has the agent's
// variables.
type kernelExecutor struct{ *attempt }

// Execute runs a grader's code in the kernel, at most until the deadline of ctx or, without
// one, for the limit of one cell. It fails if the time is over or the kernel is dead; with a
// [*pyvalue.Error] of kind agent_kernel if code of the agent has run in it. The kernel was alive at the end of
// the agent's work, or that code has killed it ([attempt.gradability]), and only that code, which the collection
// of the variables may also call, has run since. Code that raises is no error: the status of the result says so.
func (x kernelExecutor) Execute(ctx context.Context, code string) (grading.Execution, error) {
	timeout := secondsToDuration(x.limits.CellTimeoutS)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	x.thawKernel()
	defer func() { x.thawKernel = x.session.FreezeKernel() }()
	response, err := x.session.ExecutePristine(ctx, code, timeout)
	hadAgentCode := x.watcher.hasRunCode || x.agentKilledKernel
	if err != nil && hadAgentCode && ctx.Err() == nil && !othersTookMemory(x.session.KernelError()) {
		err = &pyvalue.Error{Kind: "agent_kernel", Text: fmt.Sprintf("the kernel in which the agent's code had run: %v", err)}
	}
	if err != nil {
		return grading.Execution{}, err
	}
	return newGradingExecution(response), nil
}

// newGradingExecution converts the response of a kernel.
func newGradingExecution(response protocol.ExecuteCodeResponse) grading.Execution {
	out := grading.Execution{Status: response.Status, Stdout: response.Stdout, Stderr: response.Stderr, Exception: response.Exception}
	if response.Result != nil {
		out.Result = *response.Result
	}
	return out
}

// maxSummaryBytes is how much of the text of the submission an attempt's line has.
const maxSummaryBytes = 256 << 10

// clipSummary returns the text of a submission for the attempt's line, without its end if it is
// too long.
func clipSummary(text string) string {
	if len(text) <= maxSummaryBytes {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxSummaryBytes], ""), len(text))
}
