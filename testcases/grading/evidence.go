package grading

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"assay/internal/model"
	"assay/testcases/grading/pyvalue"
)

const (
	partBytes = 48 << 10 // of text in a part of the evidence: task, answer, notebook, conversation
	textBytes = 8 << 10  // of a text in the notebook or the conversation
	nameBytes = 200      // of the name of a tool

	// entryBytes is what an entry of the notebook or the conversation counts
	// beside its text.
	entryBytes = 64
)

// evidence is what a judge sees of an attempt, as one JSON document. All that
// others wrote is in its strings.
type evidence struct {
	Task         string      `json:"task"`
	Answer       *string     `json:"answer"` // JSON text
	NoAnswer     string      `json:"no_answer,omitempty"`
	Notebook     []shownCell `json:"notebook"`
	Conversation []utterance `json:"conversation"`
}

// shownCell is a cell of the notebook, or what was left out between two.
type shownCell struct {
	Kind   string `json:"kind"` // code, markdown or left_out
	Source string `json:"source,omitempty"`
	Status string `json:"status,omitempty"`
	Text   string `json:"text,omitempty"` // of left_out how much
}

func evidenceOf(in Input) (string, error) {
	e := evidence{
		Task:         clip(in.Task, partBytes),
		Conversation: shorten(utterances(in.Conversation), utterance.size, func(gap string) utterance { return utterance{Kind: "left_out", Text: gap} }),
	}
	if in.Answer != nil && in.Answer != (pyvalue.Null{}) {
		text := clip(string(pyvalue.AppendJSON(nil, in.Answer)), partBytes)
		e.Answer = &text
	} else {
		e.NoAnswer = clip(in.NoAnswer, textBytes)
	}
	if in.Notebook != nil {
		e.Notebook = shorten(shownCells(in.Notebook.Cells), shownCell.size, func(gap string) shownCell { return shownCell{Kind: "left_out", Text: gap} })
	}
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return "", fmt.Errorf("write the evidence: %w", err)
	}
	return string(text), nil
}

func shownCells(cells []Cell) []shownCell {
	out := []shownCell{}
	for _, c := range cells {
		kind := "markdown"
		if c.Code {
			kind = "code"
		}
		out = append(out, shownCell{Kind: kind, Source: clip(c.Source, textBytes), Status: c.Status, Text: clip(c.Text, textBytes)})
	}
	return out
}

func (c shownCell) size() int { return entryBytes + len(c.Source) + len(c.Text) }

// shorten keeps items from both ends, up to partBytes in all, with a marker for
// those in between.
func shorten[T any](items []T, size func(T) int, marker func(gap string) T) []T {
	head, used := 0, 0
	for head < len(items) && used+size(items[head]) <= partBytes/2 {
		used += size(items[head])
		head++
	}
	tail := len(items)
	for tail > head && used+size(items[tail-1]) <= partBytes {
		tail--
		used += size(items[tail])
	}
	if tail == head {
		return items
	}
	out := append([]T{}, items[:head]...)
	out = append(out, marker(fmt.Sprintf("%d entries are left out here", tail-head)))
	return append(out, items[tail:]...)
}

// clip shortens a text to limit bytes and a marker: its head and its tail stay,
// and no character is cut.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit/2, len(text)-limit/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", text[:head], tail-head, text[tail:])
}

// utterance is a piece of the conversation.
type utterance struct {
	Role    string `json:"role,omitempty"` // user or assistant; empty for an entry of another shape
	Kind    string `json:"kind"`           // text, image, tool_call, tool_result, other or left_out
	Tool    string `json:"tool,omitempty"` // of a tool_call
	Text    string `json:"text"`           // of a tool_call the input as JSON text, of left_out how much
	Failed  bool   `json:"failed,omitempty"`
	LeftOut string `json:"left_out,omitempty"` // of a tool_result: that there were images, too
}

func (u utterance) size() int { return entryBytes + len(u.Tool) + len(u.Text) }

// utterances makes short entries of those of a conversation. Thinking is left
// out, of images it is only said that there were some.
func utterances(conversation []json.RawMessage) []utterance {
	out := []utterance{}
	for _, entry := range conversation {
		out = append(out, utterancesOf(entry)...)
	}
	return out
}

func utterancesOf(entry json.RawMessage) []utterance {
	var message model.Message
	err := json.Unmarshal(entry, &message)
	if err != nil || message.Role != model.RoleUser && message.Role != model.RoleAssistant {
		return []utterance{{Kind: "other", Text: clip(string(entry), textBytes)}} // such as an agent_result
	}
	var out []utterance
	for _, block := range message.Content {
		if u, ok := utteranceOf(block); ok {
			u.Role = message.Role
			out = append(out, u)
		}
	}
	return out
}

// utteranceOf makes an entry of a block, unless it is one that is not shown.
func utteranceOf(block model.Block) (utterance, bool) {
	switch block.Type {
	case model.BlockText:
		return utterance{Kind: "text", Text: clip(block.Text, textBytes)}, true
	case model.BlockImage:
		return utterance{Kind: "image"}, true
	case model.BlockToolUse:
		return utterance{Kind: "tool_call", Tool: clip(block.Name, nameBytes), Text: clip(string(block.Input), textBytes)}, true
	case model.BlockToolResult:
		u := utterance{Kind: "tool_result", Text: clip(model.PlainText(block.Content), textBytes), Failed: block.IsError}
		if slices.ContainsFunc(block.Content, func(part model.Block) bool { return part.Type == model.BlockImage }) {
			u.LeftOut = "images"
		}
		return u, true
	default:
		return utterance{}, false
	}
}
