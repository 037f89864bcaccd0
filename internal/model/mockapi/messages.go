package mockapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"assay/internal/model"
	"assay/internal/model/script"
)

// serveMessage answers POST /v1/messages with the script's next reply. It sends an
// error with status 400 for a request that the API or the script rejects, and 413 for a
// too large one.
func (m *Server) serveMessage(w http.ResponseWriter, r *http.Request, id int64) {
	body, err := readRequestBody(w, r)
	if err != nil {
		m.sendMessagesError(w, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	in, err := parseMessageRequest(body)
	if err == nil {
		err = m.player.CheckThinking(in.Messages)
	}
	if err != nil {
		m.sendMessagesError(w, http.StatusBadRequest, err.Error())
		return
	}
	next, err := m.nextReply(r, in.Messages, in.Stream)
	switch {
	case err != nil:
		m.sendMessagesError(w, http.StatusBadRequest, err.Error())
	case next != nil:
		out := messageResponse{ID: "msg_" + strconv.FormatInt(id, 10), Type: "message", Role: model.RoleAssistant, Model: in.Model, Usage: next.Usage}
		sendMessage(w, r.Context().Done(), in.Stream, out, next)
	}
}

// sendMessage sends the script's next reply in the format of the Messages API, streamed
// if stream is set, or the API error or fault that the script has instead. out is the
// message without content; done is closed when the client has disconnected.
func sendMessage(w http.ResponseWriter, done <-chan struct{}, stream bool, out messageResponse, next *script.Reply) {
	if stream && next.Refusal == nil && !next.Fault.ReplacesAnswer() {
		sendStreamedMessage(w, done, out, next)
		return
	}
	out.Content, out.StopReason = next.WholeContent(), &next.StopReason
	switch {
	case next.Refusal != nil:
		sendScriptedError(w, next.Refusal, next.RefusalBody)
	case next.Fault.ReplacesAnswer():
		playFaultInsteadOfAnswer(w, done, next.Fault)
	case next.Fault != nil:
		sendUnstreamedWithFault(w, done, next.Fault, out, model.ErrorBody{Type: "error", Error: next.Fault.Error})
	default:
		sendJSON(w, http.StatusOK, out)
	}
}

// messageResponse is a reply as the Messages API sends it.
type messageResponse struct {
	ID           string            `json:"id"`
	Type         string            `json:"type"`
	Role         string            `json:"role"`
	Model        string            `json:"model"`
	Content      []model.Block     `json:"content"`
	StopReason   *model.StopReason `json:"stop_reason"`
	StopSequence *string           `json:"stop_sequence"`
	Usage        model.Usage       `json:"usage"`
}

// sendStreamedMessage sends a scripted reply as the event stream of the Messages API, with
// its fault. out is the message without content; done is closed when the client has
// disconnected.
func sendStreamedMessage(w http.ResponseWriter, done <-chan struct{}, out messageResponse, r *script.Reply) {
	s := newEventStream(w, done, r.Fault)
	s.errorEvent = func(detail model.ErrorDetail) []byte {
		return encodeMessageEvent("error", map[string]any{"error": detail})
	}
	out.Content, out.Usage.OutputTokens = []model.Block{}, 0
	for _, e := range r.StreamEvents() {
		if e.Type == "message_start" {
			e.Data["message"] = out
		}
		s.last = e.Type == "message_stop"
		s.sendEvent(encodeMessageEvent(e.Type, e.Data))
	}
}

// encodeMessageEvent encodes an event of the Messages API as a server-sent event. It
// adds the member type to data.
func encodeMessageEvent(eventType string, data map[string]any) []byte {
	data["type"] = eventType
	text, _ := json.Marshal(data) //nolint:errchkjson // from a script, which was JSON
	return append(append([]byte("event: "+eventType+"\ndata: "), text...), "\n\n"...)
}
