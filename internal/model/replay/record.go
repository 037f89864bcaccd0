package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/model/rawjson"
)

// Record returns client with its calls written down, on no occasion in
// particular. See [Occasion.Record].
func Record(name string, client model.Client, w io.Writer) model.Client {
	return Normalizer{}.Record(name, client, w)
}

// Record returns client with its calls written down: one JSON line per call as
// it ends, written to w at once and whole, so that w may be a file that other
// processes append to. [Recording] tells what is in a line. The name is that of
// the model; the calls of a [Replayer] keep the name that they were recorded with.
//
// A call that cannot be written down fails, whatever the model said. The client
// that is returned is safe for concurrent use though w is not; w is the caller's
// to close.
func (o Normalizer) Record(name string, client model.Client, w io.Writer) model.Client {
	return &recorder{normalizer: o, replacers: o.newReplacers(), name: name, client: client, w: w}
}

type recorder struct {
	normalizer Normalizer
	replacers  replacers
	name       string
	client     model.Client

	mu sync.Mutex // guards w
	w  io.Writer
}

// Complete makes the call and writes it down.
func (r *recorder) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	line, reply, failure := r.complete(ctx, req, onDelta)
	if err := r.write(line, req, reply, failure); err != nil {
		return nil, errors.Join(failure, fmt.Errorf("record the call: %w", err))
	}
	return reply, failure
}

// complete makes the call, and says of which model it is and when it ended. What is
// played keeps both.
func (r *recorder) complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (origin, *model.Response, error) {
	if replay, ok := r.client.(*Replayer); ok {
		return replay.playCall(ctx, req, onDelta)
	}
	reply, err := r.client.Complete(ctx, req, onDelta)
	from := origin{modelName: r.name}
	if r.normalizer.Clock != nil {
		from.endedAt = r.normalizer.Clock().UTC().Format(timeFormat)
	}
	return from, reply, err
}

// origin is where an answer comes from.
type origin struct {
	modelName string
	endedAt   string  // as a line has it, "" without a clock
	recorded  *answer // as a line has it; nil: it is no recorded one
}

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

func (r *recorder) write(from origin, req model.Request, reply *model.Response, failure error) error {
	request, err := req.Encode(from.modelName)
	if err != nil {
		return err
	}
	said, err := r.encodeAnswer(from, reply, failure)
	if err != nil {
		return err
	}
	asked, err := rawjson.Marshal(requestPart{At: from.endedAt, Session: r.normalizer.Session, Request: r.replacers.normalizeRequest(request)})
	if err != nil {
		return err
	}
	// Both are objects that are not empty: the one goes on with the other.
	line := append(append(asked[:len(asked)-1], ','), said[1:]...)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(line, '\n'))
	return err
}

// encodeAnswer writes what came back. What was played is written as it was.
func (r *recorder) encodeAnswer(from origin, reply *model.Response, failure error) ([]byte, error) {
	if from.recorded != nil {
		return rawjson.Marshal(from.recorded)
	}
	came := answer{Response: reply}
	if failure != nil {
		came = answer{Error: newCallError(failure)}
	}
	text, err := rawjson.Marshal(came)
	return r.replacers.normalizeAnswer(text), err
}

// callLine is a line of a recording: when, whose, and what was asked, then what came
// back.
type callLine struct {
	requestPart
	answer
}

type requestPart struct {
	At      string          `json:"at,omitempty"`
	Session string          `json:"session,omitempty"`
	Request json.RawMessage `json:"request"`
}

// answer is what came back: one of the two.
type answer struct {
	Response *model.Response `json:"response,omitempty"`
	Error    *callError      `json:"error,omitempty"`
}

// callError is an error of [Client.Complete] that can be written down.
type callError struct {
	Text    string      `json:"text"`
	Cause   string      `json:"cause,omitempty"`   // causeCutStream or unreachable
	Refusal *apiRefusal `json:"refusal,omitempty"` // of an [APIError]
}

// What a cause says: that the error wraps [ErrCutStream] or [ErrUnreachable].
const (
	causeCutStream   = "cut_stream"
	causeUnreachable = "unreachable"
)

type apiRefusal struct {
	Provider   string  `json:"provider"`
	Status     int     `json:"status"`
	Type       string  `json:"type"`
	Message    string  `json:"message"`
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds
}

func newCallError(err error) *callError {
	out := &callError{Text: err.Error()}
	if api, ok := errors.AsType[*model.APIError](err); ok {
		out.Refusal = &apiRefusal{api.Provider, api.Status, api.Type, api.Message, api.RetryAfter.Seconds()}
	}
	switch {
	case errors.Is(err, model.ErrCutStream):
		out.Cause = causeCutStream
	case errors.Is(err, model.ErrUnreachable):
		out.Cause = causeUnreachable
	}
	return out
}

// toError is the error as it was, as far as callers can tell.
func (e *callError) toError() error {
	if r := e.Refusal; r != nil {
		return &model.APIError{Provider: r.Provider, Status: r.Status, Type: r.Type, Message: r.Message, RetryAfter: time.Duration(r.RetryAfter * float64(time.Second))}
	}
	causes := map[string]error{causeCutStream: model.ErrCutStream, causeUnreachable: model.ErrUnreachable}
	return &replayedError{text: e.Text, cause: causes[e.Cause]}
}

// replayedError has the text of a recorded error, and wraps what that had wrapped.
type replayedError struct {
	text  string
	cause error
}

func (e *replayedError) Error() string { return e.text }

func (e *replayedError) Unwrap() error { return e.cause }
