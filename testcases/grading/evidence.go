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
	maxPartBytes     = 48 << 10 // of text in a part of the evidence: task, answer, notebook, conversation
	maxTextBytes     = 8 << 10  // of a text in the notebook or the conversation
	maxToolNameBytes = 200      // of the name of a tool

	// entryOverheadBytes is what an entry of the notebook or the conversation counts
	// beside its text.
	entryOverheadBytes = 64
)

// evidence is what a judge sees of an attempt, as one JSON document. All that
// others wrote is in its strings.
type evidence struct {
	Task         string          `json:"task"`
	Answer       *string         `json:"answer"` // JSON text
	NoAnswer     string          `json:"no_answer,omitempty"`
	Notebook     []evidenceCell  `json:"notebook"`
	Conversation []evidenceEntry `json:"conversation"`
}

// evidenceCell is a cell of the notebook, or what was left out between two.
type evidenceCell struct {
	Kind   string `json:"kind"` // code, markdown or left_out
	Source string `json:"source,omitempty"`
	Status string `json:"status,omitempty"`
	Text   string `json:"text,omitempty"` // of left_out how much
}

func encodeEvidence(in Input) (string, error) {
	e := evidence{
		Task:         clipMiddle(in.Task, maxPartBytes),
		Conversation: dropMiddle(conversationEntries(in.Conversation), evidenceEntry.size, func(gap string) evidenceEntry { return evidenceEntry{Kind: "left_out", Text: gap} }),
	}
	if in.Answer != nil && in.Answer != (pyvalue.Null{}) {
		text := clipMiddle(string(pyvalue.AppendJSON(nil, in.Answer)), maxPartBytes)
		e.Answer = &text
	} else {
		e.NoAnswer = clipMiddle(in.NoAnswerReason, maxTextBytes)
	}
	if in.Notebook != nil {
		e.Notebook = dropMiddle(evidenceCells(in.Notebook.Cells), evidenceCell.size, func(gap string) evidenceCell { return evidenceCell{Kind: "left_out", Text: gap} })
	}
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return "", fmt.Errorf("write the evidence: %w", err)
	}
	return string(text), nil
}

func evidenceCells(cells []Cell) []evidenceCell {
	out := []evidenceCell{}
	for _, c := range cells {
		kind := "markdown"
		if c.IsCode {
			kind = "code"
		}
		out = append(out, evidenceCell{Kind: kind, Source: clipMiddle(c.Source, maxTextBytes), Status: c.Status, Text: clipMiddle(c.Text, maxTextBytes)})
	}
	return out
}

func (c evidenceCell) size() int { return entryOverheadBytes + len(c.Source) + len(c.Text) }

// dropMiddle keeps items from both ends, up to maxPartBytes in all, with a marker for
// those in between.
func dropMiddle[T any](items []T, size func(T) int, marker func(gap string) T) []T {
	head, used := 0, 0
	for head < len(items) && used+size(items[head]) <= maxPartBytes/2 {
		used += size(items[head])
		head++
	}
	tail := len(items)
	for tail > head && used+size(items[tail-1]) <= maxPartBytes {
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

// clipMiddle shortens a text to limit bytes and a marker: its head and its tail stay,
// and no character is cut.
func clipMiddle(text string, limit int) string {
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

// evidenceEntry is a piece of the conversation.
type evidenceEntry struct {
	Role    string `json:"role,omitempty"` // user or assistant; empty for an entry of another shape
	Kind    string `json:"kind"`           // text, image, tool_call, tool_result, other or left_out
	Tool    string `json:"tool,omitempty"` // of a tool_call
	Text    string `json:"text"`           // of a tool_call the input as JSON text, of left_out how much
	Failed  bool   `json:"failed,omitempty"`
	LeftOut string `json:"left_out,omitempty"` // of a tool_result: that there were images, too
}

func (u evidenceEntry) size() int { return entryOverheadBytes + len(u.Tool) + len(u.Text) }

// conversationEntries makes short entries of those of a conversation. Thinking is left
// out, of images it is only said that there were some.
func conversationEntries(conversation []json.RawMessage) []evidenceEntry {
	out := []evidenceEntry{}
	for _, entry := range conversation {
		out = append(out, messageEntries(entry)...)
	}
	return out
}

func messageEntries(entry json.RawMessage) []evidenceEntry {
	var message model.Message
	err := json.Unmarshal(entry, &message)
	if err != nil || message.Role != model.RoleUser && message.Role != model.RoleAssistant {
		return []evidenceEntry{{Kind: "other", Text: clipMiddle(string(entry), maxTextBytes)}} // such as an agent_result
	}
	var out []evidenceEntry
	for _, block := range message.Content {
		if u, ok := blockEntry(block); ok {
			u.Role = message.Role
			out = append(out, u)
		}
	}
	return out
}

// blockEntry makes an entry of a block, unless it is one that is not shown.
func blockEntry(block model.Block) (evidenceEntry, bool) {
	switch block.Type {
	case model.BlockText:
		return evidenceEntry{Kind: "text", Text: clipMiddle(block.Text, maxTextBytes)}, true
	case model.BlockImage:
		return evidenceEntry{Kind: "image"}, true
	case model.BlockToolUse:
		return evidenceEntry{Kind: "tool_call", Tool: clipMiddle(block.Name, maxToolNameBytes), Text: clipMiddle(string(block.Input), maxTextBytes)}, true
	case model.BlockToolResult:
		u := evidenceEntry{Kind: "tool_result", Text: clipMiddle(model.PlainText(block.Content), maxTextBytes), Failed: block.IsError}
		if slices.ContainsFunc(block.Content, func(part model.Block) bool { return part.Type == model.BlockImage }) {
			u.LeftOut = "images"
		}
		return u, true
	default:
		return evidenceEntry{}, false
	}
}
