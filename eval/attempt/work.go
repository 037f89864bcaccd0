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

// live gives the agent its task and sees it to its end.
func (a *attempt) live(ctx context.Context) {
	query, err := a.query()
	if err != nil {
		a.end(runs.OutcomeHarnessError, err.Error())
		return
	}
	a.work.Progress.set("waiting for a console")
	if a.awaitHolder(ctx); ctx.Err() != nil {
		a.end(runs.OutcomeCancelled, context.Cause(ctx).Error())
		return
	}
	asked := time.Now()
	a.watch.begin(asked)
	if a.cfg.OnTaskSent != nil {
		a.cfg.OnTaskSent(asked)
	}
	if err := a.session.SendQuery(query); err != nil {
		// The agent is gone: the trace says how.
		a.log.Debug("the query was not sent", "error", err)
	}
	for {
		v := a.watch.next(ctx)
		if v.outcome != "" {
			a.conclude(v)
			return
		}
		a.log.Info("the agent asks", "question", v.question)
		answer := protocol.AgentQuery{Query: answerToQuestion, RequestID: "eval-answer-" + a.journal.SessionID}
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
	}, a.watch.readEarly)
}

// conclude settles the outcome; the end of a child gets its cause.
func (a *attempt) conclude(v verdict) {
	switch v.outcome {
	case runs.OutcomeAgentExit:
		v = agentExit(a.session.AgentError())
	case runs.OutcomeKernelExit:
		a.ranCode = v.detail == ranCode
		v = kernelExit(a.session.KernelError())
		if a.ranCode {
			v.detail += " (" + ranCode + ")"
		}
	default:
	}
	a.end(v.outcome, v.detail)
}

// agentExit tells an agent that has died from one that is alive and cannot be
// talked to, and from a trace that cannot be written.
func agentExit(err error) verdict {
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

// kernelExit tells the end of a kernel from a trace that cannot be written.
func kernelExit(err error) verdict {
	if errors.Is(err, trace.ErrCannotWrite) {
		return verdict{outcome: runs.OutcomeHarnessError, detail: err.Error()}
	}
	return verdict{outcome: runs.OutcomeKernelExit, detail: err.Error()}
}

// collect reads what the notebook has become and then stops the agent.
func (a *attempt) collect(ctx context.Context) {
	a.work.Progress.set("collecting the notebook")
	ctx = context.WithoutCancel(ctx) // each step has its own deadline
	a.watch.drainDuring(func() { a.state = a.session.CollectState(ctx) }, a.watch.count)
	if a.result.Outcome == runs.OutcomeCompleted {
		a.watch.hearOut(ctx)
	}
	a.watch.drainDuring(func() {
		if err := a.session.StopAgent(ctx); err != nil {
			a.log.Warn("the agent did not stop well", "error", err)
		}
	}, a.watch.count)
	a.watch.rest()
	if err := a.writeState(); err != nil {
		a.broke(fmt.Sprintf("the notebook's state could not be written: %v", err))
	}
}

func (a *attempt) writeState() error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(a.state); err != nil {
		return err
	}
	return os.WriteFile(a.path("state.json"), text.Bytes(), 0o600)
}
