// Package script is a model that plays fixed replies: see [Script].
package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"assay/internal/model"
)

// providerName is the name that begins the text of errors of a script that is played
// without a server.
const providerName = "script"

// Script is a model with fixed replies, played one after the other. It is read from
// JSON Lines, one reply per line:
//
//	content      text, or content blocks; ids of tool calls are filled in
//	stop_reason  default: tool_use if the content calls a tool, else end_turn
//	usage        input_tokens, output_tokens, cache_creation_input_tokens,
//	             cache_read_input_tokens; all 0 by default
//	delay_ms     how long the reply takes
//	expect       last_user_contains, tool_result_contains: texts that the last turn
//	             of the user must contain; else the call fails
//	error        status, body, retry_after (s): an API error instead of content
//	fault        what goes wrong while the content, which may be absent, is sent
//
// In the inputs of tools, $cell[N] is replaced by the id of the Nth cell, from 0, that
// the conversation has created according to its tool results.
//
// Which reply comes next depends only on the conversation: the one after the last reply
// that it contains. So any number of conversations can be played at once, a
// conversation without replies begins with the first line, and a reply that never
// became part of the conversation is played again. Only API errors and faults, which
// leave no trace in the conversation, are counted by the [Player]: when the same point
// of the conversation is reached again, the next line is played.
//
// A request with a [model.Request.Turn] gets the reply of that number instead.
//
// With stop_reason max_tokens, a tool call at the end is cut in the middle of its
// input.
//
// A fault is one of the following. Events are those of the stream, of which
// message_start and ping are the first two; a fault that is due after the last event
// happens before message_stop.
//
//	cut N          the connection breaks in the middle of the event after N whole ones
//	end N          the stream ends regularly after N events
//	drop true      the connection is closed without a byte
//	hang true      nothing comes until the client disconnects; with after N, N events come first
//	error          type, message: an error event is sent after N events, N being after (0)
//	garbage        html: a web page is the answer; json: after N events comes one whose
//	               data is not JSON; event: after N events comes one of an unknown type
//	stall_ms T     silence for T ms after N events, then the stream goes on
//
// The garbage event and stall_ms leave the reply complete, and part of the conversation
// like any other; when it is requested again, it comes without them. A response that is
// not streamed is sent by half, or after the silence, or becomes an API error. A script
// that is played without a server fails at once with the error that a client would
// report for the fault; only a silence that ends is waited for.
type Script struct {
	name    string // for errors
	replies []Reply
}

// ReadFile reads a script from a file. It returns an error, which names file and line,
// if the file cannot be read, has no replies or is malformed.
func ReadFile(file string) (*Script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	return Parse(file, data)
}

// Parse parses the text of a script. The name is used only in errors. A malformed line,
// and a script without replies, are errors.
func Parse(name string, data []byte) (*Script, error) {
	s := &Script{name: name}
	sound := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := parseReply(line, sound)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		if r.Line = i + 1; !r.isLost() {
			sound++
		}
		s.replies = append(s.replies, r)
	}
	if len(s.replies) == 0 {
		return nil, fmt.Errorf("%s: the script has no replies", name)
	}
	return s, nil
}

// scriptLineJSON is the JSON of one line of a script.
type scriptLineJSON struct {
	Content    json.RawMessage  `json:"content"`
	StopReason model.StopReason `json:"stop_reason"`
	Usage      model.Usage      `json:"usage"`
	DelayMS    float64          `json:"delay_ms"`
	Expect     replyExpectation `json:"expect"`
	Error      *errorJSON       `json:"error"`
	Fault      *faultJSON       `json:"fault"`
}

// errorJSON is the JSON of the API error in a line of a script.
type errorJSON struct {
	Status     int             `json:"status"`
	Body       json.RawMessage `json:"body"`
	RetryAfter float64         `json:"retry_after"` // seconds
}

// check returns an error if the members of the script line contradict each other or are
// out of range.
func (l scriptLineJSON) check() error {
	const day = 24 * 60 * 60
	switch {
	case l.Content == nil && l.Error == nil && l.Fault == nil:
		return errors.New("a reply has content, error or fault")
	case l.Error != nil && (l.Content != nil || l.Fault != nil):
		return errors.New("a reply with an error has neither content nor fault")
	case l.DelayMS < 0 || l.DelayMS > day*1000:
		return errors.New("delay_ms must be from 0 to a day")
	case l.Error == nil:
		return nil
	case l.Error.Status < http.StatusBadRequest || l.Error.Status > 599:
		return fmt.Errorf("the status of an error is from 400 to 599, not %d", l.Error.Status)
	case l.Error.RetryAfter < 0 || l.Error.RetryAfter > day:
		return errors.New("retry_after must be from 0 to a day")
	}
	return nil
}

// parseReply parses one line of a script. n is the number of earlier replies that are
// not lost; it becomes part of the ids of the line's tool calls.
func parseReply(text []byte, n int) (Reply, error) {
	var l scriptLineJSON
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return Reply{}, err
	}
	if dec.More() {
		return Reply{}, errors.New("more than one reply on a line")
	}
	if err := l.check(); err != nil {
		return Reply{}, err
	}
	r := Reply{StopReason: l.StopReason, Usage: l.Usage, expect: l.Expect, delay: secondsToDuration(l.DelayMS / 1000)}
	if l.Error != nil {
		r.setAPIError(*l.Error)
		return r, nil
	}
	if l.Fault != nil {
		var err error
		if r.Fault, err = l.Fault.parse(); err != nil {
			return Reply{}, fmt.Errorf("fault: %w", err)
		}
		if l.Content == nil && !r.Fault.losesReply() {
			return Reply{}, fmt.Errorf("fault: there must be content that comes whole in spite of %s", r.Fault.Kind)
		}
	}
	return r, r.setContent(l.Content, n)
}

func secondsToDuration(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// setContent parses the content of a reply and fills in what the script leaves out: the
// ids of tool calls, which contain n, and the stop reason.
func (r *Reply) setContent(content json.RawMessage, n int) error {
	var err error
	if r.Content, err = model.ParseContent(content); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	calls := 0
	for i := range r.Content {
		b := &r.Content[i]
		if b.Type != model.BlockToolUse {
			continue
		}
		if b.Name == "" {
			return fmt.Errorf("content: the tool_use at %d has no name", i)
		}
		if b.ID == "" {
			b.ID = "toolu_" + strconv.Itoa(n) + "_" + strconv.Itoa(calls)
		}
		calls++
	}
	if r.StopReason == "" {
		r.StopReason = model.StopEndTurn
		if calls > 0 {
			r.StopReason = model.StopToolUse
		}
	}
	return nil
}

// setAPIError turns the scripted reply into an API error. Without a body the error gets
// one in the format of the Messages API.
func (r *Reply) setAPIError(e errorJSON) {
	r.Refusal = &model.APIError{
		Provider: providerName, Status: e.Status, Type: model.ErrorTypeOfStatus(e.Status),
		Message: "refused by the script", RetryAfter: secondsToDuration(e.RetryAfter),
	}
	r.RefusalBody = e.Body
	if e.Body == nil {
		body := model.ErrorBody{Type: "error", Error: model.ErrorDetail{Type: r.Refusal.Type, Message: r.Refusal.Message}}
		r.RefusalBody, _ = json.Marshal(body) //nolint:errchkjson // two strings
	}
	var parsed model.ErrorBody
	if json.Unmarshal(r.RefusalBody, &parsed) == nil && parsed.Error.Message != "" {
		r.Refusal.Type, r.Refusal.Message = parsed.Error.Type, parsed.Error.Message
	}
}
