package model

import (
	"cmp"
	"encoding/json"
	"strings"
)

// failedResult begins the text of a tool's result that is an error, for which
// Chat Completions have no field.
const failedResult = "[The tool failed.]\n"

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	Model               string            `json:"model"`
	Messages            []chatMessage     `json:"messages"`
	Tools               []chatTool        `json:"tools,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	Temperature         *float64          `json:"temperature,omitempty"`
	ReasoningEffort     string            `json:"reasoning_effort,omitempty"`
	Stream              bool              `json:"stream"`
	StreamOptions       chatStreamOptions `json:"stream_options"`
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatMessage is a message on the wire. Content is a string, a list of
// [chatPart], or nil for null.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatPart struct {
	Type     string     `json:"type"` // text or image_url
	Text     string     `json:"text,omitempty"`
	ImageURL *chatImage `json:"image_url,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // function
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string       `json:"type"` // function
	Function chatToolSpec `json:"function"`
}

type chatToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chat writes a request of the model id as Chat Completions have it. What is
// not of the vendor knows the length of a reply by its older name only.
func (r Request) chat(id string, vendor bool) ([]byte, error) {
	most := cmp.Or(r.MaxTokens, DefaultMaxTokens)
	out := chatRequest{
		Model: id, Messages: chatMessages(r.System, r.Messages), Temperature: r.Temperature,
		ReasoningEffort: r.ReasoningEffort, Stream: true, StreamOptions: chatStreamOptions{IncludeUsage: true},
	}
	if vendor {
		out.MaxCompletionTokens = most
	} else {
		out.MaxTokens = most
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, chatTool{"function", chatToolSpec{t.Name, t.Description, t.InputSchema}})
	}
	return marshal(out)
}

func chatMessages(system []Block, messages []Message) []chatMessage {
	var out []chatMessage
	if text := joinText(system); text != "" {
		out = append(out, chatMessage{Role: "system", Content: text})
	}
	names := map[string]string{} // of the tools, by call
	for _, m := range messages {
		if m.Role == RoleAssistant {
			out = append(out, chatAssistant(m.Content, names)...)
			continue
		}
		out = append(out, chatUser(m.Content, names)...)
	}
	return out
}

// chatAssistant is what the model said. Its thinking is not sent back.
func chatAssistant(content []Block, names map[string]string) []chatMessage {
	out := chatMessage{Role: RoleAssistant}
	if text := joinText(content); text != "" {
		out.Content = text
	}
	for _, call := range ToolUses(content) {
		names[call.ID] = call.Name
		function := chatFunction{chatName(call.Name), string(mendUnicode(orEmptyObject(call.Input)))}
		out.ToolCalls = append(out.ToolCalls, chatCall{call.ID, "function", function})
	}
	if out.Content == nil && out.ToolCalls == nil {
		return nil
	}
	return []chatMessage{out}
}

// chatName is a name that the API takes back, whatever the model called.
func chatName(name string) string {
	if validName(name, "", maxFunctionName) {
		return name
	}
	taken := strings.Map(func(c rune) rune {
		if !inName(c) {
			return '_'
		}
		return c
	}, name)
	return cmp.Or(taken[:min(len(taken), maxFunctionName)], "_")
}

// chatUser is what the user said: results first, each a message of its own, and
// one message with the rest. Images of results, for which a message of a tool
// has no room, lead that.
func chatUser(content []Block, names map[string]string) []chatMessage {
	var out []chatMessage
	var parts []chatPart
	for _, b := range content {
		if b.Type != BlockToolResult {
			continue
		}
		out = append(out, chatMessage{Role: "tool", ToolCallID: b.ToolUseID, Content: resultContent(b)})
		if images := chatParts(b.Content, BlockImage); len(images) > 0 {
			whose := "What " + names[b.ToolUseID] + " returned (" + b.ToolUseID + "):"
			parts = append(append(parts, chatPart{Type: "text", Text: whose}), images...)
		}
	}
	switch said := chatParts(content, BlockText, BlockImage); {
	case len(said)+len(parts) == 0:
		return out
	case len(parts) == 0 && len(chatParts(content, BlockImage)) == 0:
		return append(out, chatMessage{Role: RoleUser, Content: joinText(content)})
	default:
		return append(out, chatMessage{Role: RoleUser, Content: append(parts, said...)})
	}
}

// resultContent is the text of a result.
func resultContent(result Block) string {
	text := joinText(result.Content)
	switch {
	case text == "" && len(result.Content) > 0:
		text = "(images, which follow)"
	case text == "":
		text = "(nothing)"
	}
	if result.IsError {
		return failedResult + text
	}
	return text
}

// chatParts are the blocks of some types, as far as there is something in them.
func chatParts(content []Block, types ...string) []chatPart {
	var parts []chatPart
	for _, b := range content {
		for _, kind := range types {
			switch {
			case b.Type != kind:
			case kind == BlockText && strings.TrimSpace(b.Text) != "":
				parts = append(parts, chatPart{Type: "text", Text: b.Text})
			case kind == BlockImage:
				parts = append(parts, chatPart{Type: "image_url", ImageURL: &chatImage{dataURL(b.Source)}})
			}
		}
	}
	return parts
}

func dataURL(s Source) string { return "data:" + s.MediaType + ";base64," + s.Data }

// joinText is the text among blocks, with a blank line between two.
func joinText(content []Block) string {
	var texts []string
	for _, part := range chatParts(content, BlockText) {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, "\n\n")
}
