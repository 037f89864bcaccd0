package model

import (
	"encoding/json"
	"net/http"
)

// chatStream writes the chunks of one completion.
type chatStream struct {
	*sse
	head completion // what all chunks have in common
}

// streamChat sends a reply as a stream of chunks.
func streamChat(w http.ResponseWriter, gone <-chan struct{}, out completion, r *reply, usage bool) {
	out.Object = "chat.completion.chunk"
	s := &chatStream{sse: newSSE(w, gone, r.fault), head: out}
	s.failed = func(said errorDetail) []byte {
		return chatEvent(newChatError(said))
	}
	s.delta(map[string]any{"role": RoleAssistant, "content": ""}, nil)
	s.send([]byte(": a comment, to keep the connection alive\n\n"))
	s.content(r)
	s.last = true
	s.delta(map[string]any{}, finishReason(r.stop))
	if usage {
		out.Choices, out.Usage = []completionChoice{}, newCompletionUsage(r.usage)
		s.send(chatEvent(out))
	}
	s.send([]byte("data: [DONE]\n\n"))
}

// content sends the blocks that Chat Completions have a place for.
func (s *chatStream) content(r *reply) {
	calls := 0
	for i, b := range r.content {
		switch b.Type {
		case BlockText:
			s.pieces("content", b.Text)
		case BlockThinking:
			s.pieces("reasoning_content", b.Thinking)
		case BlockToolUse:
			s.call(calls, b, r.arguments(i))
			calls++
		}
	}
}

func (s *chatStream) pieces(field, text string) {
	for _, piece := range runePieces(text) {
		s.delta(map[string]any{field: piece}, nil)
	}
}

// call sends a call: its id and name, then its arguments.
func (s *chatStream) call(index int, b Block, arguments string) {
	s.tool(map[string]any{"index": index, "id": b.ID, "type": "function", "function": chatFunction{Name: b.Name}})
	for _, piece := range runePieces(arguments) {
		s.tool(map[string]any{"index": index, "function": map[string]any{"arguments": piece}})
	}
}

func (s *chatStream) tool(call map[string]any) {
	s.delta(map[string]any{"tool_calls": []any{call}}, nil)
}

func (s *chatStream) delta(delta map[string]any, finish *string) {
	out := s.head
	out.Choices = []completionChoice{{Delta: delta, FinishReason: finish}}
	s.send(chatEvent(out))
}

// chatEvent writes an event, which has data only.
func chatEvent(v any) []byte {
	text, _ := json.Marshal(v) //nolint:errchkjson // what a script held, which was JSON
	return append(append([]byte("data: "), text...), "\n\n"...)
}
