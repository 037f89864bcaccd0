package mockapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"assay/internal/model"
	"assay/internal/model/script"
	"assay/internal/model/wire"
)

// reply is the answer to one request.
type reply struct {
	api        wire.API
	isStreamed bool
	head       wire.Head
	next       *script.Reply // what the script says
}

// send sends the script's reply in the format of the API, or the API error or fault that
// the script has instead. done is closed when the client has disconnected.
func (r *reply) send(w http.ResponseWriter, done <-chan struct{}) {
	fault := r.next.Fault
	switch {
	case r.next.Refusal != nil:
		sendScriptedError(w, r.api, r.next.Refusal, r.next.RefusalBody)
	case fault.ReplacesAnswer():
		playFaultInsteadOfAnswer(w, done, fault)
	case r.isStreamed:
		r.sendStream(w, done)
	case fault != nil:
		sendUnstreamedWithFault(w, done, r.api, fault, r.encodeWhole())
	default:
		sendJSON(w, http.StatusOK, r.encodeWhole())
	}
}

// encodeWhole returns the reply as the API sends it without a stream. A tool call that is cut off
// has the input {} in Messages, and cut JSON in the other APIs.
func (r *reply) encodeWhole() []byte {
	content := r.next.WholeContent()
	for i, b := range content {
		if r.api != wire.Messages && b.Type == model.BlockToolUse {
			content[i].Input = json.RawMessage(r.next.ToolInput(i))
		}
	}
	text, err := wire.EncodeReply(r.api, r.head, &model.Response{Content: content, StopReason: r.next.StopReason, Usage: r.next.Usage})
	if err != nil {
		return wire.ErrorBody(r.api, http.StatusInternalServerError, "", err.Error()) // cannot happen: a script is JSON
	}
	return text
}

// sendStream sends the reply as an event stream, with its fault.
func (r *reply) sendStream(w http.ResponseWriter, done <-chan struct{}) {
	s := newEventStream(w, done, r.next.Fault)
	encoder := wire.NewStreamEncoder(r.api, r.head, s.sendEvent)
	s.fail = encoder.Fail
	encoder.Start(r.next.Usage)
	s.sendEvent(wire.Event{Text: []byte(keepAliveEvent(r.api))})
	for _, d := range r.next.StreamDeltas() {
		encoder.WriteDelta(d)
	}
	encoder.Finish(&model.Response{StopReason: r.next.StopReason, Usage: r.next.Usage})
}

// keepAliveEvent returns what the API sends to keep a connection alive.
func keepAliveEvent(api wire.API) string {
	if api == wire.Messages {
		return "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	}
	return ": a comment, to keep the connection alive\n\n"
}

// sendScriptedError sends an API error of the script: its status, its Retry-After and this
// body, which is in the format of Messages or in any other. A body that is a JSON string
// is sent as plain text.
func sendScriptedError(w http.ResponseWriter, api wire.API, refusal *model.APIError, body json.RawMessage) {
	if refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(refusal.RetryAfter.Seconds(), 'f', -1, 64))
	}
	var text string
	var parsed model.ErrorBody
	switch {
	case json.Unmarshal(body, &text) == nil:
		http.Error(w, text, refusal.Status)
	case api != wire.Messages && json.Unmarshal(body, &parsed) == nil && parsed.Type == "error" && parsed.Error.Message != "":
		wire.WriteError(w, api, refusal.Status, parsed.Error.Type, parsed.Error.Message)
	default:
		sendJSON(w, refusal.Status, body)
	}
}

func sendJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}
