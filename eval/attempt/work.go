package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/rawjson"
	"assay/internal/subprocess"
	"assay/internal/trace"
)

// runAgent sends the agent its task and sets the outcome when the watcher comes to a verdict. The agent's
// first question gets a fixed reply, because nobody is there to answer it. If ctx ends the outcome is
// cancelled.
func (a *attempt) runAgent(ctx context.Context) {
	query, err := a.taskQuery()
	if err != nil {
		a.setOutcome(runs.OutcomeHarnessError, err.Error())
		return
	}
	if ctx.Err() != nil {
		a.setOutcome(runs.OutcomeCancelled, context.Cause(ctx).Error())
		return
	}
	sentAt := time.Now()
	a.watcher.startTask(sentAt)
	if a.cfg.OnTaskSent != nil {
		a.cfg.OnTaskSent(sentAt)
	}
	if err := a.session.SendQuery(query); err != nil {
		// The agent has ended: the watcher learns how from the trace.
		a.log.Debug("the task was not sent", "error", err)
	}
	for {
		v := a.watcher.nextVerdict(ctx)
		if v.outcome != "" {
			a.applyWatcherVerdict(v)
			return
		}
		a.log.Info("the agent asks a question", "question", v.question)
		reply := protocol.AgentQuery{Query: replyToQuestion, RequestID: "eval-answer-" + a.journal.SessionID}
		if err := a.session.SendQuery(reply); err != nil {
			a.log.Debug("the reply was not sent", "error", err)
		}
	}
}

// awaitHolder waits, without a time limit, until the server or a console holds the notebook and, if a person
// does the work, until that person starts, whose actions are then carried out. It returns early when ctx ends or a
// child has ended; the watcher learns of the child from the trace.
func (a *attempt) awaitHolder(ctx context.Context) {
	a.job.Progress.setActivity("waiting for a console")
	hasStarted := false
	a.watcher.readEntriesDuring(func() {
		if err := a.session.AwaitHolder(ctx); err != nil {
			a.log.Debug("the notebook has no holder", "error", err)
		}
		if a.watcher.person == nil {
			return
		}
		a.job.Progress.setActivity("waiting for " + a.cfg.Person + " to start")
		hasStarted = a.watcher.person.awaitStart(ctx)
	}, a.watcher.readBeforeTask)
	if hasStarted {
		a.startedAt = time.Now()
		a.session.RefuseActions("")
	}
}

// applyWatcherVerdict sets the attempt's outcome from the watcher's verdict. If the agent or
// the kernel has ended, the detail says how, for example by its exit status.
func (a *attempt) applyWatcherVerdict(v watcherVerdict) {
	switch v.outcome {
	case runs.OutcomeAgentExit:
		v = agentExitVerdict(a.session.AgentError())
	case runs.OutcomeKernelExit:
		when := v.detail
		v = kernelExitWatcherVerdict(a.session.KernelError())
		if a.agentKilledKernel = isKernelKilledByAgent(when, a.session.KernelError()); a.agentKilledKernel {
			v.detail += " (" + when + ")"
		}
	default:
	}
	if v.isFlood {
		a.session.KillChildren()
	}
	switch {
	case v.isTimeLimit:
		v.detail = a.withFolder(v.detail + "; " + a.watcher.describeEnd(time.Now()))
	case v.outcome == runs.OutcomeAgentExit, v.outcome == runs.OutcomeAgentError:
		v.detail = a.withFolder(v.detail + a.watcher.modelCalls.problems.describeFailure(v.detail))
	}
	if unenforced := a.watcher.describeUnenforcedCost(); unenforced != "" {
		v.detail = strings.TrimPrefix(v.detail+"; "+unenforced, "; ")
	}
	if unreadable := a.watcher.agentReports.unreadable; unreadable != "" && v.outcome != runs.OutcomeCompleted {
		v.detail = strings.TrimPrefix(v.detail+"; a message of the agent could not be read: "+unreadable, "; ")
	}
	a.setOutcome(v.outcome, v.detail)
}

// withFolder appends the attempt's folder, which has more about it, to the detail of an outcome.
func (a *attempt) withFolder(detail string) string {
	return strings.TrimSpace(detail) + "; folder " + a.job.RelDir
}

// agentExitVerdict returns the verdict on an agent whose connection ended with err: agent_exit
// if its process died, harness_error if the trace cannot be written, and otherwise agent_error,
// for instance because it broke the protocol.
func agentExitVerdict(err error) watcherVerdict {
	_, hasDied := errors.AsType[*subprocess.ExitError](err)
	switch {
	case errors.Is(err, trace.ErrCannotWrite):
		return watcherVerdict{outcome: runs.OutcomeHarnessError, detail: err.Error()}
	case hasDied:
		return watcherVerdict{outcome: runs.OutcomeAgentExit, detail: err.Error()}
	default:
		return watcherVerdict{outcome: runs.OutcomeAgentError, detail: err.Error()}
	}
}

// kernelExitWatcherVerdict returns the verdict on a kernel whose connection ended with err:
// harness_error if the trace cannot be written, and otherwise kernel_exit.
func kernelExitWatcherVerdict(err error) watcherVerdict {
	if errors.Is(err, trace.ErrCannotWrite) {
		return watcherVerdict{outcome: runs.OutcomeHarnessError, detail: err.Error()}
	}
	return watcherVerdict{outcome: runs.OutcomeKernelExit, detail: err.Error()}
}

// collectState collects the state of the notebook, stops the agent and writes state.json. It
// does so even if ctx has ended, because every step has its own time limit. If state.json
// cannot be written the outcome becomes harness_error.
func (a *attempt) collectState(ctx context.Context) {
	a.job.Progress.setActivity("collecting the notebook")
	ctx = context.WithoutCancel(ctx)
	a.watcher.readEntriesDuring(func() { a.collected = a.session.CollectState(ctx) }, a.watcher.countEntry)
	if a.result.Outcome == runs.OutcomeCompleted {
		a.watcher.awaitTurnEnd(ctx)
	}
	a.watcher.readEntriesDuring(func() {
		if err := a.session.StopAgent(ctx); err != nil {
			a.log.Warn("the agent could not be stopped cleanly", "error", err)
		}
	}, a.watcher.countEntry)
	a.watcher.countRemainingAndClose()
	if err := a.writeState(); err != nil {
		a.setHarnessError(fmt.Sprintf("the notebook's state could not be written: %v", err))
	}
}

// writeState writes the collected state of the notebook to state.json, and counts the completion marker
// in it if it has not been counted before. It fails if the file cannot be written.
func (a *attempt) writeState() error {
	const maxIndentDepth = 6 // code in a kernel decides how deep the lists in it are
	compact, err := rawjson.Marshal(a.collected)
	if err != nil {
		return err
	}
	text := append(rawjson.Indent(nil, compact, "", maxIndentDepth), '\n')
	if a.tamperSignals() == 0 && containsMarker(text) {
		a.markedNotebook = 1 // it came in pieces, none of which had the whole marker
	}
	return os.WriteFile(a.filePath("state.json"), a.redactor.JSON(text), 0o600)
}
