package wire

import (
	"strings"

	"assay/internal/model"
)

// itemPart is a part of an output item: one text of a message, or all of another item.
type itemPart struct {
	index    int // content_index
	text     strings.Builder
	reported int    // how many bytes of text were reported
	block    *int   // index of its block, nil before its start is reported
	kind     string // type of its block
}

// part returns the part of the item with this content_index. It begins one unless that is
// the last part's.
func (i *outputItem) part(index int) *itemPart {
	if last := len(i.parts) - 1; last >= 0 && i.parts[last].index == index {
		return i.parts[last]
	}
	part := &itemPart{index: index}
	i.parts = append(i.parts, part)
	return part
}

// blockType returns the type of the blocks of the item, or "" if its pieces are not reported.
func (i *outputItem) blockType() string {
	switch i.Type {
	case itemMessage:
		return model.BlockText
	case itemFunctionCall:
		return model.BlockToolUse
	case itemReasoning:
		return model.BlockThinking
	default:
		return ""
	}
}

// pieceReporter reports the pieces of a streamed response to onDelta. The blocks are
// numbered in the order of the items in the output, so the pieces of an item wait until the
// items before it have ended.
type pieceReporter struct {
	onDelta func(model.Delta) // nil: nothing is reported
	current int               // output_index of the item whose pieces are reported
	begun   int               // how many blocks have begun
	open    []*itemPart       // parts whose block has begun and not ended
}

func newPieceReporter(onDelta func(model.Delta)) pieceReporter {
	return pieceReporter{onDelta: onDelta}
}

// report reports what has come since the last call.
func (p *pieceReporter) report(items map[int]*outputItem) {
	if p.onDelta == nil {
		return
	}
	for item := items[p.current]; item != nil; item = items[p.current] {
		for _, part := range item.parts {
			p.reportPart(item, part)
		}
		if !item.isFinished {
			return
		}
		p.reportEnd(item)
		p.current++
	}
}

// reportPart reports the start of a part's block, if it was not reported, and the text that
// has come since.
func (p *pieceReporter) reportPart(item *outputItem, part *itemPart) {
	kind := item.blockType()
	if kind == "" {
		return
	}
	if part.block == nil {
		index := p.begun
		part.block, part.kind = &index, kind
		p.begun++
		p.open = append(p.open, part)
		p.onDelta(model.Delta{Kind: model.DeltaStart, Index: index, Type: kind, ID: item.CallID, Name: joinToolName(item.Namespace, item.Name)})
	}
	p.reportText(part, part.text.String()[part.reported:])
}

func (p *pieceReporter) reportText(part *itemPart, text string) {
	if text != "" {
		part.reported += len(text)
		p.onDelta(model.Delta{Kind: model.DeltaText, Index: *part.block, Type: part.kind, Text: text})
	}
}

// reportEnd reports the end of a finished item, and those of its blocks that have not begun.
func (p *pieceReporter) reportEnd(item *outputItem) {
	first := p.begun - len(p.open)
	p.stopOpen(func(index int) *model.Block {
		if at := index - first; at < len(item.blocks) {
			return &item.blocks[at]
		}
		return nil
	})
	for at := p.begun - first; at < len(item.blocks); at++ {
		model.EmitBlockDeltas(p.onDelta, p.begun, item.blocks[at])
		p.begun++
	}
}

// finish reports the end of a reply with this content.
func (p *pieceReporter) finish(content []model.Block) {
	if p.onDelta == nil {
		return
	}
	p.stopOpen(func(index int) *model.Block {
		if index < len(content) {
			return &content[index]
		}
		return nil
	})
	for ; p.begun < len(content); p.begun++ {
		model.EmitBlockDeltas(p.onDelta, p.begun, content[p.begun])
	}
}

// stopOpen reports the ends of the blocks that have begun, each with the rest of its text.
// blockAt returns the whole block with an index, or nil if there is none.
func (p *pieceReporter) stopOpen(blockAt func(index int) *model.Block) {
	for _, part := range p.open {
		block := blockAt(*part.block)
		if block != nil && block.Type == part.kind {
			whole := block.Text + block.Thinking + string(block.Input) // only one of them is set
			if rest, ok := strings.CutPrefix(whole, part.text.String()); ok {
				p.reportText(part, rest)
			}
		}
		p.onDelta(model.Delta{Kind: model.DeltaStop, Index: *part.block, Type: part.kind, Block: block})
	}
	p.open = nil
}
