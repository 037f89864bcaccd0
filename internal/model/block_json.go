package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
)

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
		marked
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
		Cache: in.CacheControl != nil,
	}
	if in.Type != BlockToolResult {
		return nil
	}
	b.Content, err = blocks(in.Content)
	return err
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
