package attempt

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/testcases/grading"
)

// readHistoryUpdate processes an agent_history_updated and returns the verdict that follows
// from the message in it, or nil. An assistant message that was streamed and used before is not
// counted twice.
func (w *completionWatcher) readHistoryUpdate(e *trace.Entry) *watcherVerdict {
	message, problem := parseHistoryUpdate(e.Body)
	w.noteUnreadable(problem)
	if message == nil {
		return w.readHistoryUpdateWithoutEntry(e.WallTime)
	}
	w.agentReports.finalMessageAt = time.Time{}
	used := w.stream.ignoreStreams()
	if !used.hasSubmission || message.role != "assistant" {
		w.freezeSubmission() // the agent goes on to its next step
	}
	if message.role != "assistant" || used.hasSubmission {
		return nil
	}
	if used.awaitsUpdate { // replace what the stream counted: it may have shown less than the entry
		w.counts.usage.ModelCalls--
		w.counts.tamperSignals -= used.tamperSignals
	}
	v, _ := w.readAssistantMessage(message, e.WallTime)
	return v
}

// readAssistantMessage processes a complete assistant message: it counts the turn and
// completion markers and processes submissions. It returns the verdict that follows, such as
// that the limit of turns is exceeded, or nil, and whether the message has a submission. at is when
// the message was complete.
func (w *completionWatcher) readAssistantMessage(message *historyMessage, at time.Time) (v *watcherVerdict, hasSubmission bool) {
	w.counts.usage.ModelCalls++
	w.countMarkerOutsideSubmissions(message)
	submissions, otherTools, problem := splitToolUses(message.blocks)
	w.noteUnreadable(problem)
	hasSubmission = len(submissions) > 0
	if v := w.readSubmissions(message.raw, submissions, at, otherTools > 0); v != nil {
		return v, hasSubmission
	}
	if !hasSubmission && otherTools == 0 {
		w.agentReports.finalMessageAt = at
	}
	if limit := w.limits.MaxTurns; limit > 0 && w.counts.usage.ModelCalls > limit {
		return limitVerdict("turns", limit, w.counts.usage.ModelCalls), hasSubmission
	}
	return nil, hasSubmission
}

// readAgentResult processes an agent_result, the message by which older agents submit, and
// returns the verdict that follows from the submission, or nil.
func (w *completionWatcher) readAgentResult(e *trace.Entry) *watcherVerdict {
	var result agentResult
	if json.Unmarshal(e.Body, &result) != nil || isNull(result.Output) {
		return nil
	}
	output, err := parseSubmission(result.Output)
	if err != nil {
		w.noteUnreadable(fmt.Errorf("structured_output: %w", err))
		return nil
	}
	if output.summary == "" || w.stream.lastUsed.hasSubmission && output.summary == w.submitted.summary {
		return nil // nothing, or the submission that it has just streamed
	}
	return w.readSubmissions(output.marshalAsResult(), []submission{output}, e.WallTime, false)
}

// readSubmitAction processes an agent_action by which an agent submits, and returns the verdict
// that follows from the submission, or nil.
func (w *completionWatcher) readSubmitAction(e *trace.Entry) *watcherVerdict {
	var action struct {
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(e.Body, &action) != nil {
		return nil
	}
	params, err := parseSubmission(action.Params)
	if err != nil || params.summary == "" {
		return nil // the router has answered what is wrong with it
	}
	return w.readSubmissions(params.marshalAsResult(), []submission{params}, e.WallTime, false)
}

// readSubmissions processes the submissions in one message of the agent, which was complete at the
// time at, and returns the verdict that follows from them, or nil. The first submission with the
// completion marker is the answer; all others are ignored then. If the message uses other tools,
// their actions are still accepted after it.
func (w *completionWatcher) readSubmissions(message json.RawMessage, submissions []submission, at time.Time, hasOtherTools bool) *watcherVerdict {
	if len(submissions) == 0 || w.isOver || w.submitted.isMarked() {
		return nil
	}
	for _, s := range submissions {
		w.submitted.summary = s.summary
		if s.isMarked() {
			w.submitted.markedAt, w.submitted.messages = at, []json.RawMessage{s.marshalAsResult()}
			if !hasOtherTools {
				w.freezeSubmission()
			}
			return nil
		}
	}
	w.submitted.messages = append(w.submitted.messages, message)
	last := submissions[len(submissions)-1]
	switch {
	case last.isQuestion():
		return w.questionVerdict(last)
	case last.nextStatus == protocol.AgentDone:
		return w.turnEndVerdict("the agent has submitted without " + CompletionMarker)
	default:
		return nil
	}
}

// questionVerdict returns the verdict on a submission that asks a question: for the first one a
// verdict with the question, which must be answered, and for the second one the outcome
// asked_question, which ends the attempt.
func (w *completionWatcher) questionVerdict(s submission) *watcherVerdict {
	w.submitted.questionCount++
	text := string(s.questions)
	if text == "" || text == "null" {
		text = s.summary
	}
	if w.submitted.questionCount > 1 {
		return &watcherVerdict{outcome: runs.OutcomeAskedQuestion, detail: "asked again: " + text}
	}
	return &watcherVerdict{question: text}
}

// countMarkerOutsideSubmissions counts one tamper signal if an assistant message has the
// completion marker anywhere but in the input of a submission.
func (w *completionWatcher) countMarkerOutsideSubmissions(message *historyMessage) {
	inside := 0
	for _, b := range message.blocks {
		if b.kind == "tool_use" && grading.IsSubmissionTool(b.name) {
			inside += countMarkers(b.input)
		}
	}
	if countMarkers(message.content) > inside {
		w.counts.tamperSignals++
	}
}
