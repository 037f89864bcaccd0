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
	return &recorder{occasion: o, places: o.places(), name: name, client: client, w: w}
}

type recorder struct {
	occasion Normalizer
	places   places
	name     string
	client   model.Client

	mu sync.Mutex // guards w
	w  io.Writer
}

// Complete makes the call and writes it down.
func (r *recorder) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	line, reply, failure := r.call(ctx, req, onDelta)
	if err := r.write(line, req, reply, failure); err != nil {
		return nil, errors.Join(failure, fmt.Errorf("record the call: %w", err))
	}
	return reply, failure
}

// call makes the call, and says of which model it is and when it ended. What is
// played keeps both.
func (r *recorder) call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (origin, *model.Response, error) {
	if replay, ok := r.client.(*Replayer); ok {
		return replay.play(ctx, req, onDelta)
	}
	reply, err := r.client.Complete(ctx, req, onDelta)
	from := origin{model: r.name}
	if r.occasion.Clock != nil {
		from.at = r.occasion.Clock().UTC().Format(atFormat)
	}
	return from, reply, err
}

// origin is where an answer comes from.
type origin struct {
	model  string
	at     string  // as a line has it, "" without a clock
	played *answer // as a line has it; nil: it is no recorded one
}

// atFormat is RFC 3339 with milliseconds.
const atFormat = "2006-01-02T15:04:05.000Z07:00"

func (r *recorder) write(from origin, req model.Request, reply *model.Response, failure error) error {
	request, err := req.Encode(from.model)
	if err != nil {
		return err
	}
	said, err := r.said(from, reply, failure)
	if err != nil {
		return err
	}
	asked, err := rawjson.Marshal(head{At: from.at, Session: r.occasion.Session, Request: r.places.ofRequest(request)})
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

// said writes what came back. What was played is written as it was.
func (r *recorder) said(from origin, reply *model.Response, failure error) ([]byte, error) {
	if from.played != nil {
		return rawjson.Marshal(from.played)
	}
	came := answer{Response: reply}
	if failure != nil {
		came = answer{Error: newCallError(failure)}
	}
	text, err := rawjson.Marshal(came)
	return r.places.ofAnswer(text), err
}

// callLine is a line of a recording: when, whose, and what was asked, then what came
// back.
type callLine struct {
	head
	answer
}

type head struct {
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
	Cause   string      `json:"cause,omitempty"`   // cutStream or unreachable
	Refusal *apiRefusal `json:"refusal,omitempty"` // of an [APIError]
}

// What a cause says: that the error wraps [ErrCutStream] or [ErrUnreachable].
const (
	cutStream   = "cut_stream"
	unreachable = "unreachable"
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
		out.Cause = cutStream
	case errors.Is(err, model.ErrUnreachable):
		out.Cause = unreachable
	}
	return out
}

// again is the error as it was, as far as callers can tell.
func (e *callError) again() error {
	if r := e.Refusal; r != nil {
		return &model.APIError{Provider: r.Provider, Status: r.Status, Type: r.Type, Message: r.Message, RetryAfter: time.Duration(r.RetryAfter * float64(time.Second))}
	}
	causes := map[string]error{cutStream: model.ErrCutStream, unreachable: model.ErrUnreachable}
	return &playedError{text: e.Text, cause: causes[e.Cause]}
}

// playedError has the text of a recorded error, and wraps what that had wrapped.
type playedError struct {
	text  string
	cause error
}

func (e *playedError) Error() string { return e.text }

func (e *playedError) Unwrap() error { return e.cause }
