package wire

import (
	"encoding/json"
	"strconv"
	"strings"

	"assay/internal/model"
)

// chatEnd is the data of the last event of a stream.
const chatEnd = "[DONE]"

// ChatReply builds a model's reply from what the Chat Completions API, or a compatible
// server, sends: the chunks of a stream, or a whole completion. All text becomes one
// block, and so does all reasoning, without a signature. Each tool call becomes a block,
// in the order of the calls' first chunks.
type ChatReply struct {
	assembler
	ids        usedCallIDs
	refused    bool           // some text came as a refusal
	textBlocks map[string]int // index of the block of text and of that of thinking, by type
	calls      toolCallTracker
	done       bool // [DONE] has come
}

// NewChatReply returns an empty reply to a conversation with these messages: each tool call
// gets an id that none of them has. onDelta, which may be nil, is called with the pieces
// of the reply.
func NewChatReply(onDelta func(model.Delta), messages []model.Message) *ChatReply {
	return &ChatReply{
		assembler: newAssembler(onDelta), ids: newUsedCallIDs(messages), textBlocks: map[string]int{},
		calls: toolCallTracker{byIndex: map[int]int{}, byID: map[string]int{}, ids: map[int]string{}, last: -1},
	}
}

// replyChunk is one chunk of a streamed reply, or the whole reply of a server that does
// not stream.
type replyChunk struct {
	Choices []chunkChoice   `json:"choices"`
	Usage   *usageCounts    `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chunkChoice struct {
	Index        int           `json:"index"`
	Delta        *messageDelta `json:"delta"`
	Message      *messageDelta `json:"message"` // whole answers only
	FinishReason string        `json:"finish_reason"`
}

type messageDelta struct {
	Content          json.RawMessage    `json:"content"`
	Refusal          string             `json:"refusal"`
	ReasoningContent string             `json:"reasoning_content"`
	Reasoning        json.RawMessage    `json:"reasoning"` // a string; some servers use this name
	ToolCalls        []toolCallDelta    `json:"tool_calls"`
	FunctionCall     *functionCallDelta `json:"function_call"`
}

type toolCallDelta struct {
	Index    *int              `json:"index"`
	ID       string            `json:"id"`
	Function functionCallDelta `json:"function"`
}

type functionCallDelta struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string, but some servers send an object
}

// usageCounts is the token usage in a chunk.
type usageCounts struct {
	PromptTokens     tokenCount    `json:"prompt_tokens"` // with the cached ones
	CompletionTokens tokenCount    `json:"completion_tokens"`
	Details          promptDetails `json:"prompt_tokens_details"`
}

// promptDetails says how much of a prompt was read from the cache of OpenAI and how much
// was written to it.
type promptDetails struct {
	CachedTokens     tokenCount `json:"cached_tokens"`
	CacheWriteTokens tokenCount `json:"cache_write_tokens"`
}

// usage returns the token usage of a prompt, which includes the cached tokens, and a reply.
func (d promptDetails) usage(prompt, output tokenCount) model.Usage {
	return model.Usage{
		InputTokens: max(0, int64(prompt-d.CachedTokens-d.CacheWriteTokens)), OutputTokens: int64(output),
		CacheReadInputTokens: int64(d.CachedTokens), CacheCreationInputTokens: int64(d.CacheWriteTokens),
	}
}

// toolCallTracker finds the block of a tool call by the ids and indexes in chunks, which
// some servers omit or repeat.
type toolCallTracker struct {
	byIndex map[int]int
	byID    map[string]int
	ids     map[int]string // by block: the id in the chunk
	last    int            // block of the call that began last, -1 before the first
}

// AddEvent adds the data of the next event: a chunk, of whose choices it uses only the first,
// or [DONE]. An error in the chunk is returned as a [*model.APIError], and text that is not
// JSON as a [model.ErrCutStream].
func (r *ChatReply) AddEvent(data []byte) error {
	if r.done = string(data) == chatEnd; r.done {
		return nil
	}
	return r.AddWhole(data)
}

// AddWhole adds a whole completion, or a chunk. Its errors are those of [ChatReply.AddEvent].
func (r *ChatReply) AddWhole(text []byte) error {
	var c replyChunk
	if err := decodeLeniently(text, &c); err != nil {
		return err
	}
	if !isNull(c.Error) {
		return DecodeError(Chat, 0, c.Error)
	}
	if c.Usage != nil {
		r.usage = c.Usage.Details.usage(c.Usage.PromptTokens, c.Usage.CompletionTokens)
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

func (r *ChatReply) addStreamEvent(e streamEvent) error { return r.AddEvent(e.data) }

// IsDone reports whether [DONE] has come.
func (r *ChatReply) IsDone() bool { return r.done }

func (r *ChatReply) addDelta(d *messageDelta) {
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
func (r *ChatReply) addText(kind, text string) {
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

func (r *ChatReply) addToolCall(d toolCallDelta) {
	i := r.calls.findBlock(d)
	if i < 0 {
		i = r.startBlock(model.ToolUse(r.ids.uniqueID(d.ID), d.Function.Name, nil))
		r.calls.addToolCall(d, i)
	}
	if b := r.blocks[i]; b.Name == "" {
		b.Name = d.Function.Name
	}
	r.extendBlock(i, parseArgumentText(d.Function.Arguments))
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

// IsComplete reports whether the finish_reason has come.
func (r *ChatReply) IsComplete() bool { return r.stopReason != "" }

// Stop reports the end of each block to onDelta. The caller calls it when the reply is
// complete: the API does not say where a block ends.
func (r *ChatReply) Stop() {
	for i := range r.blocks {
		r.stopBlock(i)
	}
}

// Response returns what has come so far.
func (r *ChatReply) Response() *model.Response {
	out := r.response()
	if r.refused && out.StopReason == model.StopEndTurn {
		out.StopReason = model.StopRefusal
	}
	return out
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
	var parts []struct {
		Text string `json:"text"`
	}
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
