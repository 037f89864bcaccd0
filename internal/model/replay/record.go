package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/model"
)

// NewRecordingClient calls [Normalizer.NewRecordingClient] with the zero Normalizer: requests and answers are
// recorded unchanged, without session and time.
func NewRecordingClient(name string, client model.Client, w io.Writer) model.Client {
	return Normalizer{}.NewRecordingClient(name, client, w)
}

// NewRecordingClient returns a client that makes its calls through another client and records them.
// When a call ends, its line (see [Recording]) is written to w in one Write, so that w
// may be a file to which other processes append. The name is recorded as that of the
// model, except for the calls of a [Replayer], which keep the name and time of the
// recording.
//
// A call that cannot be recorded returns an error, even if the model replied. The
// returned client is safe for concurrent use even if w is not. The caller closes w.
func (n Normalizer) NewRecordingClient(name string, client model.Client, w io.Writer) model.Client {
	return &recordingClient{Recorder: n.NewRecorder(w), name: name, client: client}
}

// recordingClient is the recording client that [Normalizer.NewRecordingClient] returns.
type recordingClient struct {
	*Recorder
	name   string
	client model.Client
}

// Complete makes a model call and records it. It returns an error if the call or the
// recording fails.
func (r *recordingClient) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	from, reply, failure := r.completeWithOrigin(ctx, req, onDelta)
	if err := r.writeCall(from, req, reply, failure); err != nil {
		return nil, errors.Join(failure, fmt.Errorf("record the call: %w", err))
	}
	return reply, failure
}

// completeWithOrigin makes a model call and also returns where the answer comes from, a
// live model or a recording.
func (r *recordingClient) completeWithOrigin(ctx context.Context, req model.Request, onDelta func(model.Delta)) (answerOrigin, *model.Response, error) {
	if replayer, ok := r.client.(*Replayer); ok {
		return replayer.playCall(ctx, req, onDelta)
	}
	reply, err := r.client.Complete(ctx, req, onDelta)
	if err != nil {
		reply = nil // what came of it is not recorded
	}
	from := answerOrigin{modelName: r.name}
	if r.normalizer.Clock != nil {
		from.endedAt = r.normalizer.Clock().UTC().Format(recordedTimeFormat)
	}
	return from, reply, err
}

// answerOrigin says where the answer to a call comes from: a live model, or a line of a
// recording with its model name and time.
type answerOrigin struct {
	modelName string
	endedAt   string          // when the call ended, in recordedTimeFormat; "" without a clock
	recorded  *recordedAnswer // the answer in the recording; nil means a live model
}

// recordedTimeFormat is the format of the times in a recording: RFC 3339 with
// milliseconds.
const recordedTimeFormat = "2006-01-02T15:04:05.000Z07:00"

// writeCall writes the line of one call to the recording. It returns an error if the
// call cannot be encoded or the write fails.
func (r *recordingClient) writeCall(from answerOrigin, req model.Request, reply *model.Response, failure error) error {
	request, err := req.Encode(from.modelName)
	if err != nil {
		return err
	}
	if failure != nil {
		reply = nil
	}
	return r.write(recordingLineRequest{At: from.endedAt, Request: r.replacers.normalizeRequest(apiMessages, request)}, from, reply, failure)
}

// recordingLine is the JSON of one line of a recording.
type recordingLine struct {
	recordingLineRequest
	recordedAnswer
}

// recordingLineRequest is the first part of a recorded line: the request, and when and
// in which session it was made.
type recordingLineRequest struct {
	At      string          `json:"at,omitempty"`
	Session string          `json:"session,omitempty"`
	API     string          `json:"api,omitempty"`   // of the request; "" is messages
	Model   string          `json:"model,omitempty"` // "": that of the request
	Request json.RawMessage `json:"request"`
}

// recordedAnswer is the second part of a recorded line: either a response or an error. A server's
// line may have both: then the response is what came before the error.
type recordedAnswer struct {
	Response *model.Response `json:"response,omitempty"`
	Error    *recordedError  `json:"error,omitempty"`
}

// recordedError is the JSON of the error with which a recorded call failed.
type recordedError struct {
	Text    string            `json:"text"`
	Cause   string            `json:"cause,omitempty"`   // causeCutStream or causeUnreachable
	Refusal *recordedAPIError `json:"refusal,omitempty"` // if the error is a model.APIError
}

// Values of [recordedError.Cause].
const (
	causeCutStream   = "cut_stream"  // the error wraps model.ErrCutStream
	causeUnreachable = "unreachable" // the error wraps model.ErrUnreachable
)

// recordedAPIError is the JSON of a model.APIError in a recorded error.
type recordedAPIError struct {
	Provider   string  `json:"provider"`
	Status     int     `json:"status"`
	Type       string  `json:"type"`
	Message    string  `json:"message"`
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds
}

func newRecordedError(err error) *recordedError {
	out := &recordedError{Text: err.Error()}
	if api, ok := errors.AsType[*model.APIError](err); ok {
		out.Refusal = &recordedAPIError{api.Provider, api.Status, api.Type, api.Message, api.RetryAfter.Seconds()}
	}
	switch {
	case errors.Is(err, model.ErrCutStream):
		out.Cause = causeCutStream
	case errors.Is(err, model.ErrUnreachable):
		out.Cause = causeUnreachable
	}
	return out
}

// toError returns an error with the recorded text that wraps the same errors of package
// model as the original error.
func (e *recordedError) toError() error {
	if r := e.Refusal; r != nil {
		return &model.APIError{Provider: r.Provider, Status: r.Status, Type: r.Type, Message: r.Message, RetryAfter: time.Duration(r.RetryAfter * float64(time.Second))}
	}
	causes := map[string]error{causeCutStream: model.ErrCutStream, causeUnreachable: model.ErrUnreachable}
	return &replayedCallError{text: e.Text, cause: causes[e.Cause]}
}

// replayedCallError is a recorded error other than an API error, with its text and the
// model.Err… value that it wraps.
type replayedCallError struct {
	text  string
	cause error // model.ErrCutStream, model.ErrUnreachable or nil
}

func (e *replayedCallError) Error() string { return e.text }

func (e *replayedCallError) Unwrap() error { return e.cause }
