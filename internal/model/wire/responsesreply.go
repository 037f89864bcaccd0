package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"assay/internal/model"
)

// ResponsesReply builds a model's reply from what the Responses API sends: the events of a
// stream, or a whole response. Each text part of a message, each reasoning item and each
// function call becomes a block. An item of another type keeps its JSON.
type ResponsesReply struct {
	pieces         pieceReporter
	keepsReasoning bool                // OpenAI's own reasoning gets a signature
	items          map[int]*outputItem // by output_index
	output         []model.Block       // of the response in the last event, which has all items
	usage          model.Usage
	stop           model.StopReason
	done           bool // the response has ended
	refused        bool // some text came as a refusal
}

// NewResponsesReply returns an empty reply. onDelta, which may be nil, is called with the
// pieces of the reply. The signature of a reasoning item is what [ReasoningOfSignature]
// takes apart, so that the item can be sent back.
func NewResponsesReply(onDelta func(model.Delta)) *ResponsesReply {
	return &ResponsesReply{pieces: newPieceReporter(onDelta), keepsReasoning: true, items: map[int]*outputItem{}}
}

// outputItem is one item of the output while it arrives.
type outputItem struct {
	outputItemJSON               // as it was added
	parts          []*itemPart   // what has come of it: one part, or several of a message
	blocks         []model.Block // of the finished item
	isFinished     bool
}

// Types of the items of a response's output. Those of the first group become blocks.
const (
	itemMessage      = "message"
	itemFunctionCall = "function_call"
	itemReasoning    = "reasoning"

	itemCustomToolCall = "custom_tool_call"
)

// outputItemJSON is the JSON of an item of a response's output.
type outputItemJSON struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"` // message, and reasoning that is not a summary
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments json.RawMessage `json:"arguments"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"` // reasoning
	EncryptedContent string `json:"encrypted_content"` // reasoning
}

// responseJSON is the JSON of a response.
type responseJSON struct {
	Status            string            `json:"status"`
	Output            []json.RawMessage `json:"output"`
	Error             json.RawMessage   `json:"error"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		InputTokens  tokenCount    `json:"input_tokens"` // with the cached ones
		OutputTokens tokenCount    `json:"output_tokens"`
		Details      promptDetails `json:"input_tokens_details"`
	} `json:"usage"`
}

// responsesEvent is the data of an event of the Responses API.
type responsesEvent struct {
	Type        string          `json:"type"`
	OutputIndex int             `json:"output_index"`
	Item        json.RawMessage `json:"item"`
	Delta       json.RawMessage `json:"delta"` // a string in the events that matter
	TextPart    int             `json:"content_index"`
	SummaryPart int             `json:"summary_index"`
	Response    json.RawMessage `json:"response"`
}

func (r *ResponsesReply) addStreamEvent(e streamEvent) error { return r.AddEvent(e.data) }

// AddEvent adds the data of the next event of a stream. It ignores events of unknown types.
// An error in the event is returned as a [*model.APIError], and data that is not JSON as a
// [model.ErrCutStream].
func (r *ResponsesReply) AddEvent(data []byte) error {
	if string(data) == chatEnd {
		return nil // some compatible servers end as in a chat
	}
	var event responsesEvent
	if err := decodeLeniently(data, &event); err != nil {
		return err
	}
	switch event.Type {
	case "response.output_item.added":
		r.addItem(event)
	case "response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.extendItem(event)
	case "response.reasoning_summary_part.added":
		if item := r.items[event.OutputIndex]; item != nil && event.SummaryPart > 0 {
			item.part(0).text.WriteString(summarySeparator)
		}
	case "response.output_item.done":
		if err := r.finishItem(event); err != nil {
			return err
		}
	case "response.completed", "response.incomplete", "response.failed":
		r.done = true
		return r.AddWhole(event.Response)
	case "error":
		return DecodeError(Responses, 0, data)
	}
	r.pieces.report(r.items)
	return nil
}

// summarySeparator is put between the parts of the summary of a reasoning item.
const summarySeparator = "\n\n"

func (r *ResponsesReply) addItem(e responsesEvent) {
	item := &outputItem{}
	r.items[e.OutputIndex] = item
	_ = json.Unmarshal(e.Item, &item.outputItemJSON) // it stays empty if it says nothing
	if item.Type == itemFunctionCall {
		item.part(0) // a call may have no arguments
	}
}

func (r *ResponsesReply) extendItem(e responsesEvent) {
	item := r.items[e.OutputIndex]
	if item == nil || item.isFinished {
		return // an event that refers to no item has no meaning
	}
	var text string
	_ = json.Unmarshal(e.Delta, &text) // "" if it is no string
	index := 0
	if item.Type == itemMessage {
		index = e.TextPart
	}
	item.part(index).text.WriteString(text)
}

func (r *ResponsesReply) finishItem(e responsesEvent) error {
	blocks, err := r.decodeOutputItem(e.Item)
	item := &outputItem{blocks: blocks, isFinished: true}
	if began := r.items[e.OutputIndex]; began != nil {
		item.outputItemJSON, item.parts = began.outputItemJSON, began.parts
	}
	r.items[e.OutputIndex] = item
	return err
}

// AddWhole adds a response: the body of one that is not streamed, or the response in the
// last event of a stream. Its errors are those of [ResponsesReply.AddEvent].
func (r *ResponsesReply) AddWhole(body []byte) error {
	if isNull(body) {
		return nil // an event that says no more than that the response has ended
	}
	var in responseJSON
	if err := decodeLeniently(body, &in); err != nil {
		return err
	}
	var output []model.Block
	for _, item := range in.Output {
		blocks, err := r.decodeOutputItem(item)
		if err != nil {
			return err
		}
		output = append(output, blocks...)
	}
	if r.output = output; len(output) > 0 {
		clear(r.items)
	}
	if u := in.Usage; u != nil {
		r.usage = u.Details.usage(u.InputTokens, u.OutputTokens)
	}
	if !isNull(in.Error) {
		return DecodeError(Responses, 0, in.Error)
	}
	r.stop = r.stopReason(&in)
	return nil
}

// Stop reports to onDelta the end of each block that has not ended, and the blocks of which
// no piece has come. The caller calls it when the reply is complete.
func (r *ResponsesReply) Stop() { r.pieces.finish(r.content()) }

// stopReason returns why a response has ended, or "" if it has not.
func (r *ResponsesReply) stopReason(in *responseJSON) model.StopReason {
	switch {
	case in.Status == "incomplete" && in.IncompleteDetails.Reason == "max_output_tokens":
		return model.StopMaxTokens
	case in.Status == "incomplete" && in.IncompleteDetails.Reason == "content_filter":
		return model.StopRefusal
	case in.Status == "incomplete":
		return model.StopReason(in.IncompleteDetails.Reason)
	case in.Status != "completed":
		return ""
	case len(model.ToolUses(r.content())) > 0:
		return model.StopToolUse
	case r.refused:
		return model.StopRefusal
	default:
		return model.StopEndTurn
	}
}

// decodeOutputItem converts an item of a response's output to blocks.
func (r *ResponsesReply) decodeOutputItem(text json.RawMessage) ([]model.Block, error) {
	if isNull(text) {
		return nil, nil
	}
	var in outputItemJSON
	if err := decodeLeniently(text, &in); err != nil {
		return nil, err
	}
	switch in.Type {
	case itemMessage:
		var out []model.Block
		for _, part := range in.Content {
			out = append(out, model.Text(part.Text+part.Refusal))
			r.refused = r.refused || part.Refusal != ""
		}
		return out, nil
	case itemFunctionCall:
		return []model.Block{in.toolUse(parseArgumentText(in.Arguments))}, nil
	case itemReasoning:
		return []model.Block{in.thinking(in.reasoningText(), r.keepsReasoning)}, nil
	default:
		var other model.Block
		_ = json.Unmarshal(text, &other) // it stays empty if the item has no type
		if other.Type == "" {
			return nil, nil
		}
		return []model.Block{other}, nil
	}
}

func (in *outputItemJSON) toolUse(arguments string) model.Block {
	return model.ToolUse(in.CallID, joinToolName(in.Namespace, in.Name), model.RepairToolInput(arguments))
}

// reasoningText returns the summary of a reasoning item or, from some servers, the
// reasoning itself.
func (in *outputItemJSON) reasoningText() string {
	var texts []string
	for _, part := range in.Summary {
		texts = append(texts, part.Text)
	}
	if len(texts) == 0 {
		for _, part := range in.Content {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, summarySeparator)
}

// arrived returns what has come of the item.
func (i *outputItem) arrived() []model.Block {
	if i.isFinished {
		return i.blocks
	}
	var out []model.Block
	for _, part := range i.parts {
		switch text := part.text.String(); {
		case i.Type == itemFunctionCall:
			out = append(out, i.toolUse(text))
		case text == "":
		case i.Type == itemMessage:
			out = append(out, model.Text(text))
		case i.Type == itemReasoning:
			out = append(out, i.thinking(text, false))
		}
	}
	return out
}

// content returns the blocks of the output: of the response, if it came, otherwise of the
// items in their order.
func (r *ResponsesReply) content() []model.Block {
	content := slices.Clone(r.output)
	if len(content) > 0 {
		return content
	}
	for _, index := range slices.Sorted(maps.Keys(r.items)) {
		content = append(content, r.items[index].arrived()...)
	}
	return content
}

func (r *ResponsesReply) hasContent() bool { return len(r.items) > 0 || len(r.output) > 0 }

// IsDone reports whether the last event of a stream has come.
func (r *ResponsesReply) IsDone() bool { return r.done }

// IsComplete reports whether the response has ended.
func (r *ResponsesReply) IsComplete() bool { return r.done || r.stop != "" }

// Response returns what has come so far.
func (r *ResponsesReply) Response() *model.Response {
	content := r.content()
	if content == nil {
		content = []model.Block{}
	}
	return &model.Response{Content: content, StopReason: r.stop, Usage: r.usage}
}
