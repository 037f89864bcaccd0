package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// Recording is the calls of models as [Record] wrote them down, JSON Lines:
//
//	request   what was asked: the body of POST /v1/messages, without the headers
//	          and so without the key
//	response  content, stop_reason, usage
//	error     instead of a response: text; refusal, when the API refused, with
//	          provider, status, type, message, retry_after (s); cause, when it is
//	          cut_stream or unreachable
//
// It holds neither times nor ids of its own: equal calls give equal lines.
type Recording struct {
	name  string // for errors
	calls []recorded
}

type recorded struct {
	line    int
	model   string
	request string // as [normal] has it
	call    call
}

// ReadRecording reads a recording from a file. Errors name file and line.
func ReadRecording(file string) (*Recording, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	return ParseRecording(file, data)
}

// ParseRecording reads a recording. The name stands for it in errors.
func ParseRecording(name string, data []byte) (*Recording, error) {
	r := &Recording{name: name}
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		c, err := parseCall(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		c.line = i + 1
		r.calls = append(r.calls, c)
	}
	return r, nil
}

func parseCall(line []byte) (recorded, error) {
	var c call
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return recorded{}, err
	}
	if dec.More() {
		return recorded{}, errors.New("more than one call on a line")
	}
	if c.Response == nil == (c.Error == nil) {
		return recorded{}, errors.New("a call has either response or error")
	}
	request, err := normal(c.Request)
	if err != nil {
		return recorded{}, err
	}
	var named struct{ Model string }
	if err := json.Unmarshal(c.Request, &named); err != nil {
		return recorded{}, fmt.Errorf("request: %w", err)
	}
	return recorded{model: named.Model, request: request, call: c}, nil
}

// Of returns the calls of the model of that name.
func (r *Recording) Of(name string) *Recording {
	of := &Recording{name: r.name}
	for _, c := range r.calls {
		if c.model == name {
			of.calls = append(of.calls, c)
		}
	}
	return of
}

// normal writes a request in the one way in which equal ones are equal bytes:
// keys sorted, no white space, and without the model, as any may be replayed.
func normal(request []byte) (string, error) {
	var fields map[string]any
	if err := decode(request, &fields); err != nil {
		return "", fmt.Errorf("request: %w", err)
	}
	delete(fields, "model")
	text, err := marshal(fields)
	return string(text), err
}

// decode reads JSON with numbers as they are written.
func decode(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}

// Client returns a model that plays the recording from its beginning. It is
// strict: what it is asked must equal a recorded request that it has not
// answered yet, but for the model's name. Equal requests get the recorded
// answers in their order, and errors are played like replies. What it was not
// asked when it was recorded is an error that wraps [ErrNotRecorded] and names the
// first difference from the next recorded request.
func (r *Recording) Client() Client {
	return &replay{recording: r, played: make([]bool, len(r.calls))}
}

type replay struct {
	recording *Recording

	mu     sync.Mutex
	played []bool // by call
}

// Complete plays the call that the request is recorded with.
func (r *replay) Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	body, err := req.body("")
	if err != nil {
		return nil, err
	}
	asked, err := normal(body)
	if err != nil {
		return nil, err
	}
	c, err := r.take(asked)
	if err != nil {
		return nil, err
	}
	if c.Error != nil {
		return nil, c.Error.again()
	}
	reply := *c.Response
	reply.Content = slices.Clone(reply.Content)
	for i, b := range reply.Content {
		report(onDelta, i, b)
	}
	return &reply, nil
}

// take finds the call to play, which is played no second time.
func (r *replay) take(asked string) (call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := -1
	for i, c := range r.recording.calls {
		switch {
		case r.played[i]:
		case c.request == asked:
			r.played[i] = true
			return c.call, nil
		case next < 0:
			next = i
		}
	}
	return call{}, r.recording.miss(next, asked)
}

// miss is the error of a request that was not recorded; next is the recorded
// call that was to be played, -1 if there is none.
func (r *Recording) miss(next int, asked string) error {
	if next < 0 {
		return fmt.Errorf("%s: %w: all of the %d calls in it have been played", r.name, ErrNotRecorded, len(r.calls))
	}
	var wanted, have any
	if err := errors.Join(decode([]byte(r.calls[next].request), &wanted), decode([]byte(asked), &have)); err != nil {
		return err
	}
	d := firstDifference("", wanted, have)
	return fmt.Errorf("%s:%d: %w: at %q the next recorded one has %s, this one has %s",
		r.name, r.calls[next].line, ErrNotRecorded, d.pointer, d.want, d.have)
}
