package mockapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/model/script"
)

// serveChat answers POST /v1/chat/completions: it plays the script in the wire format
// of OpenAI's API. Like other local servers it requires no key. It answers 400 to a
// malformed request and 413 to a too large one.
func (m *Server) serveChat(w http.ResponseWriter, r *http.Request, id int64) {
	if key := r.Header.Get("Authorization"); key != "" && !strings.HasPrefix(key, "Bearer ") {
		m.sendChatError(w, http.StatusUnauthorized, "the Authorization header must be a Bearer token")
		return
	}
	body, err := readRequestBody(w, r)
	if err != nil {
		m.sendChatError(w, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	in, messages, err := parseChatRequest(body)
	if err != nil {
		m.sendChatError(w, http.StatusBadRequest, err.Error())
		return
	}
	next, err := m.nextReply(r, messages, in.Stream)
	switch {
	case err != nil:
		m.sendChatError(w, http.StatusBadRequest, err.Error())
	case next != nil:
		out := completion{ID: "chatcmpl-" + strconv.FormatInt(id, 10), Model: in.Model}
		sendCompletion(w, r.Context().Done(), in, out, next)
	}
}

// sendCompletion sends the script's next reply as a chat completion, streamed if the
// request asks for it, or the API error or fault that the script has instead. Out holds
// id and model of the completion; done is closed when the client has disconnected.
func sendCompletion(w http.ResponseWriter, done <-chan struct{}, in *chatRequestBody, out completion, next *script.Reply) {
	switch {
	case next.Refusal != nil:
		sendScriptedError(w, next.Refusal, toChatErrorBody(next.RefusalBody))
	case next.Fault.ReplacesAnswer():
		playFaultInsteadOfAnswer(w, done, next.Fault)
	case in.Stream:
		sendStreamedCompletion(w, done, out, next, in.StreamOptions != nil && in.StreamOptions.IncludeUsage)
	case next.Fault != nil:
		sendUnstreamedWithFault(w, done, next.Fault, out.withScriptedReply(next), newChatErrorBody(next.Fault.Error))
	default:
		sendJSON(w, http.StatusOK, out.withScriptedReply(next))
	}
}

// completion is a response of the Chat Completions API, or one chunk of a streamed
// response.
type completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   *completionUsage   `json:"usage,omitempty"`
}

type completionChoice struct {
	Index        int            `json:"index"`
	Message      map[string]any `json:"message,omitempty"` // of a whole answer
	Delta        map[string]any `json:"delta,omitzero"`    // of a chunk
	FinishReason *string        `json:"finish_reason"`
}

type completionUsage struct {
	PromptTokens     int64            `json:"prompt_tokens"`
	CompletionTokens int64            `json:"completion_tokens"`
	TotalTokens      int64            `json:"total_tokens"`
	Details          map[string]int64 `json:"prompt_tokens_details"`
}

func newCompletionUsage(u model.Usage) *completionUsage {
	return &completionUsage{u.PromptTokens(), u.OutputTokens, u.TotalTokens(), map[string]int64{
		"cached_tokens": u.CacheReadInputTokens, "cache_write_tokens": u.CacheCreationInputTokens,
	}}
}

// completionToolCall is the tool call of a model in requests and responses of the Chat
// Completions API.
type completionToolCall struct {
	ID       string                 `json:"id"`
	Type     string                 `json:"type"` // function
	Function completionFunctionCall `json:"function"`
}

type completionFunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// withScriptedReply returns the completion with the whole content, stop reason and usage of a
// scripted reply.
func (c completion) withScriptedReply(r *script.Reply) completion {
	message := map[string]any{"role": model.RoleAssistant, "content": nil, "refusal": nil}
	var calls []completionToolCall
	var text, thinking strings.Builder
	for i, b := range r.Content {
		text.WriteString(b.Text)
		thinking.WriteString(b.Thinking)
		if b.Type == model.BlockToolUse {
			calls = append(calls, completionToolCall{b.ID, "function", completionFunctionCall{b.Name, r.ToolInput(i)}})
		}
	}
	if text.Len() > 0 {
		message["content"] = text.String()
	}
	if thinking.Len() > 0 {
		message["reasoning_content"] = thinking.String()
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	c.Object = "chat.completion"
	c.Choices = []completionChoice{{Message: message, FinishReason: toFinishReason(r.StopReason)}}
	c.Usage = newCompletionUsage(r.Usage)
	return c
}

// toFinishReason converts a stop reason to the finish_reason of Chat Completions. A stop
// reason without a counterpart keeps its name.
func toFinishReason(stop model.StopReason) *string {
	reason := string(stop)
	switch stop {
	case model.StopEndTurn, model.StopSequence:
		reason = "stop"
	case model.StopToolUse:
		reason = "tool_calls"
	case model.StopMaxTokens:
		reason = "length"
	case model.StopRefusal:
		reason = "content_filter"
	case model.StopPauseTurn, model.StopContextExceeded:
	}
	return &reason
}

// chatErrorBody is the JSON body of an error response of Chat Completions.
type chatErrorBody struct {
	Error chatErrorDetail `json:"error"`
}

type chatErrorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func newChatErrorBody(detail model.ErrorDetail) chatErrorBody {
	return chatErrorBody{chatErrorDetail{Message: detail.Message, Type: detail.Type}}
}

// sendChatError sends an error response of Chat Completions with this HTTP status and
// message, and logs it.
func (m *Server) sendChatError(w http.ResponseWriter, status int, text string) {
	m.log.Info("refused", "status", status, "error", text)
	sendJSON(w, status, newChatErrorBody(model.ErrorDetail{Type: model.ErrorTypeOfStatus(status), Message: text}))
}

// toChatErrorBody converts the body of a scripted API error from the format of the
// Messages API to that of Chat Completions. Bodies in any other format are returned
// unchanged.
func toChatErrorBody(body json.RawMessage) json.RawMessage {
	var parsed model.ErrorBody
	if json.Unmarshal(body, &parsed) == nil && parsed.Type == "error" && parsed.Error.Message != "" {
		body, _ = json.Marshal(newChatErrorBody(parsed.Error)) //nolint:errchkjson // two strings
	}
	return body
}

// completionStream sends the chunks of one streamed chat completion.
type completionStream struct {
	*eventStream
	head completion // what all chunks have in common
}

// sendStreamedCompletion sends a scripted reply as a stream of chat completion chunks. If the
// client asked for usage, a last chunk holds it. Out holds id and model of the
// completion.
func sendStreamedCompletion(w http.ResponseWriter, done <-chan struct{}, out completion, r *script.Reply, usage bool) {
	out.Object = "chat.completion.chunk"
	s := &completionStream{eventStream: newEventStream(w, done, r.Fault), head: out}
	s.errorEvent = func(detail model.ErrorDetail) []byte {
		return encodeDataEvent(newChatErrorBody(detail))
	}
	s.sendDelta(map[string]any{"role": model.RoleAssistant, "content": ""}, nil)
	s.sendEvent([]byte(": a comment, to keep the connection alive\n\n"))
	s.sendContent(r)
	s.last = true
	s.sendDelta(map[string]any{}, toFinishReason(r.StopReason))
	if usage {
		out.Choices, out.Usage = []completionChoice{}, newCompletionUsage(r.Usage)
		s.sendEvent(encodeDataEvent(out))
	}
	s.sendEvent([]byte("data: [DONE]\n\n"))
}

// sendContent sends the reply's text, thinking and tool calls as chunks, and skips
// blocks of types that Chat Completions lack.
func (s *completionStream) sendContent(r *script.Reply) {
	calls := 0
	for i, b := range r.Content {
		switch b.Type {
		case model.BlockText:
			s.sendTextPieces("content", b.Text)
		case model.BlockThinking:
			s.sendTextPieces("reasoning_content", b.Thinking)
		case model.BlockToolUse:
			s.sendToolCall(calls, b, r.ToolInput(i))
			calls++
		}
	}
}

func (s *completionStream) sendTextPieces(field, text string) {
	for _, piece := range script.SplitForStream(text) {
		s.sendDelta(map[string]any{field: piece}, nil)
	}
}

// sendToolCall sends a tool call as chunks: first its id and name, then its arguments in
// pieces.
func (s *completionStream) sendToolCall(index int, b model.Block, arguments string) {
	s.sendToolCallDelta(map[string]any{"index": index, "id": b.ID, "type": "function", "function": completionFunctionCall{Name: b.Name}})
	for _, piece := range script.SplitForStream(arguments) {
		s.sendToolCallDelta(map[string]any{"index": index, "function": map[string]any{"arguments": piece}})
	}
}

func (s *completionStream) sendToolCallDelta(call map[string]any) {
	s.sendDelta(map[string]any{"tool_calls": []any{call}}, nil)
}

func (s *completionStream) sendDelta(delta map[string]any, finish *string) {
	out := s.head
	out.Choices = []completionChoice{{Delta: delta, FinishReason: finish}}
	s.sendEvent(encodeDataEvent(out))
}

// encodeDataEvent encodes v as a server-sent event that has only a data line.
func encodeDataEvent(v any) []byte {
	text, _ := json.Marshal(v) //nolint:errchkjson // from a script, which was JSON
	return append(append([]byte("data: "), text...), "\n\n"...)
}
