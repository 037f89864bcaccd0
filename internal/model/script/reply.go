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

// StreamDeltas returns the deltas of the reply as a client of a stream reports them: the
// texts are in pieces.
func (r *Reply) StreamDeltas() []model.Delta {
	var deltas []model.Delta
	for i, b := range r.Content {
		text := b.Text + b.Thinking
		if b.Type == model.BlockToolUse {
			text = r.ToolInput(i)
			b.Input = model.RepairToolInput(text)
		}
		deltas = append(deltas, model.Delta{Kind: model.DeltaStart, Index: i, Type: b.Type, ID: b.ID, Name: b.Name})
		for _, piece := range splitForStream(text) {
			deltas = append(deltas, model.Delta{Kind: model.DeltaText, Index: i, Type: b.Type, Text: piece})
		}
		deltas = append(deltas, model.Delta{Kind: model.DeltaStop, Index: i, Type: b.Type, Block: &b})
	}
	return deltas
}

// streamEvents returns, for each event in which the Messages API streams the reply, the
// delta that a client reports for it, nil for none.
func (r *Reply) streamEvents() []*model.Delta {
	events := []*model.Delta{nil, nil} // message_start, ping
	for _, d := range r.StreamDeltas() {
		if d.Kind == model.DeltaStop && d.Type == model.BlockThinking {
			events = append(events, nil) // the signature
		}
		events = append(events, &d)
	}
	return append(events, nil, nil) // message_delta, message_stop
}

// splitForStream cuts a text into pieces of at most 7 characters, each of which is sent
// as one event of a stream. An empty text has no pieces.
func splitForStream(text string) []string {
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
