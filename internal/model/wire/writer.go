package wire

import (
	"net/http"

	"assay/internal/model"
)

// ReplyWriter writes a reply in the format of an API, streamed or whole. It is not safe for
// concurrent use.
type ReplyWriter struct{}

// NewReplyWriter returns a writer of the reply to a request with this envelope. The id has
// no prefix: the writer adds that of the API, such as msg_. Headers and status are sent
// with the first byte.
func NewReplyWriter(w http.ResponseWriter, api API, env Envelope, id string) *ReplyWriter {
	return &ReplyWriter{}
}

// WriteDelta writes a part of the reply. It does nothing unless the reply is streamed.
func (w *ReplyWriter) WriteDelta(d model.Delta) {}

// Finish writes the rest of the reply.
func (w *ReplyWriter) Finish(resp *model.Response) error { return nil }

// Fail writes an error: as a response if nothing was sent, otherwise as the event with
// which the API reports it.
func (w *ReplyWriter) Fail(err *model.APIError) {}
