package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/rawjson"
)

// A request contains the whole conversation and is encoded for every call. So its parts
// are appended to one buffer, and nothing is copied twice.

// Encode returns the request as the JSON body of POST /v1/messages for the model with
// this id. It ignores the request's Model, and MaxTokens 0 becomes [DefaultMaxTokens].
// It returns an error for a block of an unknown type that was not decoded from JSON,
// and for malformed JSON in a tool's input or schema.
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
		dst, err = appendJSONList(append(dst, `,"system":`...), r.System, Block.appendJSONTo)
	}
	if err == nil {
		dst, err = appendJSONList(append(dst, `,"messages":`...), r.Messages, Message.appendJSONTo)
	}
	if err == nil && len(r.Tools) > 0 {
		dst, err = appendJSONList(append(dst, `,"tools":`...), r.Tools, Tool.appendJSONTo)
	}
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return append(dst, '}'), nil
}

func appendJSONList[T any](dst []byte, items []T, one func(T, []byte) ([]byte, error)) (_ []byte, err error) {
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

func (m Message) appendJSONTo(dst []byte) ([]byte, error) {
	dst = appendJSONString(append(dst, `{"role":`...), m.Role)
	dst, err := appendJSONList(append(dst, `,"content":`...), m.Content, Block.appendJSONTo)
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

func (t Tool) appendJSONTo(dst []byte) (_ []byte, err error) {
	dst = appendJSONString(append(dst, `{"name":`...), t.Name)
	if t.Description != "" {
		dst = appendJSONString(append(dst, `,"description":`...), t.Description)
	}
	if dst, err = appendCompactJSON(append(dst, `,"input_schema":`...), t.InputSchema); err != nil {
		return nil, err
	}
	return endObjectWithCacheMarker(dst, t.Cache), nil
}

// appendJSONTo appends the JSON of the content block to dst. The block's type decides
// which members it has. A block of an unknown type that was not decoded from JSON is an
// error.
func (b Block) appendJSONTo(dst []byte) (_ []byte, err error) {
	start := len(dst)
	dst = appendJSONString(append(dst, `{"type":`...), b.Type)
	switch b.Type {
	case BlockText:
		dst = appendJSONString(append(dst, `,"text":`...), b.Text)
	case BlockImage:
		dst = append(dst, `,"source":`...)
		dst = appendJSONString(append(dst, `{"type":`...), b.Source.Type)
		dst = appendJSONString(append(dst, `,"media_type":`...), b.Source.MediaType)
		dst = append(appendJSONString(append(dst, `,"data":`...), b.Source.Data), '}')
	case BlockToolUse:
		dst = appendJSONString(append(dst, `,"id":`...), b.ID)
		dst = appendJSONString(append(dst, `,"name":`...), b.Name)
		dst, err = appendCompactJSON(append(dst, `,"input":`...), []byte(cmp.Or(string(b.Input), "{}")))
	case BlockToolResult:
		dst = appendJSONString(append(dst, `,"tool_use_id":`...), b.ToolUseID)
		if b.IsError {
			dst = append(dst, `,"is_error":true`...)
		}
		if len(b.Content) > 0 {
			dst, err = appendJSONList(append(dst, `,"content":`...), b.Content, Block.appendJSONTo)
		}
	case BlockThinking:
		dst = appendJSONString(append(dst, `,"thinking":`...), b.Thinking)
		dst = appendJSONString(append(dst, `,"signature":`...), b.Signature)
		return append(dst, '}'), nil
	case BlockRedactedThinking:
		dst = appendJSONString(append(dst, `,"data":`...), b.Data)
		return append(dst, '}'), nil
	default:
		if b.raw == nil {
			return nil, fmt.Errorf("a block of the unknown type %q has no content", b.Type)
		}
		return appendCompactJSON(dst[:start], b.raw)
	}
	if err != nil {
		return nil, err
	}
	return endObjectWithCacheMarker(dst, b.Cache), nil
}

// endObjectWithCacheMarker closes the JSON object at the end of dst. If cache is set,
// it first adds the member cache_control, up to which the API caches the request.
func endObjectWithCacheMarker(dst []byte, cache bool) []byte {
	if cache {
		dst = append(dst, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return append(dst, '}')
}

// appendJSONString appends text as a JSON string to dst. Bytes that are not UTF-8
// become U+FFFD.
func appendJSONString(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // the error only says that the text is not UTF-8
	return dst
}

// appendCompactJSON appends a JSON text to dst without its white space. Malformed JSON
// is an error.
func appendCompactJSON(dst []byte, text json.RawMessage) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if err := json.Compact(out, text); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// MarshalJSON returns the content block as JSON in the form of the Messages API.
func (b Block) MarshalJSON() ([]byte, error) { return b.appendJSONTo(nil) }

// MarshalJSON returns the message as JSON, with its content as a list of blocks.
func (m Message) MarshalJSON() ([]byte, error) { return m.appendJSONTo(nil) }

// MarshalJSON returns the tool as JSON, with its field Cache as the member
// cache_control.
func (t Tool) MarshalJSON() ([]byte, error) { return t.appendJSONTo(nil) }
