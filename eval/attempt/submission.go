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

func (w *watch) fromHistory(e *trace.Entry) *verdict {
	var update struct {
		Entry protocol.HistoryEntry `json:"entry"`
	}
	if err := json.Unmarshal(e.Body, &update); err != nil || update.Entry.Type != protocol.EntryAnthropicMessage {
		return w.committed(e.WallTime)
	}
	w.lastWord = time.Time{}
	again := w.streams.sendsEntries()
	if update.Entry.Role != "assistant" || again.submits {
		return nil
	}
	if again.uncommitted { // it was counted as a stream, which may have shown less
		w.counts.ModelCalls--
		w.tamper -= again.tamper
	}
	return w.said(update.Entry, e.WallTime)
}

// said takes in a message of the assistant.
func (w *watch) said(entry protocol.HistoryEntry, at time.Time) *verdict {
	w.counts.ModelCalls++
	blocks := blocksOf(entry)
	w.suspectMessage(entry.Content, blocks)
	if v := w.submitted(entry, submissionsOf(blocks)); v != nil {
		return v
	}
	if !usesTools(blocks) {
		w.lastWord = at
	}
	if most := w.limits.Turns; most > 0 && w.counts.ModelCalls > most {
		return limitReached("turns", most, w.counts.ModelCalls)
	}
	return nil
}

func (w *watch) fromResult(e *trace.Entry) *verdict {
	var result struct {
		Type   string      `json:"type"`
		Output *submission `json:"structured_output"`
	}
	if json.Unmarshal(e.Body, &result) != nil || result.Output == nil || result.Output.Summary == "" {
		return nil
	}
	if w.streams.last.submits && result.Output.Summary == w.summary {
		return nil // what it has just streamed
	}
	return w.submitted(result, []submission{*result.Output})
}

// submitted takes in the submissions of one message. Behind the one with the
// marker no other counts.
func (w *watch) submitted(message any, all []submission) *verdict {
	if len(all) == 0 || w.ended || w.marked {
		return nil
	}
	raw, err := protocol.Marshal(message)
	if err != nil {
		return nil // it came as JSON
	}
	w.handedIn = append(w.handedIn, raw)
	for _, s := range all {
		w.summary = s.Summary
		if strings.Contains(s.Summary, CompletionMarker) {
			w.marked = true
			return w.settle()
		}
	}
	last := all[len(all)-1]
	switch {
	case last.asks():
		return w.question(last)
	case last.NextStatus == protocol.AgentDone:
		return w.over("the agent has submitted without " + CompletionMarker)
	default:
		return nil
	}
}

// asks tells whether the agent wants something from a person.
func (s submission) asks() bool {
	switch string(bytes.TrimSpace(s.Questions)) {
	case "", "null", `""`, "[]":
		return s.NextStatus == protocol.AgentAwaitingUser
	default:
		return true
	}
}

// question is the first time a matter of one answer, and then the end.
func (w *watch) question(s submission) *verdict {
	w.questions++
	text := string(s.Questions)
	if text == "" || text == "null" {
		text = s.Summary
	}
	if w.questions > 1 {
		return &verdict{outcome: runs.OutcomeAskedQuestion, detail: "asked again: " + text}
	}
	return &verdict{question: text}
}

// blocksOf are the blocks of a message; one of plain text has none.
func blocksOf(entry protocol.HistoryEntry) []block {
	var blocks []block
	if json.Unmarshal(entry.Content, &blocks) != nil {
		return nil
	}
	return blocks
}

func submissionsOf(blocks []block) []submission {
	var all []submission
	for _, b := range blocks {
		var s submission
		if b.Type == "tool_use" && grading.IsSubmission(b.Name) && json.Unmarshal(b.Input, &s) == nil {
			all = append(all, s)
		}
	}
	return all
}

func usesTools(blocks []block) bool {
	for _, b := range blocks {
		if b.Type == "tool_use" {
			return true
		}
	}
	return false
}

// suspectMessage counts an assistant message that has the marker outside of a
// submission's input.
func (w *watch) suspectMessage(content json.RawMessage, blocks []block) {
	inside := 0
	for _, b := range blocks {
		if b.Type == "tool_use" && grading.IsSubmission(b.Name) {
			inside += bytes.Count(b.Input, []byte(CompletionMarker))
		}
	}
	if bytes.Count(content, []byte(CompletionMarker)) > inside {
		w.tamper++
	}
}
