package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// Reply is what a [ReplyReader] has read.
type Reply struct {
	// Response holds what has come of content, stop reason and usage. It is nil if nothing
	// has. The token counts are never negative.
	Response *model.Response

	// Error is what the API reports: in an error response, or in the middle of a reply
	// with status 200. It has no RetryAfter, which is in the headers.
	Error *model.APIError

	// IsComplete is true if the end of the reply has come: message_stop, a finish_reason
	// or [DONE], response.completed, response.incomplete or response.failed, or a whole
	// JSON text.
	IsComplete bool

	// HasEnded is true if nothing that follows matters: the last event of a stream has come, or a whole JSON text.
	// A chat may be complete before: its usage follows the finish_reason.
	HasEnded bool

	// Err says why no more is read of a response that is not a reply of the API: it is
	// too long, no event stream nor JSON, or has a malformed event. It is not set for a
	// reply that breaks off.
	Err error
}

// ReplyReader reads a reply of an API while its bytes pass through. It recognizes event
// streams and JSON by their beginning, since compatible servers send any media type. It
// does not decompress.
//
// It keeps the content of the reply, and the line or the JSON text that has not ended, at
// most [endpoint.MaxAnswerBytes] (64 MiB) in all. A longer reply, or a line longer than
// [endpoint.MaxLineBytes], is not read further. A ReplyReader is not safe for concurrent
// use.
type ReplyReader struct {
	api         API
	status      int
	contentType string
	form        replyForm
	body        []byte      // what is not yet read: the last line of a stream, or the whole
	event       streamEvent // the event whose lines are arriving
	builder     replyBuilder
	readBytes   int

	isOver   bool            // nothing more is read
	isWhole  bool            // it was a JSON text
	apiError *model.APIError // as in Reply
	err      error           // as in Reply
}

// replyForm is the form of a response's body.
type replyForm int

const (
	formUnknown replyForm = iota // only white space has come
	formStream
	formJSON
	formOther // neither
)

// streamEvent is a server-sent event.
type streamEvent struct {
	name string
	data []byte
}

// replyBuilder builds the reply of one API from its events or its whole body.
type replyBuilder interface {
	// addStreamEvent adds the next event of a stream. It returns an [*model.APIError] or
	// why the event is malformed.
	addStreamEvent(streamEvent) error
	AddWhole(body []byte) error // likewise, for a body that is JSON
	IsDone() bool               // nothing that comes after this matters
	hasContent() bool
	IsComplete() bool
	Response() *model.Response
}

// NewReplyReader returns a reader of the response to one request, with this HTTP status
// and media type. The body of an error response is read as an error of the API.
func NewReplyReader(api API, status int, contentType string) *ReplyReader {
	return &ReplyReader{api: api, status: status, contentType: contentType, builder: newReplyBuilder(api)}
}

// KeepReasoning makes the reader keep what OpenAI has encrypted of its reasoning, as the
// signature of a thinking block; see [ReasoningOfSignature]. It is called before the first Write.
func (r *ReplyReader) KeepReasoning() {
	if reply, ok := r.builder.(*ResponsesReply); ok {
		reply.keepsReasoning = true
	}
}

func newReplyBuilder(api API) replyBuilder {
	switch api {
	case Messages:
		return NewMessagesReply(nil)
	case Chat:
		return NewChatReply(nil, nil)
	default:
		return &ResponsesReply{items: map[int]*outputItem{}}
	}
}

// Write reads the next bytes of the body. It never fails and never blocks.
func (r *ReplyReader) Write(p []byte) (int, error) {
	n := len(p)
	if r.form == formUnknown {
		if p = bytes.TrimLeft(p, " \t\r\n"); len(p) > 0 {
			r.form = r.formOf(p[0])
		}
	}
	r.readBytes += len(p)
	switch {
	case r.isOver || len(p) == 0:
	case r.readBytes > endpoint.MaxAnswerBytes:
		r.stop(endpoint.ErrAnswerTooLong)
	case r.form == formStream:
		r.readLines(p)
	case r.form == formOther:
		r.body = append(r.body, p[:min(len(p), endpoint.MaxExcerptBytes-len(r.body))]...)
	default:
		r.body = append(r.body, p...)
	}
	return n, nil
}

// formOf returns the form of a body that begins with this byte.
func (r *ReplyReader) formOf(first byte) replyForm {
	switch {
	case r.isError() || first == '{':
		return formJSON
	case strings.IndexByte("d:eir", first) >= 0: // begins data, a comment, event, id or retry
		return formStream
	default:
		return formOther
	}
}

// isError reports whether the HTTP status means an error.
func (r *ReplyReader) isError() bool { return r.status >= http.StatusMultipleChoices }

// stop ends the reading. err is nil if the reply is complete, an APIError, or why the
// reply cannot be read.
func (r *ReplyReader) stop(err error) {
	r.isOver, r.body, r.event = true, nil, streamEvent{}
	if refusal, ok := errors.AsType[*model.APIError](err); ok {
		r.apiError = refusal
		return
	}
	r.err = err
}

// readLines reads the lines that end in p and keeps the rest.
func (r *ReplyReader) readLines(p []byte) {
	for !r.isOver {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(r.body)+len(line) > endpoint.MaxLineBytes {
			r.stop(endpoint.ErrAnswerTooLong)
			return
		}
		if !ended {
			r.body = append(r.body, line...)
			return
		}
		if len(r.body) > 0 {
			line = append(r.body, line...)
			r.body = r.body[:0]
		}
		r.readLine(bytes.TrimSuffix(line, []byte("\r")))
		p = rest
	}
}

// readLine reads one line of an event stream. An empty line ends an event. In a chat, each
// line with data is an event: compatible servers leave out the empty lines.
func (r *ReplyReader) readLine(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(line) == 0:
		event := r.event
		r.event = streamEvent{}
		r.addEvent(event)
	case string(name) == "event":
		r.event.name = string(value)
	case string(name) == "data" && r.api == Chat:
		r.addEvent(streamEvent{data: value})
	case string(name) == "data" && r.event.data == nil:
		r.event.data = bytes.Clone(value)
	case string(name) == "data":
		r.event.data = append(append(r.event.data, '\n'), value...)
	}
}

func (r *ReplyReader) addEvent(e streamEvent) {
	e.data = bytes.TrimSpace(e.data)
	if len(e.data) == 0 {
		return
	}
	if err := r.builder.addStreamEvent(e); err != nil || r.builder.IsDone() {
		r.stop(err)
	}
}

// HasContent reports whether any text, thinking or tool call has begun to arrive.
func (r *ReplyReader) HasContent() bool {
	if r.form == formJSON {
		return !r.isError()
	}
	return r.builder.hasContent()
}

// Reply returns what has been read so far. More may be written afterwards.
func (r *ReplyReader) Reply() Reply {
	r.readRest()
	reply := Reply{Error: r.apiError, Err: r.err, HasEnded: r.isWhole || r.builder.IsDone(), IsComplete: r.isWhole || r.builder.IsDone() || r.builder.IsComplete()}
	switch {
	case r.isError():
		reply.Error = DecodeError(r.api, r.status, r.body)
		reply.IsComplete = json.Valid(r.body)
	case r.form == formOther && r.err == nil:
		reply.Err = endpoint.NewNotEventStreamError(r.status, r.contentType, string(r.body))
	}
	if reply.Error != nil { // a server may send a long text
		_ = endpoint.FormatProviderError(r.api.Provider(), reply.Error)
	}
	reply.Response = r.builder.Response().IfAny()
	return reply
}

// readRest reads what was kept, if it is complete: a JSON text, or the last line of a
// stream, which some servers do not end.
func (r *ReplyReader) readRest() {
	switch {
	case r.isOver || r.isError():
	case r.form == formJSON && json.Valid(r.body):
		r.isWhole = true
		r.stop(r.builder.AddWhole(r.body))
	case r.form == formStream && r.api == Chat && json.Valid(bytes.TrimPrefix(r.body, []byte("data:"))):
		line := r.body
		r.body = nil
		r.readLine(line)
	}
}
