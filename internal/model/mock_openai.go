package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// chatPath is where a [Mock] is asked for Chat Completions.
const chatPath = "/v1/chat/completions"

// chat answers a request for a completion: the same script, in the shape of
// OpenAI's API. A key is not needed, as with other servers on loopback.
func (m *Mock) chat(w http.ResponseWriter, r *http.Request, id int64) {
	if key := r.Header.Get("Authorization"); key != "" && !strings.HasPrefix(key, "Bearer ") {
		m.refuseChat(w, http.StatusUnauthorized, "the Authorization header must be a Bearer token")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		m.refuseChat(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxRequest))
		return
	}
	in, messages, err := readChatRequest(body)
	if err != nil {
		m.refuseChat(w, http.StatusBadRequest, err.Error())
		return
	}
	turn, _ := strconv.Atoi(r.Header.Get(turnHeader)) // 0 without one
	next, err := m.player.next(turn, messages)
	if err != nil {
		m.refuseChat(w, http.StatusBadRequest, err.Error())
		return
	}
	m.log.Info("reply", "line", next.line, "stream", in.Stream, "messages", len(messages))
	if err := next.wait(r.Context()); err != nil {
		return // the client has gone
	}
	out := completion{ID: "chatcmpl-" + strconv.FormatInt(id, 10), Model: in.Model}
	gone := r.Context().Done()
	switch {
	case next.refusal != nil:
		next.sendChatRefusal(w)
	case next.fault.whole():
		next.fault.play(w, gone)
	case in.Stream:
		streamChat(w, gone, out, next, in.StreamOptions != nil && in.StreamOptions.IncludeUsage)
	case next.fault != nil:
		next.fault.spoil(w, gone, out.whole(next), newChatError(next.fault.said))
	default:
		send(w, http.StatusOK, out.whole(next))
	}
}

// completion is an answer on the wire, or a chunk of one.
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
	Message      map[string]any `json:"message,omitempty"`
	Delta        map[string]any `json:"delta,omitzero"`
	FinishReason *string        `json:"finish_reason"`
}

type completionUsage struct {
	PromptTokens     int64            `json:"prompt_tokens"`
	CompletionTokens int64            `json:"completion_tokens"`
	TotalTokens      int64            `json:"total_tokens"`
	Details          map[string]int64 `json:"prompt_tokens_details"`
}

func newCompletionUsage(u Usage) *completionUsage {
	return &completionUsage{u.Prompt(), u.OutputTokens, u.Total(), map[string]int64{
		"cached_tokens": u.CacheReadInputTokens, "cache_write_tokens": u.CacheCreationInputTokens,
	}}
}

// whole is a reply in one piece.
func (c completion) whole(r *reply) completion {
	message := map[string]any{"role": RoleAssistant, "content": nil, "refusal": nil}
	var calls []chatCall
	var said, thought strings.Builder
	for i, b := range r.content {
		said.WriteString(b.Text)
		thought.WriteString(b.Thinking)
		if b.Type == BlockToolUse {
			calls = append(calls, chatCall{b.ID, "function", chatFunction{b.Name, r.arguments(i)}})
		}
	}
	if said.Len() > 0 {
		message["content"] = said.String()
	}
	if thought.Len() > 0 {
		message["reasoning_content"] = thought.String()
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	c.Object = "chat.completion"
	c.Choices = []completionChoice{{Message: message, FinishReason: finishReason(r.stop)}}
	c.Usage = newCompletionUsage(r.usage)
	return c
}

// arguments is the input of the call in block i, as far as it came.
func (r *reply) arguments(i int) string {
	if r.cuts(i) {
		return cutInput(r.content[i].Input)
	}
	return string(orEmptyObject(r.content[i].Input))
}

// finishReason is what a stop reason is called. One that has no name there keeps
// its own.
func finishReason(stop StopReason) *string {
	reason := string(stop)
	switch stop {
	case StopEndTurn, StopSequence:
		reason = "stop"
	case StopToolUse:
		reason = "tool_calls"
	case StopMaxTokens:
		reason = "length"
	case StopRefusal:
		reason = "content_filter"
	case StopPauseTurn, StopContextExceeded:
	}
	return &reason
}

// chatErrorBody is an error as the API writes it.
type chatErrorBody struct {
	Error chatErrorDetail `json:"error"`
}

type chatErrorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func newChatError(said errorDetail) chatErrorBody {
	return chatErrorBody{chatErrorDetail{Message: said.Message, Type: said.Type}}
}

func (m *Mock) refuseChat(w http.ResponseWriter, status int, text string) {
	m.log.Info("refused", "status", status, "error", text)
	send(w, status, newChatError(errorDetail{errorType(status), text}))
}

// sendChatRefusal answers as the script says. A body that is an error of the
// Messages API is put into the other shape.
func (r *reply) sendChatRefusal(w http.ResponseWriter) {
	var said errorBody
	if json.Unmarshal(r.body, &said) == nil && said.Type == "error" && said.Error.Message != "" {
		other := *r
		other.body, _ = json.Marshal(newChatError(said.Error)) //nolint:errchkjson // two strings
		r = &other
	}
	r.sendRefusal(w)
}
