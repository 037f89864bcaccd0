package attempt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"assay/internal/protocol"
)

const (
	// maxStreamBytes is how much memory a streamed message may take; a larger one is discarded.
	maxStreamBytes = 16 << 20

	// blockOverheadBytes is roughly how much memory a block takes beside its text.
	blockOverheadBytes = 256
)

// streamedMessage assembles an assistant message from the frames of a stream. The blocks are in
// the order in which they began; parts of different blocks may be interleaved. A block needs no
// block_stop.
type streamedMessage struct {
	blocks        []*streamedBlock
	newestByIndex map[int]*streamedBlock // by block_index: the newest block with that index
	sizeBytes     int                    // memory that it takes
	fault         string                 // why it was discarded; empty: it was not
	finishedAt    time.Time              // zero: the message is open
}

// streamedBlock is a content block (text, thinking or tool use) of a message that is being
// assembled from a stream.
type streamedBlock struct {
	kind, id, name string
	text           bytes.Buffer
}

// newStreamedMessage returns an open message without blocks, to which stream frames can be
// added.
func newStreamedMessage() *streamedMessage {
	return &streamedMessage{newestByIndex: map[int]*streamedBlock{}}
}

// addFrame adds the content of a block_start or delta frame to the message. It discards the
// message if the frame cannot be decoded or the message has more than maxStreamBytes.
func (m *streamedMessage) addFrame(body []byte) {
	var frame protocol.StreamFrame
	if err := json.Unmarshal(body, &frame); err != nil {
		m.discard(fmt.Sprintf("a frame of it cannot be read: %v", err))
		return
	}
	index := 0
	if frame.BlockIndex != nil {
		index = *frame.BlockIndex
	}
	block := m.newestByIndex[index]
	if block == nil || frame.Type == protocol.TypeAgentStreamBlock {
		block = &streamedBlock{kind: frame.BlockType, id: frame.BlockID, name: frame.BlockName}
		m.newestByIndex[index] = block
		m.blocks = append(m.blocks, block)
		m.sizeBytes += blockOverheadBytes + len(block.kind) + len(block.id) + len(block.name)
	}
	block.text.WriteString(frame.Delta)
	if m.sizeBytes += len(frame.Delta); m.sizeBytes > maxStreamBytes {
		m.discard(fmt.Sprintf("it has more than %d MiB", maxStreamBytes>>20))
	}
}

// discard drops the content of the message and keeps the reason why.
func (m *streamedMessage) discard(why string) { m.fault, m.blocks, m.newestByIndex = why, nil, nil }

// hasMarkedSubmission reports whether the message is complete and has a submission with the
// completion marker.
func (m *streamedMessage) hasMarkedSubmission() bool {
	if m.finishedAt.IsZero() || m.fault != "" {
		return false
	}
	submissions, _, _ := splitToolUses(m.asHistoryMessage().blocks)
	return slices.ContainsFunc(submissions, submission.isMarked)
}

// asHistoryMessage returns the assembled message as one of the agent's history.
func (m *streamedMessage) asHistoryMessage() *historyMessage {
	blocks := make([]map[string]any, len(m.blocks))
	for i, block := range m.blocks {
		blocks[i] = block.apiBlock()
	}
	content := marshalMessage(blocks)
	raw := marshalMessage(protocol.HistoryEntry{
		Type: protocol.HistoryEntryTypeAnthropicMessage, Role: "assistant", Content: content,
		Timestamp: m.finishedAt.UTC().Format(time.RFC3339Nano),
	})
	parsed, _ := parseContent(content) // each block is well-formed
	return &historyMessage{role: "assistant", content: content, blocks: parsed, raw: raw}
}

// apiBlock returns the block as JSON fields in the form of the Anthropic Messages API. The
// input of a tool use is left out if it is not valid JSON, so that a broken one cannot be a
// submission.
func (b *streamedBlock) apiBlock() map[string]any {
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
