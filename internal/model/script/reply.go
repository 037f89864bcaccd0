package script

import (
	"cmp"
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"assay/internal/model"
)

// Reply is one line of a [Script]: a reply of the model, or an API error, with an
// optional fault.
type Reply struct {
	Line       int // in the file, from 1
	Content    []model.Block
	StopReason model.StopReason
	Usage      model.Usage

	Refusal     *model.APIError // nil if the reply is no refusal
	RefusalBody json.RawMessage // what a server sends for the refusal
	Fault       *Fault          // nil means none

	delay  time.Duration
	expect replyExpectation
}

// isLost reports whether the line never becomes part of a conversation, because it is
// an API error or has a fault that loses the reply.
func (r *Reply) isLost() bool { return r.Refusal != nil || r.Fault.losesReply() }

// WaitDelay waits for the delay of the scripted reply. It returns the cause of ctx if
// ctx ends first.
func (r *Reply) WaitDelay(ctx context.Context) error {
	timer := time.NewTimer(r.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isCutInBlock reports whether the reply is cut off in the middle of block i, which is
// then a tool call.
func (r *Reply) isCutInBlock(i int) bool {
	return r.StopReason == model.StopMaxTokens && i == len(r.Content)-1 && r.Content[i].Type == model.BlockToolUse
}

// ToolInput returns the JSON of the input of the tool call in block i. The JSON is cut
// off in the middle if the reply stops there.
func (r *Reply) ToolInput(i int) string {
	text := cmp.Or(string(r.Content[i].Input), "{}")
	if r.isCutInBlock(i) {
		text = text[:len(text)/2+len(text)%2]
	}
	return text
}

// WholeContent returns the content as an API sends it without a stream: a tool call
// that is cut off has the input {}.
func (r *Reply) WholeContent() []model.Block {
	content := make([]model.Block, 0, len(r.Content))
	for i, b := range r.Content {
		if r.isCutInBlock(i) {
			b.Input = json.RawMessage(`{}`)
		}
		content = append(content, b)
	}
	return content
}

// StreamEvent is one event of the event stream in which the Messages API sends a reply.
type StreamEvent struct {
	Type  string         // such as content_block_delta
	Data  map[string]any // without the type; a server adds the message of a message_start
	Delta *model.Delta   // what a client reports when it reads the event, nil means nothing
}

// StreamEvents returns the events in which the Messages API streams the reply, in their
// order.
func (r *Reply) StreamEvents() []StreamEvent {
	events := []StreamEvent{{Type: "message_start", Data: map[string]any{}}, {Type: "ping", Data: map[string]any{}}}
	for i := range r.Content {
		events = append(events, r.blockEvents(i)...)
	}
	return append(events, StreamEvent{Type: "message_delta", Data: map[string]any{
		"delta": map[string]any{"stop_reason": r.StopReason, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": r.Usage.OutputTokens},
	}}, StreamEvent{Type: "message_stop", Data: map[string]any{}})
}

// blockEvents returns the stream events of content block i: its start, without the
// texts; the texts in pieces; and its stop.
func (r *Reply) blockEvents(i int) []StreamEvent {
	b := r.Content[i]
	start := b
	start.Text, start.Thinking, start.Signature = "", "", ""
	if b.Type == model.BlockToolUse {
		start.Input = nil
	}
	events := []StreamEvent{{
		Type:  "content_block_start",
		Data:  map[string]any{"index": i, "content_block": start},
		Delta: &model.Delta{Kind: model.DeltaStart, Index: i, Type: b.Type, ID: b.ID, Name: b.Name},
	}}
	add := func(deltaType, field, text string, delta *model.Delta) {
		data := map[string]any{"index": i, "delta": map[string]any{"type": deltaType, field: text}}
		events = append(events, StreamEvent{Type: "content_block_delta", Data: data, Delta: delta})
	}
	addPieces := func(deltaType, field, text string) {
		for _, piece := range SplitForStream(text) {
			add(deltaType, field, piece, &model.Delta{Kind: model.DeltaText, Index: i, Type: b.Type, Text: piece})
		}
	}
	switch b.Type {
	case model.BlockText:
		addPieces("text_delta", "text", b.Text)
	case model.BlockThinking:
		addPieces("thinking_delta", "thinking", b.Thinking)
		add("signature_delta", "signature", b.Signature, nil)
	case model.BlockToolUse:
		addPieces("input_json_delta", "partial_json", r.ToolInput(i))
	}
	return append(events, StreamEvent{
		Type:  "content_block_stop",
		Data:  map[string]any{"index": i},
		Delta: &model.Delta{Kind: model.DeltaStop, Index: i, Type: b.Type},
	})
}

// SplitForStream cuts a text into pieces of at most 7 characters, each of which is sent
// as one event of a stream. An empty text has no pieces.
func SplitForStream(text string) []string {
	const pieceRunes = 7
	var pieces []string
	for len(text) > 0 {
		end := 0
		for n := 0; n < pieceRunes && end < len(text); n++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}
