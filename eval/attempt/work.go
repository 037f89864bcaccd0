package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
)

// runAgent gives the agent its task and sees it to its end.
func (a *attempt) runAgent(ctx context.Context) {
	query, err := a.taskQuery()
	if err != nil {
		a.setOutcome(runs.OutcomeHarnessError, err.Error())
		return
	}
	a.job.Progress.setActivity("waiting for a console")
	if a.awaitHolder(ctx); ctx.Err() != nil {
		a.setOutcome(runs.OutcomeCancelled, context.Cause(ctx).Error())
		return
	}
	asked := time.Now()
	a.watch.startTask(asked)
	if a.cfg.OnTaskSent != nil {
		a.cfg.OnTaskSent(asked)
	}
	if err := a.session.SendQuery(query); err != nil {
		// The agent is gone: the trace says how.
		a.log.Debug("the query was not sent", "error", err)
	}
	for {
		v := a.watch.nextVerdict(ctx)
		if v.outcome != "" {
			a.applyVerdict(v)
			return
		}
		a.log.Info("the agent asks", "question", v.question)
		answer := protocol.AgentQuery{Query: replyToQuestion, RequestID: "eval-answer-" + a.journal.SessionID}
		if err := a.session.SendQuery(answer); err != nil {
			a.log.Debug("the answer was not sent", "error", err)
		}
	}
}

// awaitHolder waits until somebody holds the notebook, or a child is gone, which
// the watch sees too. It reads what happens meanwhile, however long that is.
func (a *attempt) awaitHolder(ctx context.Context) {
	a.watch.drainDuring(func() {
		if err := a.session.AwaitHolder(ctx); err != nil {
			a.log.Debug("no holder", "error", err)
		}
	}, a.watch.readBeforeTask)
}

// applyVerdict settles the outcome; the end of a child gets its cause.
func (a *attempt) applyVerdict(v verdict) {
	switch v.outcome {
	case runs.OutcomeAgentExit:
		v = agentExitVerdict(a.session.AgentError())
	case runs.OutcomeKernelExit:
		a.agentKilledKernel = v.detail == detailRanAgentCode
		v = kernelExitVerdict(a.session.KernelError())
		if a.agentKilledKernel {
			v.detail += " (" + detailRanAgentCode + ")"
		}
	default:
	}
	a.setOutcome(v.outcome, v.detail)
}

// agentExitVerdict tells an agent that has died from one that is alive and cannot be
// talked to, and from a trace that cannot be written.
func agentExitVerdict(err error) verdict {
	_, died := errors.AsType[*subprocess.ExitError](err)
	switch {
	case errors.Is(err, trace.ErrCannotWrite):
		return verdict{outcome: runs.OutcomeHarnessError, detail: err.Error()}
	case died:
		return verdict{outcome: runs.OutcomeAgentExit, detail: err.Error()}
	default:
		return verdict{outcome: runs.OutcomeAgentError, detail: err.Error()}
	}
}

// kernelExitVerdict tells the end of a kernel from a trace that cannot be written.
func kernelExitVerdict(err error) verdict {
	if errors.Is(err, trace.ErrCannotWrite) {
		return verdict{outcome: runs.OutcomeHarnessError, detail: err.Error()}
	}
	return verdict{outcome: runs.OutcomeKernelExit, detail: err.Error()}
}

// collectState reads what the notebook has become and then stops the agent.
func (a *attempt) collectState(ctx context.Context) {
	a.job.Progress.setActivity("collecting the notebook")
	ctx = context.WithoutCancel(ctx) // each step has its own deadline
	a.watch.drainDuring(func() { a.collected = a.session.CollectState(ctx) }, a.watch.countEntry)
	if a.result.Outcome == runs.OutcomeCompleted {
		a.watch.drainTurn(ctx)
	}
	a.watch.drainDuring(func() {
		if err := a.session.StopAgent(ctx); err != nil {
			a.log.Warn("the agent did not stop well", "error", err)
		}
	}, a.watch.countEntry)
	a.watch.finish()
	if err := a.writeState(); err != nil {
		a.setHarnessError(fmt.Sprintf("the notebook's state could not be written: %v", err))
	}
}

func (a *attempt) writeState() error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(a.collected); err != nil {
		return err
	}
	return os.WriteFile(a.filePath("state.json"), text.Bytes(), 0o600)
}
