package mockapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/model/openai"
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
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatToolBody struct {
	Type     string `json:"type"`
	Function *struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type chatMessageBody struct {
	Role       string                `json:"role"`
	Content    json.RawMessage       `json:"content"`
	ToolCalls  *[]completionToolCall `json:"tool_calls"`
	ToolCallID string                `json:"tool_call_id"`
}

type chatPartBody struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// parseChatRequest parses the body of a chat completion request and returns it together
// with its conversation as messages of the Messages API, which scripts use. It returns
// an error if the real API would reject the request.
func parseChatRequest(body []byte) (*chatRequestBody, []model.Message, error) {
	var in chatRequestBody
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	if err := errors.Join(in.checkSettings(), in.checkTools()); err != nil {
		return nil, nil, err
	}
	messages, err := convertChatMessages(in.Messages)
	return &in, messages, err
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

// chatConversationConverter converts messages of Chat Completions, one at a time, to messages of
// the Messages API.
type chatConversationConverter struct {
	messages  []model.Message
	openCalls []string // ids of the calls that have no result yet
}

// convertChatMessages converts a conversation of Chat Completions to messages of the
// Messages API. It returns an error, with the message's index, if the real API would
// reject the conversation.
func convertChatMessages(list []chatMessageBody) ([]model.Message, error) {
	if len(list) == 0 {
		return nil, errors.New("messages: at least one is required")
	}
	var c chatConversationConverter
	for i, m := range list {
		if err := c.addChatMessage(m); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return c.messages, c.checkCallsAnswered()
}

func (c *chatConversationConverter) addChatMessage(m chatMessageBody) error {
	if m.Role == "tool" {
		return c.addToolResult(m)
	}
	if err := c.checkCallsAnswered(); err != nil {
		return err
	}
	content, err := parseChatContent(m.Content)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		return checkNoImages(content)
	case model.RoleUser:
		if content == nil {
			return errors.New("content: required")
		}
		c.addMessage(model.RoleUser, content)
		return nil
	case model.RoleAssistant:
		return c.addAssistantMessage(m, content)
	default:
		return fmt.Errorf("role: %q is not one of system, developer, user, assistant, tool", m.Role)
	}
}

func (c *chatConversationConverter) addMessage(role string, content []model.Block) {
	c.messages = append(c.messages, model.Message{Role: role, Content: content})
}

// addAssistantMessage appends a message of the assistant, with its tool calls, and
// notes the calls' ids as unanswered. A message that the real API would reject is an
// error.
func (c *chatConversationConverter) addAssistantMessage(m chatMessageBody, content []model.Block) error {
	if err := checkNoImages(content); err != nil {
		return err
	}
	if m.ToolCalls == nil && content == nil {
		return errors.New("content: required without tool_calls")
	}
	if m.ToolCalls != nil && len(*m.ToolCalls) == 0 {
		return errors.New("tool_calls: must not be empty")
	}
	if m.ToolCalls != nil {
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
			content = append(content, model.ToolUse(call.ID, call.Function.Name, model.RepairToolInput(call.Function.Arguments)))
		}
	}
	c.addMessage(model.RoleAssistant, content)
	return nil
}

// addToolResult appends a message of role tool as the result of an earlier tool call.
// It returns an error if no unanswered call has that id.
func (c *chatConversationConverter) addToolResult(m chatMessageBody) error {
	at := slices.Index(c.openCalls, m.ToolCallID)
	if at < 0 {
		return fmt.Errorf("tool_call_id: %q is not the id of a call in the message before that has no answer yet", m.ToolCallID)
	}
	content, err := parseChatContent(m.Content)
	if err != nil {
		return err
	}
	if content == nil {
		return errors.New("content: required")
	}
	c.openCalls = slices.Delete(c.openCalls, at, at+1)
	text, failed := strings.CutPrefix(model.JoinTextBlocks(content), openai.FailedResultPrefix)
	c.addMessage(model.RoleUser, []model.Block{model.ToolResult(m.ToolCallID, failed, model.Text(text))})
	return checkNoImages(content)
}

// checkCallsAnswered returns an error that lists the ids of the tool calls without a
// result, or nil if all have one.
func (c *chatConversationConverter) checkCallsAnswered() error {
	if len(c.openCalls) == 0 {
		return nil
	}
	return fmt.Errorf("tool_calls must be followed by messages of tools that answer each of them: missing %s", strings.Join(c.openCalls, ", "))
}

// parseChatContent parses message content that is null, a string or a list of parts.
// The result is nil only for null. Anything else, and an empty list, is an error.
func parseChatContent(content json.RawMessage) ([]model.Block, error) {
	content = bytes.TrimSpace(content)
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []model.Block{model.Text(text)}, nil
	}
	var parts []chatPartBody
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("content: must be a string or a list of parts: %w", err)
	}
	if len(parts) == 0 {
		return nil, errors.New("content: must not be empty")
	}
	var out []model.Block
	for i, p := range parts {
		block, err := convertChatPart(p)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		out = append(out, block)
	}
	return out, nil
}

// convertChatPart converts a part of a chat message to a content block. An image whose
// URL is not a data URL becomes a text block with the URL, since nothing is fetched. A
// part of another type is an error.
func convertChatPart(p chatPartBody) (model.Block, error) {
	switch {
	case p.Type == "text":
		return model.Text(p.Text), nil
	case p.Type != "image_url":
		return model.Block{}, fmt.Errorf("type: %q is not one of text and image_url", p.Type)
	case p.ImageURL == nil || p.ImageURL.URL == "":
		return model.Block{}, errors.New("image_url.url: required")
	}
	data, ok := strings.CutPrefix(p.ImageURL.URL, "data:")
	if !ok {
		return model.Text(p.ImageURL.URL), nil
	}
	mediaType, data, _ := strings.Cut(data, ";base64,")
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" || !strings.HasPrefix(mediaType, "image/") {
		return model.Block{}, errors.New("image_url.url: must be an image in base64")
	}
	return model.Image(mediaType, data), nil
}

// checkNoImages returns an error if the content has an image. The Chat Completions API
// accepts images only in messages of the user.
func checkNoImages(content []model.Block) error {
	if slices.ContainsFunc(content, func(b model.Block) bool { return b.Type == model.BlockImage }) {
		return errors.New("content: only the user may send images")
	}
	return nil
}
