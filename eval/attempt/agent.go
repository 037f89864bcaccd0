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

// CompletionMarker ends the summary of a submission that is meant. Anywhere else it
// completes nothing and is counted as a tamper signal.
const CompletionMarker = "[EVAL_COMPLETE]"

// agentAction is an action of the agent's in flight.
type agentAction struct {
	name            string
	isRun           bool // its success runs a cell
	pendingRefusals int  // others with its id, whose refusals are still to come
}

// readAgentFrame takes in a frame of the agent, behind what the frame shows to have
// been said before it.
func (w *watch) readAgentFrame(e *trace.Entry) *verdict {
	w.noteAlive(e)
	w.trackModelActivity(e)
	said := w.readStreamFrame(e)
	if isTurnContinued(e) {
		w.finalMessageAt = time.Time{}
	}
	v := w.dispatchAgentFrame(e)
	switch {
	case said == nil, said.outcome == "" && v != nil: // an end goes before a question
		return v
	case said.outcome == runs.OutcomeCompleted:
		return cmp.Or(w.completionVerdict(), v) // the frame may be an action, which is waited for
	default:
		return said
	}
}

func (w *watch) dispatchAgentFrame(e *trace.Entry) *verdict {
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

// isTurnContinued tells whether a frame shows that the agent goes on: then what it
// said last was not its last word. Of an update its entry tells.
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

// countMarkerIn counts a frame that has the marker where it completes nothing.
func (w *watch) countMarkerIn(e *trace.Entry) {
	if bytes.Contains(e.Body, []byte(CompletionMarker)) {
		w.tamperSignals++
	}
}

func (w *watch) readAgentAction(e *trace.Entry) *verdict {
	w.countMarkerIn(e)
	w.usage.Actions++
	if isRunAction(e) {
		w.lastRunAction = e.Action
	}
	switch asked, inFlight := w.actions[e.TxID]; {
	case e.TxID == "" && isRunAction(e):
		w.expectRun(e.CellID, e.WallTime) // no answer will say so
	case e.TxID == "":
	case inFlight:
		asked.pendingRefusals++ // it will be answered at once, and the first one still
		w.actions[e.TxID] = asked
	default:
		w.actions[e.TxID] = agentAction{name: e.Action, isRun: isRunAction(e)}
	}
	if most := w.limits.Actions; most > 0 && w.usage.Actions > most {
		return limitVerdict("actions", most, w.usage.Actions)
	}
	return nil
}

// isRunAction tells whether the action, when it succeeds, runs a cell.
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
		// What does not fit will be answered with an error.
		return json.Unmarshal(e.Body, &message) == nil && message.Params.AutoRun
	default:
		return false
	}
}

// readAnswerToAgent follows the answers to the agent's actions.
func (w *watch) readAnswerToAgent(e *trace.Entry) *verdict {
	asked, ok := w.actions[e.TxID]
	if e.Type != protocol.TypeActionResponse || !ok || e.Note == trace.NoteDropped {
		return nil
	}
	if asked.pendingRefusals > 0 && e.Status == protocol.StatusError {
		asked.pendingRefusals--
		w.actions[e.TxID] = asked
		return nil
	}
	delete(w.actions, e.TxID)
	if asked.isRun && e.Status == protocol.StatusSuccess {
		w.expectRun(e.CellID, e.WallTime)
	}
	return w.completionVerdict()
}

// expectRun opens a run of a cell that is still to be told to run.
func (w *watch) expectRun(id string, at time.Time) {
	if id != "" {
		w.updateCell(id, func(c *cellRuns) { c.promisedAt = at })
	}
}

func (w *watch) readAgentStatus(e *trace.Entry) *verdict {
	w.agentStatus = e.Status
	if e.Status == protocol.AgentDone {
		return w.turnEndVerdict("the agent said that it is done and has not submitted an answer with " + CompletionMarker)
	}
	return nil
}

func (w *watch) readUsageUpdate(e *trace.Entry) *verdict {
	var usage protocol.UsageUpdate
	if err := json.Unmarshal(e.Body, &usage); err != nil {
		return nil // what an agent says of its cost is no reason to end it
	}
	w.usage.InputTokens = usage.InputTokens + usage.CacheReadInputTokens + usage.CacheCreationInputTokens
	w.usage.CacheReadInputTokens, w.usage.CacheCreationInputTokens = usage.CacheReadInputTokens, usage.CacheCreationInputTokens
	w.usage.OutputTokens = usage.OutputTokens
	w.usage.CostUSD = usage.CostUSD
	if most, spent := w.limits.Tokens, w.usage.InputTokens+w.usage.OutputTokens; most > 0 && spent > most {
		return limitVerdict("tokens", most, spent)
	}
	if most := w.limits.CostUSD; most > 0 && usage.CostUSD != nil && *usage.CostUSD > most {
		return limitVerdict("cost_usd", most, *usage.CostUSD)
	}
	return nil
}

func (w *watch) readAgentError(e *trace.Entry) *verdict {
	var failure protocol.AgentError
	if err := json.Unmarshal(e.Body, &failure); err != nil {
		failure = protocol.AgentError{Error: fmt.Sprintf("an agent_error that cannot be read: %v", err), Fatal: true}
	}
	if !failure.Fatal || w.isMarked {
		w.agentComplaint = failure.Error
		return nil
	}
	return &verdict{outcome: runs.OutcomeAgentError, detail: failure.Error}
}

func queuedCells(body []byte) []string {
	var queue protocol.RunQueue
	if json.Unmarshal(body, &queue) != nil {
		return nil
	}
	return queue.Queue
}
