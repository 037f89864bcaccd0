package openai

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"assay/internal/model"
	"assay/internal/model/rawjson"
)

// FailedResultPrefix begins the text of a tool's result that is an error, for which
// Chat Completions have no field.
const FailedResultPrefix = "[The tool failed.]\n"

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

// encodeRequest writes a request of the model id as Chat Completions have it. What is
// not of the vendor knows the length of a reply by its older name only.
func encodeRequest(r model.Request, id string, vendor bool) ([]byte, error) {
	most := cmp.Or(r.MaxTokens, model.DefaultMaxTokens)
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
	return rawjson.Marshal(out)
}

func chatMessages(system []model.Block, messages []model.Message) []chatMessage {
	var out []chatMessage
	if text := joinText(system); text != "" {
		out = append(out, chatMessage{Role: "system", Content: text})
	}
	names := map[string]string{} // of the tools, by call
	for _, m := range messages {
		if m.Role == model.RoleAssistant {
			out = append(out, chatAssistant(m.Content, names)...)
			continue
		}
		out = append(out, chatUser(m.Content, names)...)
	}
	return out
}

// chatAssistant is what the model said. Its thinking is not sent back.
func chatAssistant(content []model.Block, names map[string]string) []chatMessage {
	out := chatMessage{Role: model.RoleAssistant}
	if text := joinText(content); text != "" {
		out.Content = text
	}
	for _, call := range model.ToolUses(content) {
		names[call.ID] = call.Name
		function := chatFunction{chatName(call.Name), string(rawjson.RepairUnicode([]byte(cmp.Or(string(call.Input), "{}"))))}
		out.ToolCalls = append(out.ToolCalls, chatCall{call.ID, "function", function})
	}
	if out.Content == nil && out.ToolCalls == nil {
		return nil
	}
	return []chatMessage{out}
}

// maxFunctionName is the longest name of a function, in bytes.
const maxFunctionName = 64

// notInName matches the characters that the name of a function must not have.
var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// chatName returns name as the API accepts it: models sometimes call tools by names
// that the API then refuses in the history.
func chatName(name string) string {
	accepted := notInName.ReplaceAllString(name, "_")
	return cmp.Or(accepted[:min(len(accepted), maxFunctionName)], "_")
}

// chatUser is what the user said: results first, each a message of its own, and
// one message with the rest. Images of results, for which a message of a tool
// has no room, lead that.
func chatUser(content []model.Block, names map[string]string) []chatMessage {
	var out []chatMessage
	var parts []chatPart
	for _, b := range content {
		if b.Type != model.BlockToolResult {
			continue
		}
		out = append(out, chatMessage{Role: "tool", ToolCallID: b.ToolUseID, Content: resultContent(b)})
		if images := chatParts(b.Content, model.BlockImage); len(images) > 0 {
			whose := "What " + names[b.ToolUseID] + " returned (" + b.ToolUseID + "):"
			parts = append(append(parts, chatPart{Type: "text", Text: whose}), images...)
		}
	}
	switch said := chatParts(content, model.BlockText, model.BlockImage); {
	case len(said)+len(parts) == 0:
		return out
	case len(parts) == 0 && len(chatParts(content, model.BlockImage)) == 0:
		return append(out, chatMessage{Role: model.RoleUser, Content: joinText(content)})
	default:
		return append(out, chatMessage{Role: model.RoleUser, Content: append(parts, said...)})
	}
}

// resultContent is the text of a result.
func resultContent(result model.Block) string {
	text := joinText(result.Content)
	switch {
	case text == "" && len(result.Content) > 0:
		text = "(images, which follow)"
	case text == "":
		text = "(nothing)"
	}
	if result.IsError {
		return FailedResultPrefix + text
	}
	return text
}

// chatParts are the blocks of some types, as far as there is something in them.
func chatParts(content []model.Block, types ...string) []chatPart {
	var parts []chatPart
	for _, b := range content {
		for _, kind := range types {
			switch {
			case b.Type != kind:
			case kind == model.BlockText && strings.TrimSpace(b.Text) != "":
				parts = append(parts, chatPart{Type: "text", Text: b.Text})
			case kind == model.BlockImage:
				parts = append(parts, chatPart{Type: "image_url", ImageURL: &chatImage{dataURL(b.Source)}})
			}
		}
	}
	return parts
}

func dataURL(s model.Source) string { return "data:" + s.MediaType + ";base64," + s.Data }

// joinText is the text among blocks, with a blank line between two.
func joinText(content []model.Block) string {
	var texts []string
	for _, part := range chatParts(content, model.BlockText) {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, "\n\n")
}
