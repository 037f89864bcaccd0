package attempt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// CompletionMarker in the summary of a submission completes the attempt. In any other place it does
// nothing and counts as a tamper signal.
const CompletionMarker = "[EVAL_COMPLETE]"

// agentAction is an action of the agent that has no answer yet.
type agentAction struct {
	name            string
	isRun           bool // if it succeeds, a cell will run
	pendingRefusals int  // further actions with the same tx_id, which will be refused
}

// readAgentFrame reads a frame of the agent. If the frame shows that a streamed message is
// complete, that message is read first.
func (w *completionWatcher) readAgentFrame(e *trace.Entry) *verdict {
	w.noteAgentActive(e)
	w.trackModelActivity(e)
	streamVerdict := w.readStreamFrame(e)
	if isTurnContinued(e) {
		w.agentReports.finalMessageAt = time.Time{}
	}
	v := w.dispatchAgentFrame(e)
	switch {
	case streamVerdict == nil, streamVerdict.outcome == "" && v != nil: // an outcome has precedence over a question
		return v
	case streamVerdict.outcome == runs.OutcomeCompleted:
		return cmp.Or(w.completionVerdict(), v) // not if the frame is an action, which must be answered first
	default:
		return streamVerdict
	}
}

// dispatchAgentFrame reads a frame of the agent by its type.
func (w *completionWatcher) dispatchAgentFrame(e *trace.Entry) *verdict {
	switch e.Type {
	case protocol.TypeAgentAction:
		return w.readAgentAction(e)
	case protocol.TypeAgentHistoryUpdated:
		return w.readHistoryUpdate(e)
	case protocol.TypeAgentResult:
		return w.readAgentResult(e)
	case protocol.TypeAgentStatus:
		return w.readAgentStatus(e)
	case protocol.TypeAgentUsageUpdate:
		return w.readUsageUpdate(e)
	case protocol.TypeAgentEvent:
		w.readAgentEvent(e)
	case protocol.TypeAgentError:
		return w.readAgentError(e)
	}
	return nil
}

// isTurnContinued reports whether a frame shows that the agent goes on, so that its last message
// was not its final one. agent_history_updated is judged by its entry instead; see
// readHistoryUpdate.
func isTurnContinued(e *trace.Entry) bool {
	switch e.Type {
	case protocol.TypeAgentAction, protocol.TypeAgentStreamStart:
		return true
	case protocol.TypeAgentStatus:
		return e.Status == protocol.AgentThinking || e.Status == protocol.AgentExecuting
	default:
		return false
	}
}

// countMarkerIn counts a tamper signal if a frame has the completion marker in a place where it
// completes nothing.
func (w *completionWatcher) countMarkerIn(e *trace.Entry) {
	if bytes.Contains(e.Body, []byte(CompletionMarker)) {
		w.counts.tamperSignals++
	}
}

// readAgentAction reads an action of the agent: it waits for its answer, and counts against the
// limit.
func (w *completionWatcher) readAgentAction(e *trace.Entry) *verdict {
	w.countMarkerIn(e)
	w.counts.usage.Actions++
	if isRunAction(e) {
		w.lastRunAction = e.Action
	}
	switch earlier, isPending := w.actions[e.TxID]; {
	case e.TxID == "" && isRunAction(e):
		w.expectRun(e.CellID, e.WallTime) // there will be no answer that promises it
	case e.TxID == "":
	case isPending:
		earlier.pendingRefusals++ // the router refuses it at once; the earlier one still gets its answer
		w.actions[e.TxID] = earlier
	default:
		w.actions[e.TxID] = agentAction{name: e.Action, isRun: isRunAction(e)}
	}
	if limit := w.limits.MaxActions; limit > 0 && w.counts.usage.Actions > limit {
		return limitVerdict("actions", limit, w.counts.usage.Actions)
	}
	return nil
}

// isRunAction reports whether an action of the agent runs a cell if it succeeds.
func isRunAction(e *trace.Entry) bool {
	switch e.Action {
	case "run_cell":
		return true
	case "create_cell", "edit_cell":
		var message struct {
			Params struct {
				AutoRun bool `json:"auto_run"`
			} `json:"params"`
		}
		// Parameters that cannot be decoded are answered with an error.
		return json.Unmarshal(e.Body, &message) == nil && message.Params.AutoRun
	default:
		return false
	}
}

// readAnswerToAgent reads the answer to an action of the agent. The answer to a run action promises
// a run.
func (w *completionWatcher) readAnswerToAgent(e *trace.Entry) *verdict {
	action, isPending := w.actions[e.TxID]
	if e.Type != protocol.TypeActionResponse || !isPending || e.Note == trace.NoteDropped {
		return nil
	}
	if action.pendingRefusals > 0 && e.Status == protocol.StatusError {
		action.pendingRefusals--
		w.actions[e.TxID] = action
		return nil
	}
	delete(w.actions, e.TxID)
	if action.isRun && e.Status == protocol.StatusSuccess {
		w.expectRun(e.CellID, e.WallTime)
	}
	return w.completionVerdict()
}

// expectRun opens a run of a cell whose run_cell has not come yet.
func (w *completionWatcher) expectRun(id string, at time.Time) {
	if id != "" {
		w.updateCell(id, func(c *cellRuns) { c.promisedAt = at })
	}
}

// readAgentStatus reads an agent_status; done ends the agent's last turn.
func (w *completionWatcher) readAgentStatus(e *trace.Entry) *verdict {
	w.agentReports.status = e.Status
	if e.Status == protocol.AgentDone {
		return w.turnEndVerdict("the agent said that it is done and has not submitted an answer with " + CompletionMarker)
	}
	return nil
}

// readUsageUpdate reads the agent's account of tokens and cost, and checks the limits on them.
func (w *completionWatcher) readUsageUpdate(e *trace.Entry) *verdict {
	var usage protocol.UsageUpdate
	if err := json.Unmarshal(e.Body, &usage); err != nil {
		return nil // a malformed account is no reason to end the attempt
	}
	w.counts.usage.InputTokens = usage.InputTokens + usage.CacheReadInputTokens + usage.CacheCreationInputTokens
	w.counts.usage.CacheReadInputTokens, w.counts.usage.CacheCreationInputTokens = usage.CacheReadInputTokens, usage.CacheCreationInputTokens
	w.counts.usage.OutputTokens = usage.OutputTokens
	w.counts.usage.CostUSD = usage.CostUSD
	if limit, used := w.limits.MaxTokens, w.counts.usage.InputTokens+w.counts.usage.OutputTokens; limit > 0 && used > limit {
		return limitVerdict("tokens", limit, used)
	}
	if limit := w.limits.MaxCostUSD; limit > 0 && usage.CostUSD != nil && *usage.CostUSD > limit {
		return limitVerdict("cost_usd", limit, *usage.CostUSD)
	}
	return nil
}

// readAgentError reads an agent_error. A fatal one ends the attempt, unless it is marked; one that
// cannot be decoded is fatal.
func (w *completionWatcher) readAgentError(e *trace.Entry) *verdict {
	var failure protocol.AgentError
	if err := json.Unmarshal(e.Body, &failure); err != nil {
		failure = protocol.AgentError{Error: fmt.Sprintf("an agent_error that cannot be read: %v", err), Fatal: true}
	}
	if !failure.Fatal || w.submitted.isMarked {
		w.agentReports.lastError = failure.Error
		return nil
	}
	return &verdict{outcome: runs.OutcomeAgentError, detail: failure.Error}
}

// queuedCells returns the ids of the cells in a run_queue message.
func queuedCells(body []byte) []string {
	var queue protocol.RunQueue
	if json.Unmarshal(body, &queue) != nil {
		return nil
	}
	return queue.Queue
}
