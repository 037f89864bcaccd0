package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"assay/internal/model"
)

// responseBuilder builds a model's reply from the chunks of its stream. All text
// becomes one block, and so does all reasoning, without a signature. Each tool call
// becomes a block, in the order of the calls' first chunks.
type responseBuilder struct {
	onDelta func(model.Delta)
	ids     usedCallIDs

	refused    bool // some text came as a refusal
	stopReason model.StopReason
	usage      model.Usage

	blocks     []model.Block
	texts      []*strings.Builder // by block: text, or the input of a tool
	textBlocks map[string]int     // index of the block of text and of that of thinking, by type
	calls      toolCallTracker
}

// toolCallTracker finds the block of a tool call by the ids and indexes in chunks, which
// some servers omit or repeat.
type toolCallTracker struct {
	byIndex map[int]int
	byID    map[string]int
	ids     map[int]string // by block: the id in the chunk
	last    int            // block of the call that began last, -1 before the first
}

func newResponseBuilder(onDelta func(model.Delta), messages []model.Message) *responseBuilder {
	if onDelta == nil {
		onDelta = func(model.Delta) {}
	}
	return &responseBuilder{
		onDelta: onDelta, ids: newUsedCallIDs(messages), blocks: []model.Block{}, textBlocks: map[string]int{},
		calls: toolCallTracker{byIndex: map[int]int{}, byID: map[string]int{}, ids: map[int]string{}, last: -1},
	}
}

// addChunk adds the next chunk to the reply. Of several choices it uses only the first.
// An error in the chunk is returned as an APIError.
func (r *responseBuilder) addChunk(c *replyChunk) error {
	if refusal := apiErrorInChunk(c.Error); refusal != nil {
		return refusal
	}
	if c.Usage != nil {
		r.usage = c.Usage.toUsage()
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		for _, d := range []*messageDelta{choice.Delta, choice.Message} {
			if d != nil {
				r.addDelta(d)
			}
		}
		if choice.FinishReason != "" {
			r.stopReason = toStopReason(choice.FinishReason)
		}
	}
	return nil
}

func (r *responseBuilder) addDelta(d *messageDelta) {
	if d.ReasoningContent == "" { // some servers send both
		d.ReasoningContent = parseContentText(d.Reasoning)
	}
	r.addText(model.BlockThinking, d.ReasoningContent)
	r.addText(model.BlockText, parseContentText(d.Content))
	r.addText(model.BlockText, d.Refusal)
	r.refused = r.refused || d.Refusal != ""
	for _, call := range d.ToolCalls {
		r.addToolCall(call)
	}
	if f := d.FunctionCall; f != nil { // the older form, for a single call
		first := 0
		r.addToolCall(toolCallDelta{Index: &first, Function: *f})
	}
}

// addText appends text to the reply's block of this kind, text or thinking, and starts
// the block if necessary.
func (r *responseBuilder) addText(kind, text string) {
	if text == "" {
		return
	}
	i, ok := r.textBlocks[kind]
	if !ok {
		i = r.startBlock(model.Block{Type: kind})
		r.textBlocks[kind] = i
	}
	r.extendBlock(i, text)
}

func (r *responseBuilder) addToolCall(d toolCallDelta) {
	i := r.calls.findBlock(d)
	if i < 0 {
		i = r.startBlock(model.ToolUse(r.ids.uniqueID(d.ID), d.Function.Name, nil))
		r.calls.addToolCall(d, i)
	}
	if b := &r.blocks[i]; b.Name == "" {
		b.Name = d.Function.Name
	}
	r.extendBlock(i, parseArgumentText(d.Function.Arguments))
}

func (r *responseBuilder) startBlock(b model.Block) int {
	i := len(r.blocks)
	r.blocks, r.texts = append(r.blocks, b), append(r.texts, &strings.Builder{})
	r.onDelta(model.Delta{Kind: model.DeltaStart, Index: i, Type: b.Type, ID: b.ID, Name: b.Name})
	return i
}

func (r *responseBuilder) extendBlock(i int, text string) {
	if text == "" {
		return
	}
	r.texts[i].WriteString(text)
	r.onDelta(model.Delta{Kind: model.DeltaText, Index: i, Type: r.blocks[i].Type, Text: text})
}

// findBlock returns the index of the block of the tool call that a chunk continues, or
// -1 if a new call begins. A chunk's index may be missing, or be 0 for each of several
// calls.
func (c *toolCallTracker) findBlock(d toolCallDelta) int {
	found, ok := -1, false
	switch {
	case d.Index != nil:
		found, ok = c.byIndex[*d.Index]
		ok = ok && (d.ID == "" || d.Function.Name == "" || d.ID == c.ids[found])
	case d.ID != "":
		found, ok = c.byID[d.ID]
	case d.Function.Name == "":
		found, ok = c.last, true
	}
	if !ok {
		return -1
	}
	return found
}

func (c *toolCallTracker) addToolCall(d toolCallDelta, i int) {
	c.last, c.ids[i], c.byID[d.ID] = i, d.ID, i
	if d.Index != nil {
		c.byIndex[*d.Index] = i
	}
}

// buildResponse returns the complete reply, and reports the stop of each block to
// onDelta.
func (r *responseBuilder) buildResponse() *model.Response {
	for i := range r.blocks {
		b := &r.blocks[i]
		switch text := r.texts[i].String(); b.Type {
		case model.BlockText:
			b.Text = text
		case model.BlockThinking:
			b.Thinking = text
		default:
			if strings.TrimSpace(text) == "" {
				text = ""
			}
			b.Input = model.RepairToolInput(text)
		}
		r.onDelta(model.Delta{Kind: model.DeltaStop, Index: i, Type: b.Type})
	}
	if r.refused && r.stopReason == model.StopEndTurn {
		r.stopReason = model.StopRefusal
	}
	return &model.Response{Content: r.blocks, StopReason: r.stopReason, Usage: r.usage}
}

// toStopReason converts a finish_reason of Chat Completions to a stop reason. A value
// that it does not know stays the same.
func toStopReason(reason string) model.StopReason {
	switch reason {
	case "stop":
		return model.StopEndTurn
	case "tool_calls", "function_call":
		return model.StopToolUse
	case "length":
		return model.StopMaxTokens
	case "content_filter":
		return model.StopRefusal
	default:
		return model.StopReason(reason)
	}
}

// parseContentText returns the text of message content that is a string or a list of
// parts, and "" for anything else.
func parseContentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []contentPart
	_ = json.Unmarshal(content, &parts) // the list stays empty if it is malformed
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Text)
	}
	return all.String()
}

// parseArgumentText returns a fragment of the JSON arguments of a tool call. The
// fragment comes as a JSON string or, from some servers, as JSON itself.
func parseArgumentText(arguments json.RawMessage) string {
	var text string
	if json.Unmarshal(arguments, &text) == nil || len(arguments) == 0 {
		return text
	}
	return string(arguments)
}

// usedCallIDs records the ids of a conversation's tool calls, to give each new call an
// id that no other has.
type usedCallIDs struct {
	used      map[string]bool
	generated int
}

func newUsedCallIDs(messages []model.Message) usedCallIDs {
	ids := usedCallIDs{used: map[string]bool{}}
	for _, m := range messages {
		for _, call := range model.ToolUses(m.Content) {
			ids.used[call.ID] = true
		}
	}
	return ids
}

// uniqueID returns the tool call id from a chunk, or a new one if that is empty, longer
// than 128 bytes or already used.
func (c *usedCallIDs) uniqueID(given string) string {
	const most = 128
	for given == "" || len(given) > most || c.used[given] {
		c.generated++
		given = "call_" + strconv.Itoa(c.generated)
	}
	c.used[given] = true
	return given
}
