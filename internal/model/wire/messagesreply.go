package wire

import (
	"encoding/json"
	"fmt"

	"assay/internal/model"
)

// MessagesReply builds a model's reply from what the Messages API sends: the events of a
// stream, or a whole message. A tool input that is cut in the middle is no error.
type MessagesReply struct {
	assembler
	isComplete bool
}

// NewMessagesReply returns an empty reply. onDelta, which may be nil, is called with the
// pieces of a streamed reply.
func NewMessagesReply(onDelta func(model.Delta)) *MessagesReply {
	return &MessagesReply{assembler: newAssembler(onDelta)}
}

// IsComplete reports whether message_stop, or a whole message, has come.
func (r *MessagesReply) IsComplete() bool { return r.isComplete }

// Response returns what has come so far.
func (r *MessagesReply) Response() *model.Response { return r.response() }

// addStreamEvent adds an event as the vendor's clients do: they go by its name, and skip an
// event without one.
func (r *MessagesReply) addStreamEvent(e streamEvent) error {
	switch e.name {
	case "", "ping":
		return nil
	case "error":
		return DecodeError(Messages, 0, e.data)
	default:
		return r.AddEvent(e.data)
	}
}

// IsDone reports the same as IsComplete: nothing comes after that.
func (r *MessagesReply) IsDone() bool { return r.isComplete }

// messageEvent is the data of an event of the Messages API.
type messageEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage messageUsage `json:"usage"`
	} `json:"message"` // message_start
	ContentBlock json.RawMessage `json:"content_block"` // content_block_start
	Delta        struct {
		Type        string           `json:"type"`
		Text        string           `json:"text"`
		Thinking    string           `json:"thinking"`
		Signature   string           `json:"signature"`
		PartialJSON string           `json:"partial_json"`
		StopReason  model.StopReason `json:"stop_reason"` // message_delta
	} `json:"delta"`
	Usage messageUsage `json:"usage"` // message_delta
}

// messageUsage is the usage in a reply. Counts that are absent have not changed.
type messageUsage struct {
	Input         *tokenCount `json:"input_tokens"`
	Output        *tokenCount `json:"output_tokens"`
	CacheCreation *tokenCount `json:"cache_creation_input_tokens"`
	CacheRead     *tokenCount `json:"cache_read_input_tokens"`
}

// update sets the counts that u has.
func (u messageUsage) update(usage *model.Usage) {
	for _, c := range []struct {
		from *tokenCount
		to   *int64
	}{
		{u.Input, &usage.InputTokens},
		{u.Output, &usage.OutputTokens},
		{u.CacheCreation, &usage.CacheCreationInputTokens},
		{u.CacheRead, &usage.CacheReadInputTokens},
	} {
		if c.from != nil {
			*c.to = int64(*c.from)
		}
	}
}

// AddEvent adds the data of the next event. It ignores events of unknown types, since the
// API may add some at any time. Data that is not JSON, and a block that starts out of order
// or was never started, are errors.
func (r *MessagesReply) AddEvent(data []byte) error {
	var e messageEvent
	if err := decodeLeniently(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		e.Message.Usage.update(&r.usage)
	case "content_block_start":
		return r.startContentBlock(e)
	case "content_block_delta":
		return r.extendContentBlock(e)
	case "content_block_stop":
		if err := r.checkStarted(e); err != nil {
			return err
		}
		r.stopBlock(e.Index)
	case "message_delta":
		r.stopReason = e.Delta.StopReason
		e.Usage.update(&r.usage)
	case "message_stop":
		r.isComplete = true
	}
	return nil
}

func (r *MessagesReply) startContentBlock(e messageEvent) error {
	if e.Index != len(r.blocks) {
		return fmt.Errorf("block %d of the reply starts where %d was due", e.Index, len(r.blocks))
	}
	var b model.Block
	if err := json.Unmarshal(e.ContentBlock, &b); err != nil {
		return fmt.Errorf("block %d of the reply: %w", e.Index, err)
	}
	r.startBlock(b)
	return nil
}

func (r *MessagesReply) extendContentBlock(e messageEvent) error {
	if err := r.checkStarted(e); err != nil {
		return err
	}
	switch e.Delta.Type {
	case "text_delta":
		r.extendBlock(e.Index, e.Delta.Text)
	case "thinking_delta":
		r.extendBlock(e.Index, e.Delta.Thinking)
	case "input_json_delta":
		r.extendBlock(e.Index, e.Delta.PartialJSON)
	case "signature_delta":
		r.blocks[e.Index].signature.WriteString(e.Delta.Signature)
	}
	return nil
}

// checkStarted returns an error if the block that an event refers to has not started.
func (r *MessagesReply) checkStarted(e messageEvent) error {
	if e.Index < 0 || e.Index >= len(r.blocks) {
		return fmt.Errorf("%s for block %d of the reply, which never started", e.Type, e.Index)
	}
	return nil
}

// AddWhole adds the body of a response that is not streamed.
func (r *MessagesReply) AddWhole(body []byte) error {
	var in struct {
		Type       string            `json:"type"`
		Content    []json.RawMessage `json:"content"`
		StopReason model.StopReason  `json:"stop_reason"`
		Usage      messageUsage      `json:"usage"`
	}
	if err := decodeLeniently(body, &in); err != nil {
		return err
	}
	if in.Type == "error" {
		return DecodeError(Messages, 0, body)
	}
	for i, text := range in.Content {
		if err := r.startContentBlock(messageEvent{Index: i, ContentBlock: text}); err != nil {
			return err
		}
		r.stopBlock(i)
	}
	r.stopReason = in.StopReason
	in.Usage.update(&r.usage)
	r.isComplete = true
	return nil
}
