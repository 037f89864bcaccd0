package wire

import "assay/internal/model"

// Reply is what a [ReplyReader] has read.
type Reply struct {
	Response   *model.Response // nil if nothing of it has come
	Error      *model.APIError // the API's error, also one inside a stream with status 200
	IsComplete bool            // the API has said that the reply has ended
	Err        error           // why no more is read: the reply is too long, or not in the format of the API
}

// ReplyReader reads a reply of an API while its bytes pass through. It is not safe for
// concurrent use.
type ReplyReader struct{}

// NewReplyReader returns a reader of the reply to one request, with the HTTP status and
// media type of the response.
func NewReplyReader(api API, status int, contentType string) *ReplyReader {
	return &ReplyReader{}
}

// Write reads the next bytes. It never fails and never blocks.
func (r *ReplyReader) Write(p []byte) (int, error) { return len(p), nil }

// HasContent reports whether the first text, thinking or tool call has come.
func (r *ReplyReader) HasContent() bool { return false }

// Reply returns what has been read so far.
func (r *ReplyReader) Reply() Reply { return Reply{} }
