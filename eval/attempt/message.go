package attempt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/protocol"
)

const (
	// streamLimit is the most that a streamed message may take, in bytes; a
	// larger one is given up.
	streamLimit = 16 << 20

	// blockCost stands for what a block takes beside its text, in bytes.
	blockCost = 256
)

// streamed is a message that is put together. Blocks stand in the order in
// which they began; their parts may come in any, and nobody waits for a
// block_stop.
type streamed struct {
	blocks   []*streamedBlock
	at       map[int]*streamedBlock // by block_index, the newest
	size     int                    // bytes
	fault    string                 // why it was given up; empty: it was not
	finished time.Time              // zero: it is open
}

type streamedBlock struct {
	kind, id, name string
	text           bytes.Buffer
}

func newStreamed() *streamed { return &streamed{at: map[int]*streamedBlock{}} }

// add takes in a block_start or a delta.
func (m *streamed) add(body []byte) {
	var frame protocol.StreamFrame
	if err := json.Unmarshal(body, &frame); err != nil {
		m.giveUp(fmt.Sprintf("a frame of it cannot be read: %v", err))
		return
	}
	index := 0
	if frame.BlockIndex != nil {
		index = *frame.BlockIndex
	}
	block := m.at[index]
	if block == nil || frame.Type == protocol.TypeAgentStreamBlock {
		block = &streamedBlock{kind: frame.BlockType, id: frame.BlockID, name: frame.BlockName}
		m.at[index] = block
		m.blocks = append(m.blocks, block)
		m.size += blockCost + len(block.kind) + len(block.id) + len(block.name)
	}
	block.text.WriteString(frame.Delta)
	if m.size += len(frame.Delta); m.size > streamLimit {
		m.giveUp(fmt.Sprintf("it has more than %d MiB", streamLimit>>20))
	}
}

func (m *streamed) giveUp(why string) { m.fault, m.blocks, m.at = why, nil, nil }

// entry is the message as an agent would send it whole.
func (m *streamed) entry() protocol.HistoryEntry {
	blocks := make([]map[string]any, len(m.blocks))
	for i, block := range m.blocks {
		blocks[i] = block.content()
	}
	content, err := protocol.Marshal(blocks)
	if err != nil {
		content = nil // texts and valid JSON can always be written
	}
	return protocol.HistoryEntry{
		Type: protocol.EntryAnthropicMessage, Role: "assistant", Content: content,
		Timestamp: m.finished.UTC().Format(time.RFC3339Nano),
	}
}

// content is the block of the Messages API. A tool's input that is not JSON is
// left out, and so submits nothing.
func (b *streamedBlock) content() map[string]any {
	switch b.kind {
	case "tool_use":
		use := map[string]any{"type": b.kind, "id": b.id, "name": b.name}
		switch input := b.text.Bytes(); {
		case len(input) == 0:
			use["input"] = struct{}{}
		case json.Valid(input):
			use["input"] = json.RawMessage(input)
		}
		return use
	case "thinking":
		return map[string]any{"type": b.kind, "thinking": b.text.String()}
	default:
		return map[string]any{"type": "text", "text": b.text.String()}
	}
}
