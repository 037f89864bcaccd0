package grading

import (
	"encoding/json"
	"slices"

	"assay/internal/model"
)

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
