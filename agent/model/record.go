package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Record returns client with its calls written down: one JSON line per call as
// it ends, written to w at once and whole, so that w may be a file that others
// append to. [Recording] tells what is in a line. The name is that of the model,
// for who reads it.
//
// A call that cannot be written down fails, whatever the model said. The client
// that is returned is safe for concurrent use though w is not; w is the caller's
// to close.
func Record(name string, client Client, w io.Writer) Client {
	return &recorder{name: name, client: client, w: w}
}

type recorder struct {
	name   string
	client Client

	mu sync.Mutex // guards w
	w  io.Writer
}

// Complete makes the call and writes it down.
func (r *recorder) Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error) {
	text, err := req.body(r.name)
	if err != nil {
		return nil, err
	}
	reply, failure := r.client.Complete(ctx, req, onDelta)
	done := call{Request: text, Response: reply}
	if failure != nil {
		done.Response, done.Error = nil, newCallError(failure)
	}
	if err := r.write(done); err != nil {
		return nil, errors.Join(failure, fmt.Errorf("record the call: %w", err))
	}
	return reply, failure
}

func (r *recorder) write(done call) error {
	line, err := marshal(done)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(line, '\n'))
	return err
}

// call is a line of a recording. It has a response or an error.
type call struct {
	Request  json.RawMessage `json:"request"`
	Response *Response       `json:"response,omitempty"`
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
	if api, ok := errors.AsType[*APIError](err); ok {
		out.Refusal = &apiRefusal{api.Provider, api.Status, api.Type, api.Message, api.RetryAfter.Seconds()}
	}
	switch {
	case errors.Is(err, ErrCutStream):
		out.Cause = cutStream
	case errors.Is(err, ErrUnreachable):
		out.Cause = unreachable
	}
	return out
}

// again is the error as it was, as far as callers can tell.
func (e *callError) again() error {
	if r := e.Refusal; r != nil {
		return &APIError{Provider: r.Provider, Status: r.Status, Type: r.Type, Message: r.Message, RetryAfter: seconds(r.RetryAfter)}
	}
	causes := map[string]error{cutStream: ErrCutStream, unreachable: ErrUnreachable}
	return &playedError{text: e.Text, cause: causes[e.Cause]}
}

// playedError has the text of a recorded error, and wraps what that had wrapped.
type playedError struct {
	text  string
	cause error
}

func (e *playedError) Error() string { return e.text }

func (e *playedError) Unwrap() error { return e.cause }
