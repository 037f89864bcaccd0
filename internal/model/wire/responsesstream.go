package wire

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"assay/internal/model"
)

// newResponse returns a response of the Responses API with this status and output. Of the
// members that repeat the request, it has those that clients require.
func newResponse(head Head, status string, output []any) map[string]any {
	return map[string]any{
		"id": "resp_" + head.ID, "object": "response", "created_at": head.Created, "model": head.Model,
		"status": status, "output": output, "error": nil, "incomplete_details": nil, "usage": nil,
		"instructions": nil, "metadata": map[string]any{}, "parallel_tool_calls": true, "temperature": nil,
		"tool_choice": "auto", "tools": []any{}, "top_p": nil,
	}
}

// finishResponse sets status, reason and usage of a response that has ended.
func finishResponse(response map[string]any, stop model.StopReason, u model.Usage) {
	response["usage"] = map[string]any{
		"input_tokens": u.PromptTokens(), "input_tokens_details": cacheDetails(u),
		"output_tokens": u.OutputTokens, "output_tokens_details": map[string]int64{"reasoning_tokens": 0},
		"total_tokens": u.TotalTokens(),
	}
	reason := string(stop)
	switch stop {
	case model.StopEndTurn, model.StopToolUse, model.StopSequence:
		response["status"] = "completed"
		return
	case model.StopMaxTokens:
		reason = "max_output_tokens"
	case model.StopRefusal:
		reason = "content_filter"
	case model.StopPauseTurn, model.StopContextExceeded:
	}
	response["status"], response["incomplete_details"] = "incomplete", map[string]any{"reason": reason}
}

// encodeResponse returns a whole response. It leaves out blocks that the API does not have.
func encodeResponse(head Head, resp *model.Response) []byte {
	output := []any{}
	for _, b := range resp.Content {
		if id := outputItemID(head, b, len(output)); id != "" {
			output = append(output, newOutputItem(head, id, b))
		}
	}
	response := newResponse(head, "completed", output)
	finishResponse(response, resp.StopReason, resp.Usage)
	return encode(response)
}

// isForeignItem reports whether a block of another type than those of package model is an output item of the API, as
// [ResponsesReply] keeps them: a call of a custom tool or of one of OpenAI's own.
func isForeignItem(b model.Block) bool {
	return strings.HasSuffix(b.Type, "_call") || b.Type == "mcp_list_tools" || b.Type == "mcp_approval_request" || b.Type == "compaction"
}

// outputItemID returns the id of the output item for a block, or "" if the API has no item
// for it.
func outputItemID(head Head, b model.Block, index int) string {
	suffix := "_" + head.ID + "_" + strconv.Itoa(index)
	switch b.Type {
	case model.BlockText:
		return "msg" + suffix
	case model.BlockToolUse:
		return "fc" + suffix
	case model.BlockThinking, model.BlockRedactedThinking:
		return "rs" + suffix
	}
	if !isForeignItem(b) {
		return ""
	}
	var own string
	_ = json.Unmarshal(foreignItem(b)["id"], &own) // "" if it is no string
	return cmp.Or(own, "item"+suffix)
}

// foreignItem returns the members of the output item that a block is: see isForeignItem.
func foreignItem(b model.Block) (members map[string]json.RawMessage) {
	text, err := json.Marshal(b)
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil // never: the block was decoded from JSON
	}
	return members
}

// newOutputItem returns the output item for a whole block.
func newOutputItem(head Head, id string, b model.Block) map[string]any {
	switch b.Type {
	case model.BlockText:
		return map[string]any{"type": "message", "id": id, "status": "completed", "role": model.RoleAssistant, "content": []any{outputText(b.Text)}}
	case model.BlockToolUse:
		arguments, status := cmp.Or(string(b.Input), "{}"), "completed"
		if !json.Valid([]byte(arguments)) {
			status = "incomplete"
		}
		namespace, name := head.splitToolName(b.Name)
		item := map[string]any{"type": "function_call", "id": id, "status": status, "call_id": b.ID, "name": name, "arguments": arguments}
		if namespace != "" {
			item["namespace"] = namespace
		}
		return item
	case model.BlockThinking, model.BlockRedactedThinking:
		summary := []any{}
		if b.Thinking != "" {
			summary = append(summary, summaryText(b.Thinking))
		}
		ownID, encrypted := encryptedContent(b)
		return map[string]any{"type": "reasoning", "id": cmp.Or(ownID, id), "summary": summary, "encrypted_content": encrypted}
	}
	item := map[string]any{}
	for name, value := range foreignItem(b) {
		item[name] = value
	}
	return item
}

// newEmptyOutputItem returns the output item for a block that begins.
func newEmptyOutputItem(head Head, id string, b model.Block) map[string]any {
	begun := b
	if !isForeignItem(b) {
		begun = model.Block{Type: b.Type, ID: b.ID, Name: b.Name}
	}
	item := newOutputItem(head, id, begun)
	if item["status"] != nil {
		item["status"] = "in_progress"
	}
	switch b.Type {
	case model.BlockText:
		item["content"] = []any{}
	case model.BlockToolUse:
		item["arguments"] = ""
	case itemCustomToolCall:
		item["input"] = ""
	case model.BlockThinking, model.BlockRedactedThinking:
		delete(item, "encrypted_content")
	}
	return item
}

func outputText(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func summaryText(text string) map[string]any {
	return map[string]any{"type": "summary_text", "text": text}
}

// responsesStream encodes the events of a streamed response. It leaves out blocks that the
// API does not have.
type responsesStream struct {
	head     Head
	emit     func(Event)
	output   []any  // the items that have ended
	id       string // of the item that is being sent, "" if the API has none for the block
	hasText  bool   // some of its text was sent
	sequence int    // number of the next event
}

func (s *responsesStream) start(model.Usage) {
	s.output = []any{}
	s.send("response.created", map[string]any{"response": newResponse(s.head, "in_progress", s.output)})
	s.send("response.in_progress", map[string]any{"response": newResponse(s.head, "in_progress", s.output)})
}

func (s *responsesStream) startBlock(b model.Block) {
	s.hasText = false
	if s.id = outputItemID(s.head, b, len(s.output)); s.id == "" {
		return
	}
	s.send("response.output_item.added", map[string]any{"output_index": len(s.output), "item": newEmptyOutputItem(s.head, s.id, b)})
	if b.Type == model.BlockText {
		s.sendPart("response.content_part.added", "content_index", map[string]any{"part": outputText("")})
	}
}

func (s *responsesStream) addText(b model.Block, text string) {
	switch b.Type {
	case model.BlockText:
		s.sendPart("response.output_text.delta", "content_index", map[string]any{"delta": text, "logprobs": []any{}})
	case model.BlockThinking:
		if !s.hasText {
			s.sendPart("response.reasoning_summary_part.added", "summary_index", map[string]any{"part": summaryText("")})
		}
		s.sendPart("response.reasoning_summary_text.delta", "summary_index", map[string]any{"delta": text})
	case model.BlockToolUse:
		s.sendPart("response.function_call_arguments.delta", "", map[string]any{"delta": text})
	}
	s.hasText = true
}

func (s *responsesStream) stopBlock(b model.Block) {
	if s.id == "" {
		return
	}
	item := newOutputItem(s.head, s.id, b)
	switch b.Type {
	case model.BlockText:
		s.sendPart("response.output_text.done", "content_index", map[string]any{"text": b.Text, "logprobs": []any{}})
		s.sendPart("response.content_part.done", "content_index", map[string]any{"part": outputText(b.Text)})
	case model.BlockThinking:
		if s.hasText {
			s.sendPart("response.reasoning_summary_text.done", "summary_index", map[string]any{"text": b.Thinking})
			s.sendPart("response.reasoning_summary_part.done", "summary_index", map[string]any{"part": summaryText(b.Thinking)})
		}
	case model.BlockToolUse:
		s.sendPart("response.function_call_arguments.done", "", map[string]any{"name": item["name"], "arguments": item["arguments"]})
	case itemCustomToolCall:
		s.sendPart("response.custom_tool_call_input.delta", "", map[string]any{"delta": item["input"]})
		s.sendPart("response.custom_tool_call_input.done", "", map[string]any{"input": item["input"]})
	}
	s.send("response.output_item.done", map[string]any{"output_index": len(s.output), "item": item})
	s.output = append(s.output, item)
}

// sendPart sends an event about the item that is being sent. index is the name of the
// member that says which part of the item it is, which is always the first, or "".
func (s *responsesStream) sendPart(eventType, index string, data map[string]any) {
	data["item_id"], data["output_index"] = s.id, len(s.output)
	if index != "" {
		data[index] = 0
	}
	s.send(eventType, data)
}

func (s *responsesStream) finish(stop model.StopReason, usage model.Usage) {
	response := newResponse(s.head, "", s.output)
	finishResponse(response, stop, usage)
	name := "response.completed"
	if response["status"] != "completed" {
		name = "response.incomplete"
	}
	s.emit(Event{Text: s.encode(name, map[string]any{"response": response}), Finishes: true})
}

func (s *responsesStream) fail(errorType, message string) {
	response := newResponse(s.head, "failed", s.output)
	response["error"] = map[string]string{"code": errorType, "message": message}
	s.send("response.failed", map[string]any{"response": response})
}

func (s *responsesStream) send(eventType string, data map[string]any) {
	s.emit(Event{Text: s.encode(eventType, data)})
}

func (s *responsesStream) encode(eventType string, data map[string]any) []byte {
	data["type"], data["sequence_number"] = eventType, s.sequence
	s.sequence++
	return encodeEvent(eventType, data)
}
