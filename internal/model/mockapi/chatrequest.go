package mockapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/model/wire"
)

// chatRequestBody is the JSON body of POST /v1/chat/completions.
type chatRequestBody struct {
	Model               string            `json:"model"`
	Messages            []chatMessageBody `json:"messages"`
	Tools               []chatToolBody    `json:"tools"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Temperature         *float64          `json:"temperature"`
	ReasoningEffort     *string           `json:"reasoning_effort"`
	Stream              bool              `json:"stream"`
	StreamOptions       *struct{}         `json:"stream_options"`
}

type chatToolBody struct {
	Type     string `json:"type"`
	Function *struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type chatMessageBody struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls *[]struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

type chatPartBody struct {
	Type     string `json:"type"`
	Text     string `json:"text"` // only for its type
	ImageURL *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// parseChatRequest returns the conversation of a chat completion request. It returns an
// error if the real API would reject the request.
func parseChatRequest(body []byte) ([]model.Message, error) {
	var in chatRequestBody
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	if err := errors.Join(in.checkSettings(), in.checkTools()); err != nil {
		return nil, err
	}
	if err := checkChatMessages(in.Messages); err != nil {
		return nil, err
	}
	return wire.DecodeMessages(wire.Chat, body)
}

func (in *chatRequestBody) checkSettings() error {
	tooFew := func(n *int) bool { return n != nil && *n < 1 }
	switch {
	case in.Model == "":
		return errors.New("you must provide a model parameter")
	case tooFew(in.MaxTokens) || tooFew(in.MaxCompletionTokens):
		return errors.New("max_tokens: must be at least 1")
	case in.MaxTokens != nil && in.MaxCompletionTokens != nil:
		return errors.New("max_tokens and max_completion_tokens: only one may be set")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 2):
		return errors.New("temperature: must be from 0 to 2")
	case in.ReasoningEffort != nil && new(model.Params).Set("reasoning_effort", *in.ReasoningEffort) != nil:
		return fmt.Errorf("reasoning_effort: %q is not known", *in.ReasoningEffort)
	case in.StreamOptions != nil && !in.Stream:
		return errors.New("stream_options: only allowed when stream is true")
	}
	return nil
}

func (in *chatRequestBody) checkTools() error {
	var seen []string
	for i, tool := range in.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch f := tool.Function; {
		case tool.Type != "function" || f == nil:
			return fmt.Errorf("tools[%d].type: must be function", i)
		case !isValidFunctionName(f.Name):
			return fmt.Errorf("tools[%d].function.name: %q is not a valid name", i, f.Name)
		case slices.Contains(seen, f.Name):
			return fmt.Errorf("tools: the name %q occurs more than once", f.Name)
		case len(f.Parameters) > 0 && (json.Unmarshal(f.Parameters, &schema) != nil || schema.Type != "object"):
			return fmt.Errorf("tools[%d].function.parameters.type: must be object", i)
		default:
			seen = append(seen, f.Name)
		}
	}
	return nil
}

// isValidFunctionName reports whether the Chat Completions API accepts name as the name
// of a function.
func isValidFunctionName(name string) bool {
	const maxBytes = 64
	return isValidName(name, "", maxBytes)
}

// chatChecker checks the messages of a chat, one at a time.
type chatChecker struct {
	openCalls []string // ids of the calls that have no result yet
}

// checkChatMessages returns an error, with the message's index, if the real API would
// reject the conversation.
func checkChatMessages(list []chatMessageBody) error {
	if len(list) == 0 {
		return errors.New("messages: at least one is required")
	}
	var c chatChecker
	for i, m := range list {
		if err := c.checkMessage(m); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return c.checkCallsAnswered()
}

func (c *chatChecker) checkMessage(m chatMessageBody) error {
	if m.Role == "tool" {
		return c.checkToolResult(m)
	}
	if err := c.checkCallsAnswered(); err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		return checkChatText(m.Content)
	case model.RoleUser:
		if isNull(m.Content) {
			return errors.New("content: required")
		}
		return checkChatContent(m.Content, "text", "image_url")
	case model.RoleAssistant:
		return c.checkAssistantMessage(m)
	default:
		return fmt.Errorf("role: %q is not one of system, developer, user, assistant, tool", m.Role)
	}
}

// checkAssistantMessage checks a message of the assistant, with its tool calls, and notes
// the calls' ids as unanswered.
func (c *chatChecker) checkAssistantMessage(m chatMessageBody) error {
	switch err := checkChatText(m.Content); {
	case err != nil:
		return err
	case m.ToolCalls == nil && isNull(m.Content):
		return errors.New("content: required without tool_calls")
	case m.ToolCalls == nil:
		return nil
	case len(*m.ToolCalls) == 0:
		return errors.New("tool_calls: must not be empty")
	}
	for i, call := range *m.ToolCalls {
		switch {
		case call.ID == "" || slices.Contains(c.openCalls, call.ID):
			return fmt.Errorf("tool_calls[%d].id: must not be empty, and no other call's", i)
		case call.Type != "function":
			return fmt.Errorf("tool_calls[%d].type: must be function", i)
		case !isValidFunctionName(call.Function.Name):
			return fmt.Errorf("tool_calls[%d].function.name: %q is not a valid name", i, call.Function.Name)
		}
		c.openCalls = append(c.openCalls, call.ID)
	}
	return nil
}

// checkToolResult checks a message of role tool, the result of an earlier tool call. It
// returns an error if no unanswered call has that id.
func (c *chatChecker) checkToolResult(m chatMessageBody) error {
	at := slices.Index(c.openCalls, m.ToolCallID)
	if at < 0 {
		return fmt.Errorf("tool_call_id: %q is not the id of a call in the message before that has no answer yet", m.ToolCallID)
	}
	if isNull(m.Content) {
		return errors.New("content: required")
	}
	c.openCalls = slices.Delete(c.openCalls, at, at+1)
	return checkChatText(m.Content)
}

// checkCallsAnswered returns an error that lists the ids of the tool calls without a
// result, or nil if all have one.
func (c *chatChecker) checkCallsAnswered() error {
	if len(c.openCalls) == 0 {
		return nil
	}
	return fmt.Errorf("tool_calls must be followed by messages of tools that answer each of them: missing %s", strings.Join(c.openCalls, ", "))
}

// isNull reports whether a member is absent or null.
func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// checkChatText checks content of a message that is not the user's, which has no images.
func checkChatText(content json.RawMessage) error {
	err := checkChatContent(content, "text", "image_url")
	if err == nil && checkChatContent(content, "text") != nil {
		return errors.New("content: only the user may send images")
	}
	return err
}

// checkChatContent returns an error unless content is null, a string or a list of parts of
// these types that is not empty.
func checkChatContent(content json.RawMessage, types ...string) error {
	parts, err := parseContentParts[chatPartBody](content)
	if err != nil {
		return fmt.Errorf("content: %w", err)
	}
	for i, p := range parts {
		if !slices.Contains(types, p.Type) {
			return fmt.Errorf("content[%d]: type: %q is not one of %s", i, p.Type, strings.Join(types, " and "))
		}
		if p.Type != "image_url" {
			continue
		}
		if p.ImageURL == nil || p.ImageURL.URL == "" {
			return fmt.Errorf("content[%d]: image_url.url: required", i)
		}
		if err := checkImageURL(p.ImageURL.URL); err != nil {
			return fmt.Errorf("content[%d]: image_url.url: %w", i, err)
		}
	}
	return nil
}

// parseContentParts returns the parts of content, or none if it is null or a string.
// Anything else, and an empty list, is an error.
func parseContentParts[Part any](content json.RawMessage) ([]Part, error) {
	var text string
	if isNull(content) || json.Unmarshal(content, &text) == nil {
		return nil, nil
	}
	var parts []Part
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("must be a string or a list of parts: %w", err)
	}
	if len(parts) == 0 {
		return nil, errors.New("must not be empty")
	}
	return parts, nil
}

// checkImageURL returns an error for a data URL that is not an image in base64. Other URLs
// are accepted unseen.
func checkImageURL(url string) error {
	data, isData := strings.CutPrefix(url, "data:")
	if !isData {
		return nil
	}
	mediaType, data, _ := strings.Cut(data, ";base64,")
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" || !strings.HasPrefix(mediaType, "image/") {
		return errors.New("must be an image in base64")
	}
	return nil
}
