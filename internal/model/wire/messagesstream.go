package wire

import "assay/internal/model"

// messageJSON is a reply as the Messages API sends it.
type messageJSON struct {
	ID           string            `json:"id"`
	Type         string            `json:"type"`
	Role         string            `json:"role"`
	Model        string            `json:"model"`
	Content      []model.Block     `json:"content"`
	StopReason   *model.StopReason `json:"stop_reason"`
	StopSequence *string           `json:"stop_sequence"`
	Usage        model.Usage       `json:"usage"`
}

func newMessageJSON(head Head, content []model.Block, usage model.Usage) messageJSON {
	return messageJSON{ID: "msg_" + head.ID, Type: "message", Role: model.RoleAssistant, Model: head.Model, Content: content, Usage: usage}
}

// messagesStream encodes the events of a streamed message.
type messagesStream struct {
	head  Head
	emit  func(Event)
	index int // of the block
}

func (s *messagesStream) start(usage model.Usage) {
	usage.OutputTokens = 0
	s.send("message_start", map[string]any{"message": newMessageJSON(s.head, []model.Block{}, usage)})
}

func (s *messagesStream) startBlock(b model.Block) {
	s.send("content_block_start", map[string]any{"index": s.index, "content_block": withoutSignature(b)})
}

// withoutSignature returns a block as it starts: the signature comes at its end.
func withoutSignature(b model.Block) model.Block {
	b.Signature = ""
	return b
}

func (s *messagesStream) addText(b model.Block, text string) {
	switch b.Type {
	case model.BlockText:
		s.sendDelta("text_delta", "text", text)
	case model.BlockThinking:
		s.sendDelta("thinking_delta", "thinking", text)
	case model.BlockToolUse:
		s.sendDelta("input_json_delta", "partial_json", text)
	}
}

func (s *messagesStream) sendDelta(deltaType, field, text string) {
	s.send("content_block_delta", map[string]any{"index": s.index, "delta": map[string]any{"type": deltaType, field: text}})
}

func (s *messagesStream) stopBlock(b model.Block) {
	if b.Type == model.BlockThinking {
		s.sendDelta("signature_delta", "signature", b.Signature)
	}
	s.send("content_block_stop", map[string]any{"index": s.index})
	s.index++
}

func (s *messagesStream) finish(stop model.StopReason, usage model.Usage) {
	s.send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	s.emit(Event{Text: encodeEvent("message_stop", map[string]any{"type": "message_stop"}), Finishes: true})
}

func (s *messagesStream) fail(errorType, message string) {
	s.send("error", map[string]any{"error": model.ErrorDetail{Type: errorType, Message: message}})
}

func (s *messagesStream) send(eventType string, data map[string]any) {
	data["type"] = eventType
	s.emit(Event{Text: encodeEvent(eventType, data)})
}
