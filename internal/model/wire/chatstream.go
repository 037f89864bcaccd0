package wire

import (
	"cmp"
	"strings"

	"assay/internal/model"
)

// completionJSON is a response of the Chat Completions API, or one chunk of a streamed
// response.
type completionJSON struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   *completionUsage   `json:"usage,omitempty"`
}

type completionChoice struct {
	Index        int            `json:"index"`
	Message      map[string]any `json:"message,omitempty"` // of a whole answer
	Delta        map[string]any `json:"delta,omitzero"`    // of a chunk
	FinishReason *string        `json:"finish_reason"`
}

type completionUsage struct {
	PromptTokens     int64            `json:"prompt_tokens"`
	CompletionTokens int64            `json:"completion_tokens"`
	TotalTokens      int64            `json:"total_tokens"`
	Details          map[string]int64 `json:"prompt_tokens_details"`
}

func newCompletionUsage(u model.Usage) *completionUsage {
	return &completionUsage{u.PromptTokens(), u.OutputTokens, u.TotalTokens(), cacheDetails(u)}
}

// cacheDetails returns the details of a prompt's tokens as OpenAI's APIs name them.
func cacheDetails(u model.Usage) map[string]int64 {
	return map[string]int64{"cached_tokens": u.CacheReadInputTokens, "cache_write_tokens": u.CacheCreationInputTokens}
}

// chatToolCall is a tool call in requests and responses of the Chat Completions API.
type chatToolCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"` // function
	Function chatFunctionCall `json:"function"`
}

type chatFunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

func newCompletion(head Head, object string) completionJSON {
	return completionJSON{ID: "chatcmpl-" + head.ID, Object: object, Created: head.Created, Model: head.Model}
}

// encodeCompletion returns a whole chat completion. It leaves out blocks that the API does
// not have.
func encodeCompletion(head Head, resp *model.Response) []byte {
	message := map[string]any{"role": model.RoleAssistant, "content": nil, "refusal": nil}
	var calls []chatToolCall
	var text, thinking strings.Builder
	for _, b := range resp.Content {
		text.WriteString(b.Text)
		thinking.WriteString(b.Thinking)
		if b.Type == model.BlockToolUse {
			calls = append(calls, chatToolCall{b.ID, "function", chatFunctionCall{b.Name, cmp.Or(string(b.Input), "{}")}})
		}
	}
	if text.Len() > 0 {
		message["content"] = text.String()
	}
	if thinking.Len() > 0 {
		message["reasoning_content"] = thinking.String()
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	out := newCompletion(head, "chat.completion")
	out.Choices = []completionChoice{{Message: message, FinishReason: toFinishReason(resp.StopReason)}}
	out.Usage = newCompletionUsage(resp.Usage)
	return encode(out)
}

// toFinishReason converts a stop reason to the finish_reason of Chat Completions. A stop
// reason without a counterpart keeps its name.
func toFinishReason(stop model.StopReason) *string {
	reason := string(stop)
	switch stop {
	case model.StopEndTurn, model.StopSequence:
		reason = "stop"
	case model.StopToolUse:
		reason = "tool_calls"
	case model.StopMaxTokens:
		reason = "length"
	case model.StopRefusal:
		reason = "content_filter"
	case model.StopPauseTurn, model.StopContextExceeded:
	}
	return &reason
}

// chatStream encodes the chunks of a streamed chat completion. It leaves out blocks that
// the API does not have.
type chatStream struct {
	head  Head
	emit  func(Event)
	calls int // tool calls that have begun
}

func (s *chatStream) start(model.Usage) {
	s.sendDelta(map[string]any{"role": model.RoleAssistant, "content": ""})
}

func (s *chatStream) startBlock(b model.Block) {
	if b.Type == model.BlockToolUse {
		s.calls++
		s.sendToolCall(map[string]any{"id": b.ID, "type": "function", "function": chatFunctionCall{Name: b.Name}})
	}
}

func (s *chatStream) addText(b model.Block, text string) {
	switch b.Type {
	case model.BlockText:
		s.sendDelta(map[string]any{"content": text})
	case model.BlockThinking:
		s.sendDelta(map[string]any{"reasoning_content": text})
	case model.BlockToolUse:
		s.sendToolCall(map[string]any{"function": map[string]any{"arguments": text}})
	}
}

func (s *chatStream) stopBlock(model.Block) {}

func (s *chatStream) finish(stop model.StopReason, usage model.Usage) {
	s.send(completionChoice{Delta: map[string]any{}, FinishReason: toFinishReason(stop)}, true)
	if s.head.IncludesUsage {
		out := newCompletion(s.head, chunkObject)
		out.Choices, out.Usage = []completionChoice{}, newCompletionUsage(usage)
		s.emit(Event{Text: encodeEvent("", out)})
	}
	s.emit(Event{Text: []byte("data: " + chatEnd + "\n\n")})
}

func (s *chatStream) fail(errorType, message string) {
	s.emit(Event{Text: encodeEvent("", map[string]openAIError{"error": newOpenAIError(errorType, message)})})
}

// sendToolCall sends a part of the tool call that began last.
func (s *chatStream) sendToolCall(call map[string]any) {
	call["index"] = s.calls - 1
	s.sendDelta(map[string]any{"tool_calls": []any{call}})
}

func (s *chatStream) sendDelta(delta map[string]any) { s.send(completionChoice{Delta: delta}, false) }

// chunkObject is the type of a chunk.
const chunkObject = "chat.completion.chunk"

func (s *chatStream) send(choice completionChoice, finishes bool) {
	out := newCompletion(s.head, chunkObject)
	out.Choices = []completionChoice{choice}
	s.emit(Event{Text: encodeEvent("", out), Finishes: finishes})
}
