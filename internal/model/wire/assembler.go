package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// assembler collects the content blocks of a reply while it arrives, and reports each
// piece to onDelta.
type assembler struct {
	onDelta    func(model.Delta)
	blocks     []*arrivingBlock
	stopReason model.StopReason
	usage      model.Usage
}

// arrivingBlock is a content block and the text that has come since it began.
type arrivingBlock struct {
	model.Block
	text      strings.Builder // of a text, of thinking, or of the JSON of a tool's input
	signature strings.Builder
}

func newAssembler(onDelta func(model.Delta)) assembler {
	if onDelta == nil {
		onDelta = func(model.Delta) {}
	}
	return assembler{onDelta: onDelta}
}

func (a *assembler) hasContent() bool { return len(a.blocks) > 0 }

// startBlock begins the next block and returns its index.
func (a *assembler) startBlock(b model.Block) int {
	i := len(a.blocks)
	a.blocks = append(a.blocks, &arrivingBlock{Block: b})
	a.onDelta(model.Delta{Kind: model.DeltaStart, Index: i, Type: b.Type, ID: b.ID, Name: b.Name})
	return i
}

func (a *assembler) extendBlock(i int, text string) {
	if text == "" {
		return
	}
	a.blocks[i].text.WriteString(text)
	a.onDelta(model.Delta{Kind: model.DeltaText, Index: i, Type: a.blocks[i].Type, Text: text})
}

// stopBlock reports the end of a block.
func (a *assembler) stopBlock(i int) {
	b := a.blocks[i].finished()
	a.onDelta(model.Delta{Kind: model.DeltaStop, Index: i, Type: b.Type, Block: &b})
}

// finished returns the block with all that has come. The input of a tool call is repaired if
// it is no JSON object.
func (b *arrivingBlock) finished() model.Block {
	out := b.Block
	switch out.Type {
	case model.BlockText:
		out.Text += b.text.String()
	case model.BlockThinking:
		out.Thinking += b.text.String()
		out.Signature += b.signature.String()
	case model.BlockToolUse:
		input := b.text.String()
		if strings.TrimSpace(input) == "" {
			input = string(out.Input)
		}
		out.Input = model.RepairToolInput(input)
	}
	return out
}

// response returns what has come so far.
func (a *assembler) response() *model.Response {
	content := make([]model.Block, len(a.blocks))
	for i, b := range a.blocks {
		content[i] = b.finished()
	}
	return &model.Response{Content: content, StopReason: a.stopReason, Usage: a.usage}
}

// tokenCount is a number of tokens in a reply. Decoding limits it as
// [endpoint.ClampTokenCount] does, and makes 0 of what is not a number.
type tokenCount int64

// UnmarshalJSON decodes any JSON value. It never fails.
func (c *tokenCount) UnmarshalJSON(text []byte) error {
	n, _ := strconv.ParseFloat(string(text), 64) // infinite if it is too large, 0 if it is no number
	const most = 1 << 60                         // fits an int64
	*c = tokenCount(endpoint.ClampTokenCount(int64(min(max(n, -most), most))))
	return nil
}

// decodeLeniently decodes a JSON object of a reply into the struct v. It skips members that
// have another type than expected. Text that is not a JSON object is a
// [model.ErrCutStream].
func decodeLeniently(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); err == nil || ok && mistyped.Field != "" {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", model.ErrCutStream, endpoint.CollapseSpace(endpoint.TextExcerpt(string(text))), err)
}
