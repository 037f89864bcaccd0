package model

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// incomingMessage is a message of a conversation as a client sends it.
type incomingMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  *[]chatCall     `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

// chatConversation turns messages into those that scripts know. The calls that
// are still without an answer are open.
type chatConversation struct {
	messages []Message
	open     []string
}

func readChatMessages(list []incomingMessage) ([]Message, error) {
	if len(list) == 0 {
		return nil, errors.New("messages: at least one is required")
	}
	var c chatConversation
	for i, m := range list {
		if err := c.add(m); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return c.messages, c.closed()
}

func (c *chatConversation) add(m incomingMessage) error {
	if m.Role == "tool" {
		return c.result(m)
	}
	if err := c.closed(); err != nil {
		return err
	}
	content, err := readChatContent(m.Content)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		return onlyText(content)
	case RoleUser:
		if content == nil {
			return errors.New("content: required")
		}
		c.say(RoleUser, content)
		return nil
	case RoleAssistant:
		return c.reply(m, content)
	default:
		return fmt.Errorf("role: %q is not one of system, developer, user, assistant, tool", m.Role)
	}
}

func (c *chatConversation) say(role string, content []Block) {
	c.messages = append(c.messages, Message{Role: role, Content: content})
}

// reply takes what the model has said.
func (c *chatConversation) reply(m incomingMessage, content []Block) error {
	if err := onlyText(content); err != nil {
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
			case call.ID == "" || slices.Contains(c.open, call.ID):
				return fmt.Errorf("tool_calls[%d].id: must not be empty, and no other call's", i)
			case call.Type != "function":
				return fmt.Errorf("tool_calls[%d].type: must be function", i)
			case !isChatName(call.Function.Name):
				return fmt.Errorf("tool_calls[%d].function.name: %q is not a valid name", i, call.Function.Name)
			}
			c.open = append(c.open, call.ID)
			content = append(content, ToolUse(call.ID, call.Function.Name, wrapInput(call.Function.Arguments)))
		}
	}
	c.say(RoleAssistant, content)
	return nil
}

// result takes the answer to a call.
func (c *chatConversation) result(m incomingMessage) error {
	at := slices.Index(c.open, m.ToolCallID)
	if at < 0 {
		return fmt.Errorf("tool_call_id: %q is not the id of a call in the message before that has no answer yet", m.ToolCallID)
	}
	content, err := readChatContent(m.Content)
	if err != nil {
		return err
	}
	if content == nil {
		return errors.New("content: required")
	}
	c.open = slices.Delete(c.open, at, at+1)
	text, failed := strings.CutPrefix(PlainText(content), failedResult)
	c.say(RoleUser, []Block{ToolResult(m.ToolCallID, failed, Text(text))})
	return onlyText(content)
}

// closed says which calls have not been answered.
func (c *chatConversation) closed() error {
	if len(c.open) == 0 {
		return nil
	}
	return fmt.Errorf("tool_calls must be followed by messages of tools that answer each of them: missing %s", strings.Join(c.open, ", "))
}

// readChatContent reads what may be null, a text or a list of parts. It is nil
// for null only.
func readChatContent(content json.RawMessage) ([]Block, error) {
	content = bytes.TrimSpace(content)
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []Block{Text(text)}, nil
	}
	var parts []chatPart
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("content: must be a string or a list of parts: %w", err)
	}
	if len(parts) == 0 {
		return nil, errors.New("content: must not be empty")
	}
	var out []Block
	for i, p := range parts {
		block, err := readChatPart(p)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		out = append(out, block)
	}
	return out, nil
}

func readChatPart(p chatPart) (Block, error) {
	switch {
	case p.Type == "text":
		return Text(p.Text), nil
	case p.Type != "image_url":
		return Block{}, fmt.Errorf("type: %q is not one of text and image_url", p.Type)
	case p.ImageURL == nil || p.ImageURL.URL == "":
		return Block{}, errors.New("image_url.url: required")
	}
	data, ok := strings.CutPrefix(p.ImageURL.URL, "data:")
	if !ok {
		return Text(p.ImageURL.URL), nil // is not fetched
	}
	kind, data, _ := strings.Cut(data, ";base64,")
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" || !strings.HasPrefix(kind, "image/") {
		return Block{}, errors.New("image_url.url: must be an image in base64")
	}
	return Image(kind, data), nil
}

// onlyText refuses images where only the user may show them.
func onlyText(content []Block) error {
	if slices.ContainsFunc(content, func(b Block) bool { return b.Type == BlockImage }) {
		return errors.New("content: only the user may send images")
	}
	return nil
}
