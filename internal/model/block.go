package model

import (
	"encoding/json"
	"strings"
)

// Roles of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a conversation.
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

// Block is a piece of a message. Which fields count depends on Type; a block of
// a type that is not listed above is kept as it came.
type Block struct {
	Type string

	Text string // text

	ID    string          // tool_use
	Name  string          // tool_use
	Input json.RawMessage // tool_use: an object

	ToolUseID string  // tool_result
	Content   []Block // tool_result: text and images
	IsError   bool    // tool_result

	Source Source // image

	Thinking  string // thinking
	Signature string // thinking
	Data      string // redacted_thinking

	Cache bool // text, image, tool_use, tool_result: the API is to cache the request up to here

	raw json.RawMessage // any other type
}

// Source is the content of an image.
type Source struct {
	Type      string `json:"type"` // base64
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// Text returns a block of text.
func Text(text string) Block { return Block{Type: BlockText, Text: text} }

// Image returns an image; data is in base64.
func Image(mediaType, data string) Block {
	return Block{Type: BlockImage, Source: Source{Type: "base64", MediaType: mediaType, Data: data}}
}

// ToolUse returns the call of a tool. Input is the JSON of an object.
func ToolUse(id, name string, input json.RawMessage) Block {
	return Block{Type: BlockToolUse, ID: id, Name: name, Input: input}
}

// ToolResult returns the answer to the call id of a tool.
func ToolResult(id string, isError bool, content ...Block) Block {
	return Block{Type: BlockToolResult, ToolUseID: id, IsError: isError, Content: content}
}

// PlainText joins the blocks of text among blocks with a newline.
func PlainText(blocks []Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// ToolUses returns the calls of tools among blocks.
func ToolUses(blocks []Block) []Block {
	var calls []Block
	for _, b := range blocks {
		if b.Type == BlockToolUse {
			calls = append(calls, b)
		}
	}
	return calls
}
