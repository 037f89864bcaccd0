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
	maxPartBytes     = 48 << 10 // of text in a part of the evidence: task, answer, notebook or conversation
	maxTextBytes     = 8 << 10  // of a text in the notebook or the conversation
	maxToolNameBytes = 200      // of the name of a tool

	// entryOverheadBytes is what an entry of the notebook or the conversation counts
	// in addition to its text.
	entryOverheadBytes = 64
)

// judgeEvidence is what a judge model sees of an attempt, as one JSON document. All text
// that the agent or others wrote is inside its strings.
type judgeEvidence struct {
	Task         string          `json:"task"`
	Answer       *string         `json:"answer"` // JSON as text, null if there is no answer
	NoAnswer     string          `json:"no_answer,omitempty"`
	Notebook     []evidenceCell  `json:"notebook"`
	Conversation []evidenceEntry `json:"conversation"`
}

// evidenceCell is a notebook cell in a judge's evidence, or a marker for cells that are
// left out.
type evidenceCell struct {
	Kind   string `json:"kind"` // code, markdown or left_out
	Source string `json:"source,omitempty"`
	Status string `json:"status,omitempty"`
	Text   string `json:"text,omitempty"` // output; of left_out how many entries
}

// encodeEvidence returns the evidence for a judge model as indented JSON. Each part is
// shortened to maxPartBytes.
func encodeEvidence(in Input) (string, error) {
	e := judgeEvidence{
		Task:         clipMiddleOfText(in.Task, maxPartBytes),
		Conversation: dropMiddleItems(evidenceEntriesOfConversation(in.Conversation), evidenceEntry.size, func(gap string) evidenceEntry { return evidenceEntry{Kind: "left_out", Text: gap} }),
	}
	if in.Answer != nil && in.Answer != (pyvalue.Null{}) {
		text := clipMiddleOfText(string(pyvalue.AppendJSON(nil, in.Answer)), maxPartBytes)
		e.Answer = &text
	} else {
		e.NoAnswer = clipMiddleOfText(in.NoAnswerReason, maxTextBytes)
	}
	if in.Notebook != nil {
		e.Notebook = dropMiddleItems(toEvidenceCells(in.Notebook.Cells), evidenceCell.size, func(gap string) evidenceCell { return evidenceCell{Kind: "left_out", Text: gap} })
	}
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return "", fmt.Errorf("write the evidence: %w", err)
	}
	return string(text), nil
}

// toEvidenceCells converts the cells of a notebook to a judge's evidence, with long texts
// shortened.
func toEvidenceCells(cells []NotebookCell) []evidenceCell {
	out := []evidenceCell{}
	for _, c := range cells {
		kind := "markdown"
		if c.IsCode {
			kind = "code"
		}
		out = append(out, evidenceCell{Kind: kind, Source: clipMiddleOfText(c.Source, maxTextBytes), Status: c.Status, Text: clipMiddleOfText(c.Text, maxTextBytes)})
	}
	return out
}

func (c evidenceCell) size() int { return entryOverheadBytes + len(c.Source) + len(c.Text) }

// dropMiddleItems keeps items from both ends of a list, maxPartBytes in all, and puts a
// marker in place of those between.
func dropMiddleItems[T any](items []T, size func(T) int, marker func(gap string) T) []T {
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

// clipMiddleOfText shortens a text to its beginning and its end, limit bytes in all,
// with a marker between them. It cuts no character.
func clipMiddleOfText(text string, limit int) string {
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

// evidenceEntry is one piece of the conversation in a judge's evidence.
type evidenceEntry struct {
	Role    string `json:"role,omitempty"` // user or assistant; empty for an entry that is no message
	Kind    string `json:"kind"`           // text, image, tool_call, tool_result, other or left_out
	Tool    string `json:"tool,omitempty"` // tool_call only
	Text    string `json:"text"`           // of a tool_call its input as JSON text; of left_out how many entries
	Failed  bool   `json:"failed,omitempty"`
	LeftOut string `json:"left_out,omitempty"` // tool_result only: "images" if it had some
}

func (u evidenceEntry) size() int { return entryOverheadBytes + len(u.Tool) + len(u.Text) }

// evidenceEntriesOfConversation returns the pieces of a conversation for a judge's evidence, with
// long texts shortened. Thinking is left out; an image is only mentioned.
func evidenceEntriesOfConversation(conversation []json.RawMessage) []evidenceEntry {
	out := []evidenceEntry{}
	for _, entry := range conversation {
		out = append(out, evidenceEntriesOfMessage(entry)...)
	}
	return out
}

// evidenceEntriesOfMessage converts one entry of a conversation to pieces of a judge's evidence.
func evidenceEntriesOfMessage(entry json.RawMessage) []evidenceEntry {
	var message model.Message
	err := json.Unmarshal(entry, &message)
	if err != nil || message.Role != model.RoleUser && message.Role != model.RoleAssistant {
		return []evidenceEntry{{Kind: "other", Text: clipMiddleOfText(string(entry), maxTextBytes)}} // for example an agent_result
	}
	var out []evidenceEntry
	for _, block := range message.Content {
		if u, ok := evidenceEntryOfBlock(block); ok {
			u.Role = message.Role
			out = append(out, u)
		}
	}
	return out
}

// evidenceEntryOfBlock converts a content block to a piece of a judge's evidence. It returns
// false for blocks that the judge does not see.
func evidenceEntryOfBlock(block model.Block) (evidenceEntry, bool) {
	switch block.Type {
	case model.BlockText:
		return evidenceEntry{Kind: "text", Text: clipMiddleOfText(block.Text, maxTextBytes)}, true
	case model.BlockImage:
		return evidenceEntry{Kind: "image"}, true
	case model.BlockToolUse:
		return evidenceEntry{Kind: "tool_call", Tool: clipMiddleOfText(block.Name, maxToolNameBytes), Text: clipMiddleOfText(string(block.Input), maxTextBytes)}, true
	case model.BlockToolResult:
		u := evidenceEntry{Kind: "tool_result", Text: clipMiddleOfText(model.JoinTextBlocks(block.Content), maxTextBytes), Failed: block.IsError}
		if slices.ContainsFunc(block.Content, func(part model.Block) bool { return part.Type == model.BlockImage }) {
			u.LeftOut = "images"
		}
		return u, true
	default:
		return evidenceEntry{}, false
	}
}
