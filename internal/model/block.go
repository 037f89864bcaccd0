package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"assay/internal/rawjson"
)

// Roles of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one message of a conversation with a model: a role and content blocks.
type Message struct {
	Role    string
	Content []Block
}

// Types of a [Block].
const (
	BlockText             = "text"
	BlockImage            = "image"
	BlockToolUse          = "tool_use"
	BlockToolResult       = "tool_result"
	BlockThinking         = "thinking"
	BlockRedactedThinking = "redacted_thinking"
)

// Block is one content block of a message. Its Type says which of its fields are used;
// a block of an unknown type keeps its JSON unchanged.
type Block struct {
	Type string

	Text string // text

	ID    string          // tool_use
	Name  string          // tool_use
	Input json.RawMessage // tool_use: an object

	ToolUseID string  // tool_result
	Content   []Block // tool_result: text and images
	IsError   bool    // tool_result

	Source ImageSource // image

	Thinking  string // thinking
	Signature string // thinking
	Data      string // redacted_thinking

	Cache bool // text, image, tool_use, tool_result: the API caches the request up to here

	raw json.RawMessage // JSON of a block of any other type
}

// ImageSource is the content of an image block: base64 data or a reference to it.
type ImageSource struct {
	Type      string `json:"type"` // always base64 in blocks of [Image]
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// Text returns a content block with this text.
func Text(text string) Block { return Block{Type: BlockText, Text: text} }

// Image returns an image block. Data is the content of an image file in base64.
func Image(mediaType, data string) Block {
	return Block{Type: BlockImage, Source: ImageSource{Type: "base64", MediaType: mediaType, Data: data}}
}

// ToolUse returns the content block of a tool call. Input is a JSON object; nil becomes
// {} when the block is encoded.
func ToolUse(id, name string, input json.RawMessage) Block {
	return Block{Type: BlockToolUse, ID: id, Name: name, Input: input}
}

// ToolResult returns the content block that holds the result of the tool call with this
// id.
func ToolResult(id string, isError bool, content ...Block) Block {
	return Block{Type: BlockToolResult, ToolUseID: id, IsError: isError, Content: content}
}

// JoinTextBlocks joins the texts of a message's or a tool result's text blocks with newlines. It skips
// blocks of other types.
func JoinTextBlocks(blocks []Block) string { return strings.Join(textsOf(blocks), "\n") }

// ReplyText returns the text of a model's reply as the model wrote it: a reply may be divided into
// several text blocks anywhere, so nothing is put between them.
func ReplyText(blocks []Block) string { return strings.Join(textsOf(blocks), "") }

// textsOf returns the texts of the text blocks.
func textsOf(blocks []Block) []string {
	var texts []string
	for _, b := range blocks {
		if b.Type == BlockText {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// ToolUses returns the tool calls among the content blocks, in their order.
func ToolUses(blocks []Block) []Block {
	var calls []Block
	for _, b := range blocks {
		if b.Type == BlockToolUse {
			calls = append(calls, b)
		}
	}
	return calls
}

// RepairToolInput returns the input of a tool call as a JSON object that an API
// accepts. "" becomes {}. Text that is not a JSON object, because the reply was cut off
// in the middle of it or the model wrote it so, becomes the value of the single
// property invalid_json, which no tool has. Invalid Unicode is replaced by U+FFFD.
func RepairToolInput(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage(`{}`)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return rawjson.RepairUnicode([]byte(text))
	}
	wrapped, _ := json.Marshal(map[string]string{"invalid_json": text}) //nolint:errchkjson // a string
	return wrapped
}

// EmitBlockDeltas reports one complete content block of a reply to onDelta as if it had
// arrived in one piece: its start, its whole text and its stop. Index is the position
// of the block in the reply. It does nothing if onDelta is nil.
func EmitBlockDeltas(onDelta func(Delta), index int, b Block) {
	if onDelta == nil {
		return
	}
	text := b.Text + b.Thinking
	if b.Type == BlockToolUse {
		text = cmp.Or(string(b.Input), "{}")
	}
	onDelta(Delta{Kind: DeltaStart, Index: index, Type: b.Type, ID: b.ID, Name: b.Name})
	onDelta(Delta{Kind: DeltaText, Index: index, Type: b.Type, Text: text})
	onDelta(Delta{Kind: DeltaStop, Index: index, Type: b.Type, Block: &b})
}

// UnmarshalJSON decodes a content block from JSON. The content of a tool_result may
// also be a string, which becomes one text block. A block without a type is an error.
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
		Source    ImageSource     `json:"source"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		cacheMarker
	}
	err := json.Unmarshal(data, &in)
	switch in.Type {
	case BlockText, BlockImage, BlockToolUse, BlockToolResult, BlockThinking, BlockRedactedThinking:
	case "":
		return cmp.Or(err, errors.New("a block has no type"))
	default: // its fields may have other JSON types than those above
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
	b.Content, err = ParseContent(in.Content)
	return err
}

// UnmarshalJSON decodes a message from JSON. Its content is a list of blocks, or a
// string, which becomes one text block.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	content, err := ParseContent(in.Content)
	*m = Message{Role: in.Role, Content: content}
	return err
}

// ParseContent decodes the JSON content of a message or of a tool result: a list of
// blocks; a string, which becomes one text block; or null, which becomes nil. Anything
// else is an error.
func ParseContent(data json.RawMessage) ([]Block, error) {
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

// cacheMarker is the JSON member cache_control, which a block or a tool may have
// besides its own members. Nil means that the API caches no request up to there.
type cacheMarker struct {
	CacheControl *cacheControlJSON `json:"cache_control,omitempty"`
}

type cacheControlJSON struct {
	Type string `json:"type"` // always ephemeral
}

// toolWithoutMethods is a [Tool] without its methods, so that decoding it does not
// recurse.
type toolWithoutMethods Tool

// UnmarshalJSON decodes a tool from JSON, with the member cache_control as its field
// Cache.
func (t *Tool) UnmarshalJSON(data []byte) error {
	var in struct {
		toolWithoutMethods
		cacheMarker
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*t = Tool(in.toolWithoutMethods)
	t.Cache = in.CacheControl != nil
	return nil
}
