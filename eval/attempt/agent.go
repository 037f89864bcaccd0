package attempt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/rawjson"
	"assay/internal/trace"
	"assay/testcases/grading"
)

// CompletionMarker is the text that completes the attempt if it is in the summary of the
// agent's submission. Anywhere else it does nothing and counts as a tamper signal.
const CompletionMarker = "[EVAL_COMPLETE]"

// agentAction is a request of the agent that has not been answered yet.
type agentAction struct {
	name            string
	isRun           bool // if it succeeds, a cell will run
	pendingRefusals int  // further actions with the same tx_id, which will be refused
}

// readAgentFrame processes a trace entry with a frame from the agent and returns the verdict
// that follows from it, or nil. If the frame shows that a streamed message is complete, it
// processes that message first.
func (w *completionWatcher) readAgentFrame(e *trace.Entry) *watcherVerdict {
	w.noteAgentActive(e)
	w.agentReports.lastFrame = agentFrame{kind: e.Type, seq: e.Seq, action: e.Action, txID: e.TxID}
	w.trackModelActivity(e)
	streamVerdict := w.readStreamFrame(e)
	if isTurnContinued(e) {
		w.agentReports.finalMessageAt = time.Time{}
	}
	v := w.dispatchAgentFrame(e)
	if streamVerdict == nil || streamVerdict.outcome == "" && v != nil { // an outcome has precedence over a question
		return v
	}
	return streamVerdict
}

// dispatchAgentFrame calls the method that processes the agent's frames of this type and
// returns its verdict; nil for types that do not matter.
func (w *completionWatcher) dispatchAgentFrame(e *trace.Entry) *watcherVerdict {
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
	if e.Note == trace.NoteMalformed {
		w.noteUnreadable(errors.New("it is malformed: want one JSON object in UTF-8"))
	}
	return nil
}

// isTurnContinued reports whether a frame of the agent shows that it goes on working, so that
// its last message was not its final one. It is false for agent_history_updated, whose entry
// readHistoryUpdate judges.
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

// countMarkerIn counts a tamper signal if the body of a frame contains the completion marker.
// It is called for frames in which the marker completes nothing.
func (w *completionWatcher) countMarkerIn(e *trace.Entry) {
	if containsMarker(e.Body) {
		w.counts.tamperSignals++
	}
}

// containsMarker reports whether a string of the JSON text contains the completion marker.
func containsMarker(text []byte) bool { return countMarkers(text) > 0 }

// countMarkers returns how often the strings of the JSON text contain the completion marker, which may be
// written with escapes.
func countMarkers(text []byte) int {
	marker := []byte(CompletionMarker)
	if !bytes.Contains(text, []byte(`\u004`)) && !bytes.Contains(text, []byte(`\u005`)) { // all its characters are from 0x41 to 0x5f
		return bytes.Count(text, marker)
	}
	count := 0
	rawjson.MapStrings(text, func(value []byte, _ bool) ([]byte, bool) {
		count += bytes.Count(value, marker)
		return nil, false
	})
	return count
}

// readAgentAction processes an agent_action: the attempt now waits for its answer. It returns a
// limit verdict if the agent has made more actions than Limits.MaxActions.
func (w *completionWatcher) readAgentAction(e *trace.Entry) *watcherVerdict {
	var v *watcherVerdict
	if e.Action == grading.SubmissionTool {
		v = w.readSubmitAction(e)
	} else {
		w.countMarkerIn(e)
	}
	if w.submitted.isFrozen && isChange(e.Action) {
		w.counts.tamperSignals++ // the router has refused it
	}
	w.counts.usage.Actions++
	if isRunAction(e) {
		w.lastRunAction = e.Action
	}
	switch earlier, isPending := w.actions[e.TxID]; {
	case e.TxID == "":
		w.noteUnansweredAction(e)
	case isPending:
		earlier.pendingRefusals++ // the router refuses it at once; the earlier one still gets its answer
		w.actions[e.TxID] = earlier
	default:
		w.actions[e.TxID] = agentAction{name: e.Action, isRun: isRunAction(e)}
		w.hasRunCode = w.hasRunCode || isRunAction(e) || e.Action == protocol.TypeExecuteCode
	}
	if limit := w.limits.MaxActions; limit > 0 && w.counts.usage.Actions > limit {
		return limitVerdict("actions", limit, w.counts.usage.Actions)
	}
	return v
}

// noteUnansweredAction processes an agent_action without a tx_id, to which no answer is sent. A tx_id that is
// no text is recorded as unreadable.
func (w *completionWatcher) noteUnansweredAction(e *trace.Entry) {
	problem, mistyped := protocol.ProblemWithTxID(e.Body)
	w.agentReports.lastFrame.txIDProblem = problem
	if mistyped {
		w.noteUnreadable(errors.New(e.Action + ": " + problem))
	}
	if isRunAction(e) {
		w.expectRun(e.CellID, e.WallTime) // no answer will announce the run
	}
}

// isChange reports whether this action of the agent, or of a person at a view, can change the notebook or the kernel's state.
func isChange(action string) bool {
	switch action {
	case "get_context", "request_globals_summary", "request_reactivity_summary", "get_global_info", grading.SubmissionTool:
		return false
	default:
		return true
	}
}

// isRunAction reports whether a successful answer to this action of the agent means that a cell
// will run: it is run_cell, or create_cell or edit_cell with auto_run.
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

// readAnswerToAgent processes the answer to an action of the agent, which no longer waits.
// After a successful answer to a run action a run of the cell is expected. The result of a run is the
// first frame that has the whole of what a cell has printed in pieces: the completion marker in it counts if
// nothing was counted before.
func (w *completionWatcher) readAnswerToAgent(e *trace.Entry) {
	if e.Type == protocol.TypeKernelMessage && w.counts.tamperSignals == 0 && bytes.Contains(e.Body, []byte(protocol.TypeCellResult)) {
		w.countMarkerIn(e)
	}
	action, isPending := w.actions[e.TxID]
	if e.Type != protocol.TypeActionResponse || !isPending || e.Note == trace.NoteDropped {
		return
	}
	if action.pendingRefusals > 0 && e.Status == protocol.StatusError {
		action.pendingRefusals--
		w.actions[e.TxID] = action
		return
	}
	delete(w.actions, e.TxID)
	if action.isRun && e.Status == protocol.StatusSuccess {
		w.expectRun(e.CellID, e.WallTime)
	}
}

// expectRun marks a cell as about to run, although no run_cell for it was seen yet. at is the
// time from which the run is waited for, for at most expectedRunTimeout. It does nothing if id
// is empty.
func (w *completionWatcher) expectRun(id string, at time.Time) {
	if id != "" {
		w.updateCellRuns(id, func(c *cellRuns) { c.expectedSince = at })
	}
}

// readAgentStatus processes an agent_status. The status "done" ends the agent's last turn; the
// verdict on that is returned. For other statuses it returns nil.
func (w *completionWatcher) readAgentStatus(e *trace.Entry) *watcherVerdict {
	w.agentReports.status = e.Status
	if e.Status == protocol.AgentDone {
		return w.turnEndVerdict("the agent said that it is done and has not submitted an answer with " + CompletionMarker)
	}
	return nil
}

// readUsageUpdate takes over the tokens and the cost in US dollars that the agent reports, and
// returns a limit verdict if they exceed the attempt's limits. A malformed report, or one with a
// negative number, is noted and ignored: it is no reason to end the attempt.
func (w *completionWatcher) readUsageUpdate(e *trace.Entry) *watcherVerdict {
	usage, err := parseUsage(e.Body)
	if err != nil {
		w.noteUnreadable(err)
		return nil
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

// readAgentError processes an agent_error and returns the verdict agent_error if the error is
// fatal or cannot be decoded. It returns nil if the error is not fatal. After a marked submission
// a fatal error only ends the agent's turn.
func (w *completionWatcher) readAgentError(e *trace.Entry) *watcherVerdict {
	var failure protocol.AgentError
	if err := json.Unmarshal(e.Body, &failure); err != nil {
		failure = protocol.AgentError{Error: fmt.Sprintf("an agent_error that cannot be read: %v", err), Fatal: true}
	}
	if !failure.Fatal || w.submitted.isMarked() {
		w.agentReports.lastError = failure.Error
		if failure.Fatal {
			w.freezeSubmission()
		}
		return nil
	}
	return &watcherVerdict{outcome: runs.OutcomeAgentError, detail: failure.Error}
}
