package wire

import (
	"fmt"
	"net/http"
	"time"

	"assay/internal/model"
	"assay/internal/rawjson"
)

// EncodeReply returns a whole reply, which is not streamed, as the API sends it. Malformed
// JSON in the input of a tool call is an error in the Messages API.
func EncodeReply(api API, head Head, resp *model.Response) ([]byte, error) {
	switch api {
	case Messages:
		out := newMessageJSON(head, resp.Content, resp.Usage)
		out.StopReason = &resp.StopReason
		text, err := rawjson.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("write the reply: %w", err)
		}
		return text, nil
	case Chat:
		return encodeCompletion(head, resp), nil
	default:
		return encodeResponse(head, resp), nil
	}
}

// SetStreamHeaders sets the headers of an event stream.
func SetStreamHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
}

// ReplyWriter writes the reply to one request in the format of an API, streamed or whole,
// from the deltas and the response of a [model.Client]. It sets status and headers with
// the first byte, and flushes each event. It is not safe for concurrent use.
//
// What an API does not have is left out: a chat has no redacted thinking, no signatures and
// no blocks of types that the package model does not know, and of these Responses have the items of
// OpenAI only. For OpenAI's APIs a stop sequence is the ordinary end of a reply.
type ReplyWriter struct {
	w      http.ResponseWriter
	api    API
	head   Head
	stream *StreamEncoder // nil if the reply is not streamed
	sent   bool           // some of the response was sent
	ended  bool
	err    error // of the first write that failed
}

// NewReplyWriter returns a writer of the reply to a request with this envelope. The id is
// without the prefix of the API, such as msg_.
func NewReplyWriter(w http.ResponseWriter, api API, env Envelope, id string) *ReplyWriter {
	out := &ReplyWriter{w: w, api: api, head: Head{ID: id, Model: env.Model, Created: time.Now().Unix(), IncludesUsage: env.IncludesUsage, Namespaces: env.Namespaces}}
	if env.IsStreamed {
		out.stream = NewStreamEncoder(api, out.head, out.sendEvent)
	}
	return out
}

// sendEvent sends one event, and before the first one the headers.
func (w *ReplyWriter) sendEvent(e Event) {
	if !w.sent {
		w.sent = true
		SetStreamHeaders(w.w.Header())
		w.w.WriteHeader(http.StatusOK)
	}
	if w.err != nil {
		return
	}
	if _, w.err = w.w.Write(e.Text); w.err == nil {
		w.err = http.NewResponseController(w.w).Flush()
	}
}

// WriteDelta writes a part of the reply. It does nothing if the reply is not streamed.
func (w *ReplyWriter) WriteDelta(d model.Delta) {
	if w.stream != nil && !w.ended {
		w.stream.WriteDelta(d)
	}
}

// Finish writes the rest of the reply, or all of it if no delta was written. It returns an
// error if the reply cannot be encoded or the client does not take it.
func (w *ReplyWriter) Finish(resp *model.Response) error {
	if w.ended {
		return nil
	}
	w.ended = true
	if w.stream != nil {
		w.stream.Finish(resp)
		return w.err
	}
	w.sent = true
	text, err := EncodeReply(w.api, w.head, resp)
	if err != nil {
		writeAPIError(w.w, w.api, &model.APIError{Status: http.StatusInternalServerError, Type: model.ErrorTypeOfStatus(http.StatusInternalServerError), Message: err.Error()})
		return err
	}
	return writeJSON(w.w, http.StatusOK, text)
}

// Fail writes an error: as an error response if nothing was sent, otherwise as the event
// with which the API reports an error. An error of another vendor's API is translated.
// Fail does nothing after Finish.
func (w *ReplyWriter) Fail(err *model.APIError) {
	if w.ended {
		return
	}
	w.ended = true
	if !w.sent {
		writeAPIError(w.w, w.api, err)
		return
	}
	w.stream.Fail(translateError(w.api, err))
}
