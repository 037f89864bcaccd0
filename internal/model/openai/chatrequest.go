package openai

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"assay/internal/model"
	"assay/internal/model/wire"
	"assay/internal/rawjson"
)

// chatRequestBody is the body of POST /v1/chat/completions.
type chatRequestBody struct {
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

// message is the JSON of a chat message. Content is a string, a list of [contentPart],
// or nil for null.
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

// encodeChatRequest returns the JSON body of a Chat Completions request for the model with
// this id. isOpenAI is true for OpenAI's own API; other servers know the limit for the
// reply only by its older name, max_tokens.
func encodeChatRequest(r model.Request, id string, isOpenAI bool) ([]byte, error) {
	most := cmp.Or(r.MaxTokens, model.DefaultMaxTokens)
	out := chatRequestBody{
		Model: id, Messages: encodeMessages(r.System, r.Messages), Temperature: r.Temperature,
		ReasoningEffort: r.ReasoningEffort, Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
	}
	if isOpenAI {
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

// encodeAssistantMessages converts a message of the assistant, without its thinking. It
// returns no message if nothing is left. It adds the names of the called tools to
// names, by the id of the call.
func encodeAssistantMessages(content []model.Block, names map[string]string) []message {
	out := message{Role: model.RoleAssistant}
	if text := joinTextBlocks(content); text != "" {
		out.Content = text
	}
	for _, call := range model.ToolUses(content) {
		names[call.ID] = call.Name
		function := functionCall{toFunctionName(call.Name), functionArguments(call)}
		out.ToolCalls = append(out.ToolCalls, toolCall{call.ID, "function", function})
	}
	if out.Content == nil && out.ToolCalls == nil {
		return nil
	}
	return []message{out}
}

// functionArguments returns the input of a tool call as JSON in valid Unicode.
func functionArguments(call model.Block) string {
	return string(rawjson.RepairUnicode([]byte(cmp.Or(string(call.Input), "{}"))))
}

// maxFunctionNameBytes is the longest function name, in bytes, that OpenAI
// accepts.
const maxFunctionNameBytes = 64

// invalidNameCharacter matches a character that the name of a function must not contain.
var invalidNameCharacter = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toFunctionName returns a tool's name with each character that the API rejects
// replaced by "_", cut to 64 bytes. Models sometimes call tools by names that the API
// then rejects in the history.
func toFunctionName(name string) string {
	accepted := invalidNameCharacter.ReplaceAllString(name, "_")
	return cmp.Or(accepted[:min(len(accepted), maxFunctionNameBytes)], "_")
}

// encodeUserMessages converts a message of the user: first each tool result as a
// message of role tool, then one message with the rest. Images of results, which a
// message of role tool cannot contain, come first in the rest. names holds the names of
// the called tools by the id of the call.
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

// toolResultText returns the text of a tool result, or a note in parentheses that it is
// empty or has only images. [wire.FailedResultPrefix] begins the text of a failed one.
func toolResultText(result model.Block) string {
	text := joinTextBlocks(result.Content)
	switch {
	case text == "" && len(result.Content) > 0:
		text = "(images, which follow)"
	case text == "":
		text = "(nothing)"
	}
	if result.IsError {
		return wire.FailedResultPrefix + text
	}
	return text
}

// encodeContentParts converts the content blocks of the given types to parts of a chat
// message. It leaves out blank texts.
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

// joinTextBlocks joins the texts of the text blocks with an empty line between them. It
// leaves out blank texts.
func joinTextBlocks(content []model.Block) string {
	var texts []string
	for _, part := range encodeContentParts(content, model.BlockText) {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, "\n\n")
}
