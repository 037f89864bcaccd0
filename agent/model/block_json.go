package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// MarshalJSON writes the shape that the Messages API has for the type.
func (b Block) MarshalJSON() ([]byte, error) {
	switch b.Type {
	case BlockText:
		return marshal(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{b.Type, b.Text})
	case BlockImage:
		return marshal(struct {
			Type   string `json:"type"`
			Source Source `json:"source"`
		}{b.Type, b.Source})
	case BlockToolUse:
		return marshal(struct {
			Type  string          `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}{b.Type, b.ID, b.Name, orEmptyObject(b.Input)})
	case BlockToolResult:
		return marshal(struct {
			Type      string  `json:"type"`
			ToolUseID string  `json:"tool_use_id"`
			IsError   bool    `json:"is_error,omitempty"`
			Content   []Block `json:"content,omitempty"`
		}{b.Type, b.ToolUseID, b.IsError, b.Content})
	case BlockThinking:
		return marshal(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{b.Type, b.Thinking, b.Signature})
	case BlockRedactedThinking:
		return marshal(struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{b.Type, b.Data})
	default:
		if b.raw == nil {
			return nil, fmt.Errorf("a block of the unknown type %q has no content", b.Type)
		}
		return b.raw, nil
	}
}

func orEmptyObject(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage(`{}`)
	}
	return input
}

// UnmarshalJSON reads a block. The content of a tool_result may be a string,
// which then counts as one text.
func (b *Block) UnmarshalJSON(data []byte) error {
	var in struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
		Source    Source          `json:"source"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
	}
	err := json.Unmarshal(data, &in)
	switch in.Type {
	case BlockText, BlockImage, BlockToolUse, BlockToolResult, BlockThinking, BlockRedactedThinking:
	case "":
		return cmp.Or(err, errors.New("a block has no type"))
	default: // whose fields may be of other types than ours
		*b = Block{Type: in.Type, raw: bytes.Clone(data)}
		return nil
	}
	if err != nil {
		return err
	}
	*b = Block{
		Type: in.Type, Text: in.Text, ID: in.ID, Name: in.Name, Input: in.Input, ToolUseID: in.ToolUseID,
		IsError: in.IsError, Source: in.Source, Thinking: in.Thinking, Signature: in.Signature, Data: in.Data,
	}
	if in.Type != BlockToolResult {
		return nil
	}
	b.Content, err = blocks(in.Content)
	return err
}

// MarshalJSON writes the content as a list of blocks.
func (m Message) MarshalJSON() ([]byte, error) {
	content := m.Content
	if content == nil {
		content = []Block{}
	}
	return marshal(struct {
		Role    string  `json:"role"`
		Content []Block `json:"content"`
	}{m.Role, content})
}

// UnmarshalJSON reads a message whose content is a list of blocks or a string,
// which then counts as one text.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	content, err := blocks(in.Content)
	*m = Message{Role: in.Role, Content: content}
	return err
}

// blocks reads what may be a string or a list of blocks.
func blocks(data json.RawMessage) ([]Block, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, err
		}
		return []Block{Text(text)}, nil
	}
	var list []Block
	err := json.Unmarshal(data, &list)
	return list, err
}

// marshal is json.Marshal without the escapes that only a web page needs.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
