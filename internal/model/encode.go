package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/model/rawjson"
)

// A request contains the whole conversation and is encoded for every call. So its parts
// are appended to one buffer, and nothing is copied twice.

// Encode returns the request as the JSON body of POST /v1/messages for the model with
// that id. Model of the request is ignored, and MaxTokens 0 becomes [DefaultMaxTokens].
// A block of an unknown type without content and malformed JSON in a tool input or
// schema are errors.
func (r Request) Encode(id string) ([]byte, error) {
	if r.MaxTokens == 0 {
		r.MaxTokens = DefaultMaxTokens
	}
	dst, err := rawjson.Marshal(struct {
		Model string `json:"model"`
		Params
	}{id, r.Params})
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	dst = dst[:len(dst)-1] // without the closing brace: more fields follow
	if len(r.System) > 0 {
		dst, err = appendList(append(dst, `,"system":`...), r.System, Block.append)
	}
	if err == nil {
		dst, err = appendList(append(dst, `,"messages":`...), r.Messages, Message.append)
	}
	if err == nil && len(r.Tools) > 0 {
		dst, err = appendList(append(dst, `,"tools":`...), r.Tools, Tool.append)
	}
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return append(dst, '}'), nil
}

func appendList[T any](dst []byte, items []T, one func(T, []byte) ([]byte, error)) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = one(item, dst); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (m Message) append(dst []byte) ([]byte, error) {
	dst = appendText(append(dst, `{"role":`...), m.Role)
	dst, err := appendList(append(dst, `,"content":`...), m.Content, Block.append)
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

func (t Tool) append(dst []byte) (_ []byte, err error) {
	dst = appendText(append(dst, `{"name":`...), t.Name)
	if t.Description != "" {
		dst = appendText(append(dst, `,"description":`...), t.Description)
	}
	if dst, err = appendJSON(append(dst, `,"input_schema":`...), t.InputSchema); err != nil {
		return nil, err
	}
	return appendCacheMarker(dst, t.Cache), nil
}

// append appends the JSON of the block. Which fields it has depends on the type. A
// block of an unknown type that was not decoded from JSON is an error.
func (b Block) append(dst []byte) (_ []byte, err error) {
	start := len(dst)
	dst = appendText(append(dst, `{"type":`...), b.Type)
	switch b.Type {
	case BlockText:
		dst = appendText(append(dst, `,"text":`...), b.Text)
	case BlockImage:
		dst = append(dst, `,"source":`...)
		dst = appendText(append(dst, `{"type":`...), b.Source.Type)
		dst = appendText(append(dst, `,"media_type":`...), b.Source.MediaType)
		dst = append(appendText(append(dst, `,"data":`...), b.Source.Data), '}')
	case BlockToolUse:
		dst = appendText(append(dst, `,"id":`...), b.ID)
		dst = appendText(append(dst, `,"name":`...), b.Name)
		dst, err = appendJSON(append(dst, `,"input":`...), []byte(cmp.Or(string(b.Input), "{}")))
	case BlockToolResult:
		dst = appendText(append(dst, `,"tool_use_id":`...), b.ToolUseID)
		if b.IsError {
			dst = append(dst, `,"is_error":true`...)
		}
		if len(b.Content) > 0 {
			dst, err = appendList(append(dst, `,"content":`...), b.Content, Block.append)
		}
	case BlockThinking:
		dst = appendText(append(dst, `,"thinking":`...), b.Thinking)
		dst = appendText(append(dst, `,"signature":`...), b.Signature)
		return append(dst, '}'), nil
	case BlockRedactedThinking:
		dst = appendText(append(dst, `,"data":`...), b.Data)
		return append(dst, '}'), nil
	default:
		if b.raw == nil {
			return nil, fmt.Errorf("a block of the unknown type %q has no content", b.Type)
		}
		return appendJSON(dst[:start], b.raw)
	}
	if err != nil {
		return nil, err
	}
	return appendCacheMarker(dst, b.Cache), nil
}

// appendCacheMarker closes the JSON object at the end of dst; with cache it adds the
// marker up to which the API caches the request.
func appendCacheMarker(dst []byte, cache bool) []byte {
	if cache {
		dst = append(dst, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return append(dst, '}')
}

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // the error only says that the text is not UTF-8
	return dst
}

// appendJSON appends a JSON text without its white space. Malformed JSON is an error.
func appendJSON(dst []byte, text json.RawMessage) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if err := json.Compact(out, text); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// MarshalJSON returns the block as the Messages API expects it.
func (b Block) MarshalJSON() ([]byte, error) { return b.append(nil) }

// MarshalJSON returns the message with its content as a list of blocks.
func (m Message) MarshalJSON() ([]byte, error) { return m.append(nil) }

// MarshalJSON returns the tool with Cache as the field cache_control.
func (t Tool) MarshalJSON() ([]byte, error) { return t.append(nil) }
