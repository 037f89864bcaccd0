// Package model defines what a client of a language model is, [Client], and the plain
// values that go in and out. Their JSON is that of Anthropic's Messages API, so that a
// conversation can be stored, compared and sent again byte for byte. It also says which
// errors may be retried ([IsTransient]) and what a call costs ([FindModelCard]).
//
// The clients are in the packages below it: anthropic and openai call the vendors' APIs
// with what endpoint has in common for both, script plays fixed replies, replay records
// calls and plays recordings. Package open returns the client for a model's name.
// Package wire has the formats of the APIs as a server sees them, and mockapi is a server
// that plays scripts in these formats.
package model

import (
	"context"
	"encoding/json"
)

// DefaultMaxTokens is the largest length of a reply, in tokens, if [Params.MaxTokens]
// is 0.
const DefaultMaxTokens = 16000

// Client calls one language model. It is safe for concurrent use.
type Client interface {
	// Complete sends a conversation and waits for the whole reply. While the reply
	// arrives, onDelta, which may be nil, is called with its pieces, in order and from
	// the calling goroutine. The client sets Request.Model, and MaxTokens if it is 0.
	//
	// The client never retries a call; [IsTransient] says which errors a caller may
	// retry. The error is an [*APIError] if the API refused the request, wraps
	// [ErrUnreachable] if nothing came back and [ErrCutStream] if the reply broke off,
	// and is the cause of ctx if ctx has ended. With an error, the response is what had
	// come of the reply, or nil.
	Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error)
}

// Request is the input of one model call: the conversation, the tools and the settings.
// [Request.Encode] makes the body of POST /v1/messages of Anthropic's Messages API from it.
type Request struct {
	Model string `json:"model"`
	Params
	System   []Block   `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`

	// Turn is the number, from 1, of the requested reply, if Messages does not contain
	// the earlier replies of the conversation; otherwise 0. Only scripted models use
	// it.
	Turn int `json:"-"`
}

// Params are the settings of a model call. Zero values mean the API's defaults, except
// that MaxTokens 0 means [DefaultMaxTokens].
type Params struct {
	MaxTokens   int              `json:"max_tokens"`            // limit for a reply; 0 means DefaultMaxTokens
	Temperature *float64         `json:"temperature,omitempty"` // nil means the API's default
	Thinking    *ThinkingSetting `json:"thinking,omitempty"`    // nil means the API's default

	ReasoningEffort string `json:"reasoning_effort,omitempty"` // openai/ models only; "" means the API's default
}

// ThinkingSetting says whether, and for how many tokens, the model reasons before it replies.
type ThinkingSetting struct {
	Type         string `json:"type"`                    // adaptive, enabled or disabled
	BudgetTokens int    `json:"budget_tokens,omitempty"` // only with enabled; less than MaxTokens
}

// Tool describes a tool that the model may call: name, description and the JSON schema
// of its input.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"` // JSON Schema of an object
	Cache       bool            `json:"-"`            // the API caches the request up to here
}

// Response is a complete reply of a model.
type Response struct {
	Content    []Block    `json:"content"`
	StopReason StopReason `json:"stop_reason"`
	Usage      Usage      `json:"usage"`
}

// IfAny returns the response, or nil if it says nothing.
func (r *Response) IfAny() *Response {
	if len(r.Content) == 0 && r.StopReason == "" && r.Usage == (Usage{}) {
		return nil
	}
	return r
}

// StopReason says why a model's reply ended. Values that Assay does not know are passed
// on.
type StopReason string

// The known stop reasons.
const (
	StopToolUse         StopReason = "tool_use"
	StopEndTurn         StopReason = "end_turn"
	StopSequence        StopReason = "stop_sequence"
	StopMaxTokens       StopReason = "max_tokens"
	StopPauseTurn       StopReason = "pause_turn"
	StopRefusal         StopReason = "refusal"
	StopContextExceeded StopReason = "model_context_window_exceeded"
)

// Usage counts the tokens of one model call, or the sum over several calls. Its four
// counts do not overlap.
type Usage struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
}

// Add returns the sums of the counts of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:              u.InputTokens + v.InputTokens,
		OutputTokens:             u.OutputTokens + v.OutputTokens,
		CacheCreationInputTokens: u.CacheCreationInputTokens + v.CacheCreationInputTokens,
		CacheReadInputTokens:     u.CacheReadInputTokens + v.CacheReadInputTokens,
	}
}

// PromptTokens returns the number of tokens of the prompt: those read from the cache,
// those written to it and the others.
func (u Usage) PromptTokens() int64 {
	return u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
}

// TotalTokens returns the number of tokens of prompt and reply.
func (u Usage) TotalTokens() int64 { return u.PromptTokens() + u.OutputTokens }

// Delta is a fragment of a model's reply, reported while the reply arrives.
type Delta struct {
	Kind  DeltaKind
	Index int    // of the block in the reply
	Type  string // of the block: text, thinking or tool_use
	ID    string // of a tool_use block; DeltaStart only
	Name  string // of a tool_use block; DeltaStart only
	Text  string // DeltaText only: text, or a part of the JSON of a tool's input
	Block *Block // DeltaStop only: the whole block, or nil if the client does not know it yet
}

// DeltaKind says whether a [Delta] starts, extends or ends a content block.
type DeltaKind int

// The kinds of deltas.
const (
	DeltaStart DeltaKind = iota
	DeltaText
	DeltaStop
)
