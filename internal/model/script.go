package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Script is a model that is written down: a list of replies, played one after
// the other. It is read from JSON Lines, one reply a line:
//
//	content      text, or content blocks; ids of tool calls are filled in
//	stop_reason  tool_use when the content calls a tool, else end_turn
//	usage        input_tokens, output_tokens, cache_creation_input_tokens,
//	             cache_read_input_tokens; all 0 when absent
//	delay_ms     how long the reply takes
//	expect       last_user_contains, tool_result_contains: what must have been
//	             said last, else the call fails
//	error        status, body, retry_after (s): the API's refusal, instead of content
//	fault        what goes wrong while the content, which may be absent, is sent
//
// In the inputs of tools $cell[N] stands for the id of the Nth cell, from 0,
// that the conversation created, as its tool results tell.
//
// Which reply comes next hangs on the conversation alone: the one after the
// last reply that it holds. So any number of conversations can be played at
// once, a conversation that holds no reply begins with the first line, and a
// reply that never became part of it is played again. Only refusals and faults,
// of which no trace is left, are counted by the player: when the same point of
// the conversation is asked for again, the next line is played.
//
// A request with a [Request.Turn] is played by that instead.
//
// With stop_reason max_tokens a tool call at the end is cut in the middle of
// its input.
//
// A fault is one of these. Events are those of the stream, message_start and ping
// being the first two; one that is due past the end happens before message_stop.
//
//	cut N          the connection breaks in the middle of the event after N whole ones
//	end N          the stream ends in good order after N events
//	drop true      the connection is closed without a byte
//	hang true      nothing comes until the client goes; with after N, N events come first
//	error          type, message: an event says so after N events, N being after (0)
//	garbage        html: a web page for an answer; json: after N events, one whose
//	               data is no JSON; event: after N events, one of an unknown kind
//	stall_ms T     silence for so long after N events, then the stream goes on
//
// The garbage event and stall_ms leave the reply whole, and part of the
// conversation like any other; asked for again, it comes without them. What is
// not streamed comes in half, or after the silence, or is refused. A script that
// is played without a server fails at once, with what a client would have made of
// the fault, but silence that ends is waited out.
type Script struct {
	name    string // for errors
	replies []reply
}

type reply struct {
	line    int
	content []Block
	stop    StopReason
	usage   Usage
	delay   time.Duration
	expect  expectation
	refusal *APIError
	body    json.RawMessage // of the refusal
	fault   *fault          // nil for none
}

// fails reports whether the reply never becomes part of a conversation.
func (r *reply) fails() bool { return r.refusal != nil || r.fault.fails() }

// ReadScript reads a script from a file. Errors name file and line.
func ReadScript(file string) (*Script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	return ParseScript(file, data)
}

// ParseScript reads a script. The name stands for it in errors.
func ParseScript(name string, data []byte) (*Script, error) {
	s := &Script{name: name}
	whole := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := parseReply(line, whole)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		if r.line = i + 1; !r.fails() {
			whole++
		}
		s.replies = append(s.replies, r)
	}
	if len(s.replies) == 0 {
		return nil, fmt.Errorf("%s: the script has no replies", name)
	}
	return s, nil
}

// scriptLine is a line of a script.
type scriptLine struct {
	Content    json.RawMessage `json:"content"`
	StopReason StopReason      `json:"stop_reason"`
	Usage      Usage           `json:"usage"`
	DelayMS    float64         `json:"delay_ms"`
	Expect     expectation     `json:"expect"`
	Error      *scriptError    `json:"error"`
	Fault      *scriptFault    `json:"fault"`
}

type scriptError struct {
	Status     int             `json:"status"`
	Body       json.RawMessage `json:"body"`
	RetryAfter float64         `json:"retry_after"`
}

// check finds what cannot be played.
func (l scriptLine) check() error {
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

// parseReply reads one line, before which there are n that do not fail.
func parseReply(text []byte, n int) (reply, error) {
	var l scriptLine
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return reply{}, err
	}
	if dec.More() {
		return reply{}, errors.New("more than one reply on a line")
	}
	if err := l.check(); err != nil {
		return reply{}, err
	}
	r := reply{stop: l.StopReason, usage: l.Usage, expect: l.Expect, delay: seconds(l.DelayMS / 1000)}
	if l.Error != nil {
		r.refuse(l.Error.Status, l.Error.Body, seconds(l.Error.RetryAfter))
		return r, nil
	}
	if l.Fault != nil {
		var err error
		if r.fault, err = l.Fault.parse(); err != nil {
			return reply{}, fmt.Errorf("fault: %w", err)
		}
		if l.Content == nil && !r.fault.fails() {
			return reply{}, fmt.Errorf("fault: there must be content that comes whole in spite of %s", r.fault.kind)
		}
	}
	return r, r.say(l.Content, n)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// say reads the content of a reply, before which n do not fail, and fills in what it leaves out.
func (r *reply) say(content json.RawMessage, n int) error {
	var err error
	if r.content, err = blocks(content); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	calls := 0
	for i := range r.content {
		b := &r.content[i]
		if b.Type != BlockToolUse {
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
	if r.stop == "" {
		r.stop = StopEndTurn
		if calls > 0 {
			r.stop = StopToolUse
		}
	}
	return nil
}

// refuse makes the reply a refusal; body is what the API would have sent, its
// usual shape when absent.
func (r *reply) refuse(status int, body json.RawMessage, retryAfter time.Duration) {
	r.refusal = &APIError{
		Provider: providerScript, Status: status, Type: errorType(status),
		Message: "refused by the script", RetryAfter: retryAfter,
	}
	if body == nil {
		body, _ = json.Marshal(errorBody{Type: "error", Error: errorDetail{r.refusal.Type, r.refusal.Message}}) //nolint:errchkjson // two strings
	}
	r.body = body
	var said errorBody
	if json.Unmarshal(body, &said) == nil && said.Error.Message != "" {
		r.refusal.Type, r.refusal.Message = said.Error.Type, said.Error.Message
	}
}
