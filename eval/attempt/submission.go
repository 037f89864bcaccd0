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

// submission is what an agent hands in: the input of submit_response, or an
// older agent's structured_output.
type submission struct {
	Summary    string          `json:"summary"`
	NextStatus string          `json:"next_status"`
	Questions  json.RawMessage `json:"questions"` // text, or a list
}

// block is a content block of an assistant message.
type block struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func (w *watch) readHistoryUpdate(e *trace.Entry) *verdict {
	var update struct {
		Entry protocol.HistoryEntry `json:"entry"`
	}
	if err := json.Unmarshal(e.Body, &update); err != nil || update.Entry.Type != protocol.EntryAnthropicMessage {
		return w.readUpdateWithoutEntry(e.WallTime)
	}
	w.finalMessageAt = time.Time{}
	again := w.stream.turnOff()
	if update.Entry.Role != "assistant" || again.hasSubmission {
		return nil
	}
	if again.awaitsUpdate { // it was counted as a stream, which may have shown less
		w.usage.ModelCalls--
		w.tamperSignals -= again.tamperSignals
	}
	return w.readAssistantMessage(update.Entry, e.WallTime)
}

// readAssistantMessage takes in a message of the assistant.
func (w *watch) readAssistantMessage(entry protocol.HistoryEntry, at time.Time) *verdict {
	w.usage.ModelCalls++
	blocks := contentBlocks(entry)
	w.countMarkerOutsideSubmissions(entry.Content, blocks)
	if v := w.readSubmissions(entry, submissionsIn(blocks)); v != nil {
		return v
	}
	if !hasToolUse(blocks) {
		w.finalMessageAt = at
	}
	if most := w.limits.Turns; most > 0 && w.usage.ModelCalls > most {
		return limitVerdict("turns", most, w.usage.ModelCalls)
	}
	return nil
}

func (w *watch) readAgentResult(e *trace.Entry) *verdict {
	var result struct {
		Type   string      `json:"type"`
		Output *submission `json:"structured_output"`
	}
	if json.Unmarshal(e.Body, &result) != nil || result.Output == nil || result.Output.Summary == "" {
		return nil
	}
	if w.stream.lastUsed.hasSubmission && result.Output.Summary == w.summary {
		return nil // what it has just streamed
	}
	return w.readSubmissions(result, []submission{*result.Output})
}

// readSubmissions takes in the submissions of one message. Behind the one with the
// marker no other counts.
func (w *watch) readSubmissions(message any, all []submission) *verdict {
	if len(all) == 0 || w.isOver || w.isMarked {
		return nil
	}
	raw, err := protocol.Marshal(message)
	if err != nil {
		return nil // it came as JSON
	}
	w.submissions = append(w.submissions, raw)
	for _, s := range all {
		w.summary = s.Summary
		if strings.Contains(s.Summary, CompletionMarker) {
			w.isMarked = true
			return w.completionVerdict()
		}
	}
	last := all[len(all)-1]
	switch {
	case last.isQuestion():
		return w.questionVerdict(last)
	case last.NextStatus == protocol.AgentDone:
		return w.turnEndVerdict("the agent has submitted without " + CompletionMarker)
	default:
		return nil
	}
}

// isQuestion tells whether the agent wants something from a person.
func (s submission) isQuestion() bool {
	switch string(bytes.TrimSpace(s.Questions)) {
	case "", "null", `""`, "[]":
		return s.NextStatus == protocol.AgentAwaitingUser
	default:
		return true
	}
}

// questionVerdict is the first time a matter of one answer, and then the end.
func (w *watch) questionVerdict(s submission) *verdict {
	w.questionCount++
	text := string(s.Questions)
	if text == "" || text == "null" {
		text = s.Summary
	}
	if w.questionCount > 1 {
		return &verdict{outcome: runs.OutcomeAskedQuestion, detail: "asked again: " + text}
	}
	return &verdict{question: text}
}

// contentBlocks are the blocks of a message; one of plain text has none.
func contentBlocks(entry protocol.HistoryEntry) []block {
	var blocks []block
	if json.Unmarshal(entry.Content, &blocks) != nil {
		return nil
	}
	return blocks
}

func submissionsIn(blocks []block) []submission {
	var all []submission
	for _, b := range blocks {
		var s submission
		if b.Type == "tool_use" && grading.IsSubmission(b.Name) && json.Unmarshal(b.Input, &s) == nil {
			all = append(all, s)
		}
	}
	return all
}

func hasToolUse(blocks []block) bool {
	for _, b := range blocks {
		if b.Type == "tool_use" {
			return true
		}
	}
	return false
}

// countMarkerOutsideSubmissions counts an assistant message that has the marker outside of a
// submission's input.
func (w *watch) countMarkerOutsideSubmissions(content json.RawMessage, blocks []block) {
	inside := 0
	for _, b := range blocks {
		if b.Type == "tool_use" && grading.IsSubmission(b.Name) {
			inside += bytes.Count(b.Input, []byte(CompletionMarker))
		}
	}
	if bytes.Count(content, []byte(CompletionMarker)) > inside {
		w.tamperSignals++
	}
}
