package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

const (
	// maxReplyBytes is how much text of one message of an external program's model is kept.
	maxReplyBytes = 1 << 20

	// maxReplyBlocks is how many texts and thoughts such a message has.
	maxReplyBlocks = 100
)

// externalReply is what an external program's model has written since its last call: texts and
// thoughts in order. It is streamed to the server while it arrives.
type externalReply struct {
	blocks       []replyBlock
	sizeBytes    int
	leftOutBytes int                  // of text that has no room
	stream       *builtin.ReplyStream // nil if there are no blocks, or another reply is being streamed
}

// replyBlock is one text or thought; blockType is model.BlockText or model.BlockThinking.
type replyBlock struct {
	blockType string
	text      []byte
}

// AddReplyText adds text to what the program's model writes for the open query; blockType is
// model.BlockText or model.BlockThinking. It is streamed to the server, and becomes a message of the
// conversation with the next call, or when the query ends. Past 1 MiB of a message it is left out. Without
// an open query it is ignored.
func (a *ExternalAgent) AddReplyText(blockType, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.query == nil || text == "" {
		return
	}
	if len(a.reply.blocks) == 0 {
		a.reply.stream = a.agent.StartReplyStream()
	}
	a.reply.add(blockType, text)
}

// add adds text to the last block, or to a new one if that has another type. What has no room is left out.
func (r *externalReply) add(blockType, text string) {
	last := len(r.blocks) - 1
	isNew := last < 0 || r.blocks[last].blockType != blockType
	room := maxReplyBytes - r.sizeBytes
	if r.leftOutBytes > 0 || isNew && len(r.blocks) == maxReplyBlocks {
		room = 0
	}
	if len(text) > room {
		r.leftOutBytes += len(text) - room
		text = strings.ToValidUTF8(text[:room], "")
	}
	if text == "" {
		return
	}
	if isNew {
		r.stopBlock()
		r.blocks = append(r.blocks, replyBlock{blockType: blockType})
		last++
		r.stream.SendDelta(model.Delta{Kind: model.DeltaStart, Index: last, Type: blockType})
	}
	r.sizeBytes += len(text)
	r.blocks[last].text = append(r.blocks[last].text, text...)
	r.stream.SendDelta(model.Delta{Kind: model.DeltaText, Index: last, Type: blockType, Text: text})
}

// stopBlock sends the end of the last block, if there is one.
func (r *externalReply) stopBlock() {
	if last := len(r.blocks) - 1; last >= 0 {
		r.stream.SendDelta(model.Delta{Kind: model.DeltaStop, Index: last, Type: r.blocks[last].blockType})
	}
}

// take ends the reply and its stream and returns its blocks, without blank ones. The next text begins
// another reply.
func (r *externalReply) take() []model.Block {
	r.stopBlock()
	r.stream.Finish(nil)
	var blocks []model.Block
	for _, b := range r.blocks {
		switch text := string(b.text); {
		case strings.TrimSpace(text) == "":
		case b.blockType == model.BlockThinking:
			blocks = append(blocks, model.Block{Type: model.BlockThinking, Thinking: text})
		default:
			blocks = append(blocks, model.Text(text))
		}
	}
	if r.leftOutBytes > 0 {
		blocks = append(blocks, model.Text(fmt.Sprintf("[... %d bytes left out ...]", r.leftOutBytes)))
	}
	*r = externalReply{}
	return blocks
}

// sendReply sends what the program's model has written for the open query since its last call.
func (a *ExternalAgent) sendReply() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if content := a.reply.take(); len(content) > 0 && a.closedErr == nil {
		a.sendMessage(builtin.AssistantMessage(content...), a.query)
	}
}

// RecordCall adds a call of a tool of the program itself to the conversation of the open query. Input is
// a JSON object. Without an open query it is ignored.
func (a *ExternalAgent) RecordCall(name string, input json.RawMessage, isError bool, content ...model.Block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.query == nil || a.closedErr != nil {
		return
	}
	call := &externalCall{block: model.ToolUse(a.calls.nextID(), name, toObjectInput(input)), query: a.query}
	a.sendCallLocked(call, model.ToolResult(call.block.ID, isError, content...))
}

// ClaimCall finds a call of a tool of the notebook that was made for the open query and was not claimed
// before: one whose tool isNamed accepts, otherwise one with this input unless that is empty. It reports
// whether there is one. A program that also reports its calls itself uses it to tell which ones it need
// not record.
func (a *ExternalAgent) ClaimCall(isNamed func(tool string) bool, input json.RawMessage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.calls.unclaimed, func(k callKey) bool { return isNamed(k.tool) })
	if hash := hashInput(input); i < 0 && len(input) > 0 && hash != hashInput([]byte("{}")) {
		i = slices.IndexFunc(a.calls.unclaimed, func(k callKey) bool { return k.inputHash == hash })
	}
	if i < 0 {
		return false
	}
	a.calls.unclaimed = slices.Delete(a.calls.unclaimed, i, i+1)
	return true
}

// ReportUsage sends the server the tokens and the cost that the program has used so far.
func (a *ExternalAgent) ReportUsage(usage protocol.UsageUpdate) { a.agent.SendUsage(usage) }
