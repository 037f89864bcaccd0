// Package model defines what a client of a language model is, [Client], and the plain
// values that go in and out. Their JSON is that of Anthropic's Messages API, so that a
// conversation can be stored, compared and sent again byte for byte. It also says which
// errors may be retried ([IsTransient]) and what a call costs ([FindCard]).
//
// The clients are in the packages below it: anthropic and openai call the vendors' APIs
// with what endpoint has in common for both, script plays fixed replies, replay records
// calls and plays recordings. Package open returns the client for a model's name.
// Package mockapi is the other side: a server that plays scripts with the wire formats
// of both vendors.
package model

import (
	"context"
	"encoding/json"
)

// DefaultMaxTokens is the longest reply, in tokens, that is asked for unless
// [Params.MaxTokens] says otherwise.
const DefaultMaxTokens = 16000

// Client is one model. It is safe for concurrent use.
type Client interface {
	// Complete sends a conversation and waits for the whole reply. While the
	// reply arrives onDelta, which may be nil, is called with its pieces, in
	// order and from the calling goroutine. Request.Model is filled in by the
	// client, and so is MaxTokens when it is 0.
	//
	// Nothing is ever retried; [IsTransient] says what may be. The error is an
	// [*APIError] when the API refused, wraps [ErrUnreachable] when nothing came
	// back and [ErrCutStream] when the reply broke off, and is the cause of ctx
	// when that has ended.
	Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error)
}

// Request is what a model is asked. Its JSON is the body of POST /v1/messages.
type Request struct {
	Model string `json:"model"`
	Params
	System   []Block   `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`

	// Turn is the number, from 1, of the reply that is asked for in a conversation
	// whose earlier replies Messages does not hold; otherwise 0. It is for scripts,
	// which are played by it.
	Turn int `json:"-"`
}

// Params are the settings of a model. The zero value leaves everything to the
// API, but for the length of a reply.
type Params struct {
	MaxTokens   int       `json:"max_tokens"`            // of a reply; 0 is DefaultMaxTokens
	Temperature *float64  `json:"temperature,omitempty"` // nil is the API's default
	Thinking    *Thinking `json:"thinking,omitempty"`    // nil is the API's default

	ReasoningEffort string `json:"reasoning_effort,omitempty"` // of openai/ only; "" is the API's default
}

// Thinking asks for the model's reasoning.
type Thinking struct {
	Type         string `json:"type"`                    // adaptive, enabled or disabled
	BudgetTokens int    `json:"budget_tokens,omitempty"` // with enabled only; less than MaxTokens
}

// Tool is something that the model may ask to have run.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"` // JSON Schema of an object
	Cache       bool            `json:"-"`            // the API is to cache the request up to here
}

// Response is a whole reply.
type Response struct {
	Content    []Block    `json:"content"`
	StopReason StopReason `json:"stop_reason"`
	Usage      Usage      `json:"usage"`
}

// StopReason says why a reply ended.
type StopReason string

// The stop reasons that are known.
const (
	StopToolUse         StopReason = "tool_use"
	StopEndTurn         StopReason = "end_turn"
	StopSequence        StopReason = "stop_sequence"
	StopMaxTokens       StopReason = "max_tokens"
	StopPauseTurn       StopReason = "pause_turn"
	StopRefusal         StopReason = "refusal"
	StopContextExceeded StopReason = "model_context_window_exceeded"
)

// Usage is the tokens of one call, or of several added up. The four counts do
// not overlap.
type Usage struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:              u.InputTokens + v.InputTokens,
		OutputTokens:             u.OutputTokens + v.OutputTokens,
		CacheCreationInputTokens: u.CacheCreationInputTokens + v.CacheCreationInputTokens,
		CacheReadInputTokens:     u.CacheReadInputTokens + v.CacheReadInputTokens,
	}
}

// PromptTokens is the tokens of the prompt, cached or not.
func (u Usage) PromptTokens() int64 {
	return u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
}

// TotalTokens is every token, cached or not, in and out.
func (u Usage) TotalTokens() int64 { return u.PromptTokens() + u.OutputTokens }

// Delta is a piece of a reply that is still arriving.
type Delta struct {
	Kind  DeltaKind
	Index int    // of the block in the reply
	Type  string // of the block: text, thinking or tool_use
	ID    string // of a tool_use, when it starts
	Name  string // of a tool_use, when it starts
	Text  string // of a DeltaText: text, or a part of the JSON of an input
}

// DeltaKind says what a [Delta] is.
type DeltaKind int

// A block starts, goes on and stops.
const (
	DeltaStart DeltaKind = iota
	DeltaText
	DeltaStop
)
