package attempt

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/testcases/grading"
)

// submission is the agent's submitted answer: the input of the tool submit_response, or the
// structured_output of an older agent.
type submission struct {
	Summary    string          `json:"summary"`
	NextStatus string          `json:"next_status"`
	Questions  json.RawMessage `json:"questions"` // text or a list
}

// contentBlock has the fields of an assistant message's content block that the watcher uses.
type contentBlock struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// readHistoryUpdate processes an agent_history_updated and returns the verdict that follows
// from the message in it, or nil. An assistant message that was streamed and used before is not
// counted twice.
func (w *completionWatcher) readHistoryUpdate(e *trace.Entry) *watcherVerdict {
	var update struct {
		Entry protocol.HistoryEntry `json:"entry"`
	}
	if err := json.Unmarshal(e.Body, &update); err != nil || update.Entry.Type != protocol.HistoryEntryTypeAnthropicMessage {
		return w.readHistoryUpdateWithoutEntry(e.WallTime)
	}
	w.agentReports.finalMessageAt = time.Time{}
	used := w.stream.ignoreStreams()
	if update.Entry.Role != "assistant" || used.hasSubmission {
		return nil
	}
	if used.awaitsUpdate { // replace what the stream counted: it may have shown less than the entry
		w.counts.usage.ModelCalls--
		w.counts.tamperSignals -= used.tamperSignals
	}
	return w.readAssistantMessage(update.Entry, e.WallTime)
}

// readAssistantMessage processes a complete assistant message: it counts the turn and
// completion markers and processes submissions. It returns the verdict that follows, such as
// that the limit of turns is exceeded, or nil. at is when the message was complete.
func (w *completionWatcher) readAssistantMessage(entry protocol.HistoryEntry, at time.Time) *watcherVerdict {
	w.counts.usage.ModelCalls++
	blocks := contentBlocks(entry)
	w.countMarkerOutsideSubmissions(entry.Content, blocks)
	if v := w.readSubmissions(entry, submissionsIn(blocks)); v != nil {
		return v
	}
	if !hasToolUse(blocks) {
		w.agentReports.finalMessageAt = at
	}
	if limit := w.limits.MaxTurns; limit > 0 && w.counts.usage.ModelCalls > limit {
		return limitVerdict("turns", limit, w.counts.usage.ModelCalls)
	}
	return nil
}

// readAgentResult processes an agent_result, the message by which older agents submit, and
// returns the verdict that follows from the submission, or nil.
func (w *completionWatcher) readAgentResult(e *trace.Entry) *watcherVerdict {
	var result struct {
		Type   string      `json:"type"`
		Output *submission `json:"structured_output"`
	}
	if json.Unmarshal(e.Body, &result) != nil || result.Output == nil || result.Output.Summary == "" {
		return nil
	}
	if w.stream.lastUsed.hasSubmission && result.Output.Summary == w.submitted.summary {
		return nil // the submission that it has just streamed
	}
	return w.readSubmissions(result, []submission{*result.Output})
}

// readSubmissions processes the submissions in one message of the agent and returns the verdict
// that follows from them, or nil. After a submission with the completion marker all others are
// ignored.
func (w *completionWatcher) readSubmissions(message any, submissions []submission) *watcherVerdict {
	if len(submissions) == 0 || w.isOver || w.submitted.isMarked {
		return nil
	}
	raw, err := protocol.Marshal(message)
	if err != nil {
		return nil // cannot happen: it was parsed from JSON
	}
	w.submitted.messages = append(w.submitted.messages, raw)
	for _, s := range submissions {
		w.submitted.summary = s.Summary
		if strings.Contains(s.Summary, CompletionMarker) {
			w.submitted.isMarked = true
			return w.completionVerdict()
		}
	}
	last := submissions[len(submissions)-1]
	switch {
	case last.isQuestion():
		return w.questionVerdict(last)
	case last.NextStatus == protocol.AgentDone:
		return w.turnEndVerdict("the agent has submitted without " + CompletionMarker)
	default:
		return nil
	}
}

// isQuestion reports whether the agent asks a person something with this submission instead of
// giving an answer.
func (s submission) isQuestion() bool {
	switch string(bytes.TrimSpace(s.Questions)) {
	case "", "null", `""`, "[]":
		return s.NextStatus == protocol.AgentAwaitingUser
	default:
		return true
	}
}

// questionVerdict returns the verdict on a submission that asks a question: for the first one a
// verdict with the question, which must be answered, and for the second one the outcome
// asked_question, which ends the attempt.
func (w *completionWatcher) questionVerdict(s submission) *watcherVerdict {
	w.submitted.questionCount++
	text := string(s.Questions)
	if text == "" || text == "null" {
		text = s.Summary
	}
	if w.submitted.questionCount > 1 {
		return &watcherVerdict{outcome: runs.OutcomeAskedQuestion, detail: "asked again: " + text}
	}
	return &watcherVerdict{question: text}
}

// contentBlocks returns the content blocks of a history entry's message; nil if its content is
// a string.
func contentBlocks(entry protocol.HistoryEntry) []contentBlock {
	var blocks []contentBlock
	if json.Unmarshal(entry.Content, &blocks) != nil {
		return nil
	}
	return blocks
}

// submissionsIn returns the submissions among the content blocks of a message: the inputs of
// its uses of the submission tool.
func submissionsIn(blocks []contentBlock) []submission {
	var all []submission
	for _, b := range blocks {
		var s submission
		if b.Type == "tool_use" && grading.IsSubmissionTool(b.Name) && json.Unmarshal(b.Input, &s) == nil {
			all = append(all, s)
		}
	}
	return all
}

// hasToolUse reports whether one of a message's content blocks uses a tool.
func hasToolUse(blocks []contentBlock) bool {
	for _, b := range blocks {
		if b.Type == "tool_use" {
			return true
		}
	}
	return false
}

// countMarkerOutsideSubmissions counts one tamper signal if an assistant message has the
// completion marker anywhere but in the input of a submission.
func (w *completionWatcher) countMarkerOutsideSubmissions(content json.RawMessage, blocks []contentBlock) {
	inside := 0
	for _, b := range blocks {
		if b.Type == "tool_use" && grading.IsSubmissionTool(b.Name) {
			inside += bytes.Count(b.Input, []byte(CompletionMarker))
		}
	}
	if bytes.Count(content, []byte(CompletionMarker)) > inside {
		w.counts.tamperSignals++
	}
}
