package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
)

// reading puts a streamed reply together. It does what the SDK's accumulator
// does but for two cases: the input of a tool that is cut in the middle is no
// error here, and a stream without a message_stop is one.
type reading struct {
	onDelta func(Delta)

	stopped bool // message_stop has come
	blocks  []Block
	grown   []*growth // of the blocks
	stop    StopReason
	usage   Usage
}

// growth is what the pieces of one block add up to.
type growth struct{ text, thinking, signature, input strings.Builder }

func newReading(onDelta func(Delta)) *reading {
	if onDelta == nil {
		onDelta = func(Delta) {}
	}
	return &reading{onDelta: onDelta, blocks: []Block{}}
}

// event takes the next event of the stream.
func (r *reading) event(e anthropic.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		r.usage = Usage{tokens(u.InputTokens), tokens(u.OutputTokens), tokens(u.CacheCreationInputTokens), tokens(u.CacheReadInputTokens)}
	case "content_block_start":
		return r.open(e)
	case "content_block_delta":
		return r.grow(e)
	case "content_block_stop":
		return r.close(e)
	case "message_delta":
		r.stop = StopReason(e.Delta.StopReason)
		r.count(e.Usage)
	case "message_stop":
		r.stopped = true
	}
	return nil // further kinds of events may appear at any time
}

func (r *reading) open(e anthropic.MessageStreamEventUnion) error {
	if e.Index != int64(len(r.blocks)) {
		return fmt.Errorf("block %d of the reply starts where %d was due", e.Index, len(r.blocks))
	}
	var b Block
	if err := json.Unmarshal([]byte(e.ContentBlock.RawJSON()), &b); err != nil {
		return fmt.Errorf("block %d of the reply: %w", e.Index, err)
	}
	r.blocks = append(r.blocks, b)
	r.grown = append(r.grown, &growth{})
	r.onDelta(Delta{Kind: DeltaStart, Index: int(e.Index), Type: b.Type, ID: b.ID, Name: b.Name})
	return nil
}

func (r *reading) grow(e anthropic.MessageStreamEventUnion) error {
	b, err := r.block(e)
	if err != nil {
		return err
	}
	g := r.grown[e.Index]
	var text string
	switch e.Delta.Type {
	case "text_delta":
		text = e.Delta.Text
		g.text.WriteString(text)
	case "thinking_delta":
		text = e.Delta.Thinking
		g.thinking.WriteString(text)
	case "signature_delta":
		g.signature.WriteString(e.Delta.Signature)
	case "input_json_delta":
		text = e.Delta.PartialJSON
		g.input.WriteString(text)
	}
	if text != "" {
		r.onDelta(Delta{Kind: DeltaText, Index: int(e.Index), Type: b.Type, Text: text})
	}
	return nil
}

func (r *reading) close(e anthropic.MessageStreamEventUnion) error {
	b, err := r.block(e)
	if err != nil {
		return err
	}
	r.onDelta(Delta{Kind: DeltaStop, Index: int(e.Index), Type: b.Type})
	return nil
}

func (r *reading) block(e anthropic.MessageStreamEventUnion) (*Block, error) {
	if e.Index < 0 || e.Index >= int64(len(r.blocks)) {
		return nil, fmt.Errorf("%s for block %d of the reply, which never started", e.Type, e.Index)
	}
	return &r.blocks[e.Index], nil
}

// count takes the totals of a message_delta, which leaves out what does not
// change.
func (r *reading) count(u anthropic.MessageDeltaUsage) {
	if u.JSON.OutputTokens.Valid() {
		r.usage.OutputTokens = tokens(u.OutputTokens)
	}
	if u.JSON.InputTokens.Valid() {
		r.usage.InputTokens = tokens(u.InputTokens)
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		r.usage.CacheCreationInputTokens = tokens(u.CacheCreationInputTokens)
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		r.usage.CacheReadInputTokens = tokens(u.CacheReadInputTokens)
	}
}

// tokens is a count that a server has told, within reason: whatever it says, what
// has been spent never becomes less.
func tokens(n int64) int64 {
	const most = 1 << 40
	return min(max(0, n), most)
}

func (r *reading) response() *Response {
	for i := range r.blocks {
		b, g := &r.blocks[i], r.grown[i]
		b.Text = strings.ToValidUTF8(b.Text+g.text.String(), "\uFFFD")
		b.Thinking += g.thinking.String()
		b.Signature += g.signature.String()
		if b.Type == BlockToolUse {
			b.Input = wrapInput(cmp.Or(g.input.String(), string(orEmptyObject(b.Input))))
		}
	}
	return &Response{Content: r.blocks, StopReason: r.stop, Usage: r.usage}
}

// wrapInput returns the input of a tool as it may be sent again. Text that is no
// JSON object, because the reply was cut in it or the model wrote it so, becomes
// the one property invalid_json of an object, which no tool has.
func wrapInput(text string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return mendUnicode([]byte(text))
	}
	wrapped, _ := json.Marshal(map[string]string{"invalid_json": text}) //nolint:errchkjson // a string
	return wrapped
}

// errorMessage finds the message in the body of an API's error.
func errorMessage(body string) string {
	var said errorBody
	if err := json.Unmarshal([]byte(body), &said); err == nil && said.Error.Message != "" {
		return said.Error.Message
	}
	return excerpt(body)
}
