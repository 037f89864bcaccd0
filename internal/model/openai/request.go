package openai

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"assay/internal/model"
	"assay/internal/model/rawjson"
)

// FailedResultPrefix is put before the text of a tool result that is an error, since
// Chat Completions have no field for that.
const FailedResultPrefix = "[The tool failed.]\n"

// requestBody is the body of POST /v1/chat/completions.
type requestBody struct {
	Model               string        `json:"model"`
	Messages            []message     `json:"messages"`
	Tools               []toolSpec    `json:"tools,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Temperature         *float64      `json:"temperature,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is the JSON of a message. Content is a string, a list of [contentPart], or
// nil for null.
type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type contentPart struct {
	Type     string    `json:"type"` // text or image_url
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // function
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type toolSpec struct {
	Type     string       `json:"type"` // function
	Function functionSpec `json:"function"`
}

type functionSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// encodeRequest returns the body of a request for the model with that id. Compatible
// servers know the limit for the reply only by its older name, max_tokens.
func encodeRequest(r model.Request, id string, vendor bool) ([]byte, error) {
	most := cmp.Or(r.MaxTokens, model.DefaultMaxTokens)
	out := requestBody{
		Model: id, Messages: encodeMessages(r.System, r.Messages), Temperature: r.Temperature,
		ReasoningEffort: r.ReasoningEffort, Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
	}
	if vendor {
		out.MaxCompletionTokens = most
	} else {
		out.MaxTokens = most
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, toolSpec{"function", functionSpec{t.Name, t.Description, t.InputSchema}})
	}
	return rawjson.Marshal(out)
}

func encodeMessages(system []model.Block, messages []model.Message) []message {
	var out []message
	if text := joinTextBlocks(system); text != "" {
		out = append(out, message{Role: "system", Content: text})
	}
	names := map[string]string{} // names of the called tools, by id of the call
	for _, m := range messages {
		if m.Role == model.RoleAssistant {
			out = append(out, encodeAssistantMessages(m.Content, names)...)
			continue
		}
		out = append(out, encodeUserMessages(m.Content, names)...)
	}
	return out
}

// encodeAssistantMessages converts a message of the model; it returns none if nothing is
// left. Thinking is left out. The names of called tools are added to names.
func encodeAssistantMessages(content []model.Block, names map[string]string) []message {
	out := message{Role: model.RoleAssistant}
	if text := joinTextBlocks(content); text != "" {
		out.Content = text
	}
	for _, call := range model.ToolUses(content) {
		names[call.ID] = call.Name
		function := functionCall{toFunctionName(call.Name), string(rawjson.RepairUnicode([]byte(cmp.Or(string(call.Input), "{}"))))}
		out.ToolCalls = append(out.ToolCalls, toolCall{call.ID, "function", function})
	}
	if out.Content == nil && out.ToolCalls == nil {
		return nil
	}
	return []message{out}
}

// maxFunctionNameBytes is the length limit of the API for the name of a function.
const maxFunctionNameBytes = 64

// invalidNameCharacter matches a character that the name of a function must not contain.
var invalidNameCharacter = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toFunctionName returns name with characters that the API refuses replaced, and cut to
// the API's limit. Models sometimes call tools by names that the API then refuses in
// the history.
func toFunctionName(name string) string {
	accepted := invalidNameCharacter.ReplaceAllString(name, "_")
	return cmp.Or(accepted[:min(len(accepted), maxFunctionNameBytes)], "_")
}

// encodeUserMessages converts a message of the user: first each tool result as a message,
// then one message with the rest. Images of results, which a message of a tool cannot
// contain, come first in the rest. Names has the names of the called tools by id.
func encodeUserMessages(content []model.Block, names map[string]string) []message {
	var out []message
	var parts []contentPart
	for _, b := range content {
		if b.Type != model.BlockToolResult {
			continue
		}
		out = append(out, message{Role: "tool", ToolCallID: b.ToolUseID, Content: toolResultText(b)})
		if images := encodeContentParts(b.Content, model.BlockImage); len(images) > 0 {
			whose := "What " + names[b.ToolUseID] + " returned (" + b.ToolUseID + "):"
			parts = append(append(parts, contentPart{Type: "text", Text: whose}), images...)
		}
	}
	switch said := encodeContentParts(content, model.BlockText, model.BlockImage); {
	case len(said)+len(parts) == 0:
		return out
	case len(parts) == 0 && len(encodeContentParts(content, model.BlockImage)) == 0:
		return append(out, message{Role: model.RoleUser, Content: joinTextBlocks(content)})
	default:
		return append(out, message{Role: model.RoleUser, Content: append(parts, said...)})
	}
}

// toolResultText returns the text of a tool result, or a note that it is empty or has
// images only.
func toolResultText(result model.Block) string {
	text := joinTextBlocks(result.Content)
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

// encodeContentParts returns the blocks of the given types as parts. Blank texts are left
// out.
func encodeContentParts(content []model.Block, types ...string) []contentPart {
	var parts []contentPart
	for _, b := range content {
		for _, kind := range types {
			switch {
			case b.Type != kind:
			case kind == model.BlockText && strings.TrimSpace(b.Text) != "":
				parts = append(parts, contentPart{Type: "text", Text: b.Text})
			case kind == model.BlockImage:
				parts = append(parts, contentPart{Type: "image_url", ImageURL: &imageURL{imageDataURL(b.Source)}})
			}
		}
	}
	return parts
}

func imageDataURL(s model.ImageSource) string { return "data:" + s.MediaType + ";base64," + s.Data }

// joinTextBlocks joins the texts of the text blocks with blank lines.
func joinTextBlocks(content []model.Block) string {
	var texts []string
	for _, part := range encodeContentParts(content, model.BlockText) {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, "\n\n")
}
