package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// responseBuilder builds a model's reply from the events of its stream. It differs from
// the SDK's accumulator in two cases: a tool input that is cut in the middle is no
// error, and a stream without message_stop is one.
type responseBuilder struct {
	onDelta func(model.Delta)

	stopped    bool // message_stop has come
	blocks     []model.Block
	texts      []*blockParts // by block
	stopReason model.StopReason
	usage      model.Usage
}

// blockParts collects the text fragments of one content block while its events arrive.
type blockParts struct{ text, thinking, signature, input strings.Builder }

func newResponseBuilder(onDelta func(model.Delta)) *responseBuilder {
	if onDelta == nil {
		onDelta = func(model.Delta) {}
	}
	return &responseBuilder{onDelta: onDelta, blocks: []model.Block{}}
}

// addEvent handles the next event of the stream. It ignores events of unknown types,
// since the API may add some at any time. It returns an error for a block that starts
// out of order or was never started.
func (r *responseBuilder) addEvent(e sdk.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		r.usage = model.Usage{
			InputTokens: endpoint.ClampTokenCount(u.InputTokens), OutputTokens: endpoint.ClampTokenCount(u.OutputTokens),
			CacheCreationInputTokens: endpoint.ClampTokenCount(u.CacheCreationInputTokens), CacheReadInputTokens: endpoint.ClampTokenCount(u.CacheReadInputTokens),
		}
	case "content_block_start":
		return r.startBlock(e)
	case "content_block_delta":
		return r.extendBlock(e)
	case "content_block_stop":
		return r.stopBlock(e)
	case "message_delta":
		r.stopReason = model.StopReason(e.Delta.StopReason)
		r.updateUsage(e.Usage)
	case "message_stop":
		r.stopped = true
	}
	return nil
}

func (r *responseBuilder) startBlock(e sdk.MessageStreamEventUnion) error {
	if e.Index != int64(len(r.blocks)) {
		return fmt.Errorf("block %d of the reply starts where %d was due", e.Index, len(r.blocks))
	}
	var b model.Block
	if err := json.Unmarshal([]byte(e.ContentBlock.RawJSON()), &b); err != nil {
		return fmt.Errorf("block %d of the reply: %w", e.Index, err)
	}
	r.blocks = append(r.blocks, b)
	r.texts = append(r.texts, &blockParts{})
	r.onDelta(model.Delta{Kind: model.DeltaStart, Index: int(e.Index), Type: b.Type, ID: b.ID, Name: b.Name})
	return nil
}

func (r *responseBuilder) extendBlock(e sdk.MessageStreamEventUnion) error {
	b, err := r.startedBlock(e)
	if err != nil {
		return err
	}
	texts := r.texts[e.Index]
	var text string
	switch e.Delta.Type {
	case "text_delta":
		text = e.Delta.Text
		texts.text.WriteString(text)
	case "thinking_delta":
		text = e.Delta.Thinking
		texts.thinking.WriteString(text)
	case "signature_delta":
		texts.signature.WriteString(e.Delta.Signature)
	case "input_json_delta":
		text = e.Delta.PartialJSON
		texts.input.WriteString(text)
	}
	if text != "" {
		r.onDelta(model.Delta{Kind: model.DeltaText, Index: int(e.Index), Type: b.Type, Text: text})
	}
	return nil
}

func (r *responseBuilder) stopBlock(e sdk.MessageStreamEventUnion) error {
	b, err := r.startedBlock(e)
	if err != nil {
		return err
	}
	r.onDelta(model.Delta{Kind: model.DeltaStop, Index: int(e.Index), Type: b.Type})
	return nil
}

// startedBlock returns the content block that an event refers to by index, or an error
// if no such block has started.
func (r *responseBuilder) startedBlock(e sdk.MessageStreamEventUnion) (*model.Block, error) {
	if e.Index < 0 || e.Index >= int64(len(r.blocks)) {
		return nil, fmt.Errorf("%s for block %d of the reply, which never started", e.Type, e.Index)
	}
	return &r.blocks[e.Index], nil
}

// updateUsage takes over the token counts of a message_delta event. Counts that the
// event leaves out have not changed.
func (r *responseBuilder) updateUsage(u sdk.MessageDeltaUsage) {
	if u.JSON.OutputTokens.Valid() {
		r.usage.OutputTokens = endpoint.ClampTokenCount(u.OutputTokens)
	}
	if u.JSON.InputTokens.Valid() {
		r.usage.InputTokens = endpoint.ClampTokenCount(u.InputTokens)
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		r.usage.CacheCreationInputTokens = endpoint.ClampTokenCount(u.CacheCreationInputTokens)
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		r.usage.CacheReadInputTokens = endpoint.ClampTokenCount(u.CacheReadInputTokens)
	}
}

// buildResponse returns the complete reply, with the collected fragments joined in each
// block.
func (r *responseBuilder) buildResponse() *model.Response {
	for i := range r.blocks {
		b, texts := &r.blocks[i], r.texts[i]
		b.Text = strings.ToValidUTF8(b.Text+texts.text.String(), "\uFFFD")
		b.Thinking += texts.thinking.String()
		b.Signature += texts.signature.String()
		if b.Type == model.BlockToolUse {
			b.Input = model.RepairToolInput(cmp.Or(texts.input.String(), string(b.Input)))
		}
	}
	return &model.Response{Content: r.blocks, StopReason: r.stopReason, Usage: r.usage}
}
