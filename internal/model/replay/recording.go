// Package replay writes the calls of a model down and plays them again: see
// [Normalizer], [Recording] and [Replayer].
package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/model"
)

// Recording holds the model calls that a [Recorder] or [Normalizer.NewRecordingClient] has written.
// Its file has one JSON object per line:
//
//	at        when the call ended, RFC 3339; absent without a clock
//	session   the session that made the call; absent without one
//	api       the format of the request: messages, chat or responses; absent: messages
//	model     name of the model; absent: that in the request
//	request   the body of the HTTP request, without the headers and so without the key
//	response  content, stop_reason, usage, whatever the API
//	error     instead of a response: text; refusal, if the API answered with an error,
//	          with provider, status, type, message, retry_after (s); cause, if it is
//	          cut_stream or unreachable. With api there may also be the response that came
//	          before the error
//
// The path of the sandbox is written as ${SANDBOX}, and in requests a memory address as
// ${ADDRESS}. Apart from the time, equal calls give equal lines.
type Recording struct {
	name  string // of the file, for errors
	calls []recordedCall
}

// recordedCall is one call of a recording, from one line of its file.
type recordedCall struct {
	line    int // in the file, from 1
	origin  answerOrigin
	session string
	time    time.Time // when the call ended; zero if it is not recorded
	key     comparableRequest

	isOfServer bool // a Recorder has written the line: its request is as a client sent it
}

// ReadRecording reads from a file the calls of the Normalizer's session. If there are
// none, it reads those of sessions that differ only in their running number
// ("0007-sum-e1-t1" for "0001-sum-e1-t1"); if there are none of these either, all
// calls. Lines of other sessions are skipped, even malformed ones. It is an error if
// the file cannot be read or has no calls. Errors name file and line.
func (n Normalizer) ReadRecording(file string) (*Recording, error) {
	tries := []func(string) bool{acceptAnySession}
	if n.Session != "" {
		equal := func(session string) bool { return session == n.Session }
		equalButNumber := func(session string) bool { return withoutSessionNumber(session) == withoutSessionNumber(n.Session) }
		tries = []func(string) bool{equal, equalButNumber, acceptAnySession}
	}
	for _, wanted := range tries {
		r, err := readRecording(file, wanted)
		if err != nil || len(r.calls) > 0 {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s: the recording has no calls", file)
}

func acceptAnySession(string) bool { return true }

// withoutSessionNumber returns a session's name without the running number at its
// beginning. The sessions of the same case and trial in two runs then have equal names.
func withoutSessionNumber(session string) string {
	if number, rest, ok := strings.Cut(session, "-"); ok && number != "" && strings.Trim(number, "0123456789") == "" {
		return rest
	}
	return session
}

// readRecording reads the lines of a recording's file for whose session wanted returns
// true. It returns an error if the file cannot be read or such a line is malformed.
func readRecording(file string, wanted func(session string) bool) (*Recording, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	r, err := parseRecording(file, in, wanted)
	return r, errors.Join(err, in.Close())
}

// ParseRecording parses the text of a recording and returns all its calls. The name is
// used only in errors. A malformed line and a text without calls are errors.
func ParseRecording(name string, data []byte) (*Recording, error) {
	return parseRecording(name, bytes.NewReader(data), acceptAnySession)
}

func parseRecording(name string, in io.Reader, wanted func(session string) bool) (*Recording, error) {
	r := &Recording{name: name}
	lines := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 && wanted(findStringMember(line, "session")) {
			c, err := parseRecordedCall(line)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			c.line = n
			r.calls = append(r.calls, c)
		}
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
	}
}

// parseRecordedCall parses one line of a recording. It checks only that the request is
// a JSON object; the request is decoded when it is first compared.
func parseRecordedCall(line []byte) (recordedCall, error) {
	var c recordingLine
	request, rest := cutRequestFromLine(line)
	dec := json.NewDecoder(bytes.NewReader(rest))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return recordedCall{}, err
	}
	if dec.More() {
		return recordedCall{}, errors.New("more than one call on a line")
	}
	if c.Response == nil == (c.Error == nil) && (c.Error == nil || c.API == "") {
		return recordedCall{}, errors.New("a call has either response or error")
	}
	if !bytes.HasPrefix(request, []byte("{")) {
		return recordedCall{}, errors.New("request: it must be an object")
	}
	out := recordedCall{origin: answerOrigin{endedAt: c.At, recorded: &c.recordedAnswer}, session: c.Session, key: comparableRequest{api: cmp.Or(c.API, apiMessages), raw: request}, isOfServer: c.API != ""}
	out.origin.modelName = c.Model
	if c.API == "" {
		out.origin.modelName = findStringMember(request, "model")
	}
	if c.At != "" {
		var err error
		if out.time, err = time.Parse(time.RFC3339, c.At); err != nil {
			return recordedCall{}, fmt.Errorf("at: %w", err)
		}
	}
	return out, nil
}

// cutRequestFromLine returns the request in a recorded line, and the line with null in
// its place. The request is nearly all of a line, and most requests are never decoded.
// For a line without a request it returns nil and the line.
func cutRequestFromLine(line []byte) (request, rest []byte) {
	start, end := findMember(line, "request")
	if start == end {
		return nil, line
	}
	return line[start:end], slices.Concat(line[:start], []byte("null"), line[end:])
}

// findStringMember returns the string value of a member of a JSON object, or "" if
// there is no such member or its value is not a string.
func findStringMember(object []byte, name string) (value string) {
	start, end := findMember(object, name)
	if start == end || json.Unmarshal(object[start:end], &value) != nil {
		return ""
	}
	return value
}

// findMember returns the start and end offsets of the value of a member in the text of
// a JSON object. Both are 0 if there is no such member or if the text before its end is
// malformed.
func findMember(object []byte, name string) (start, end int) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return 0, 0
	}
	for dec.PeekKind() == '"' {
		token, _ := dec.ReadToken() // if it is malformed, so is the value
		found := token.String() == name
		value, err := dec.ReadValue()
		if err != nil {
			return 0, 0
		}
		if found {
			end := int(dec.InputOffset())
			return end - len(value), end
		}
	}
	return 0, 0
}

// CallsOfModel returns a recording with only the calls of the model with this name.
func (r *Recording) CallsOfModel(name string) *Recording {
	of := &Recording{name: r.name}
	for _, c := range r.calls {
		if c.origin.modelName == name {
			of.calls = append(of.calls, c)
		}
	}
	return of
}

// RecordedClient is the client with which an agent makes requests like the recorded ones.
type RecordedClient struct {
	ModelName string // such as openai/gpt-5; "" if the recording does not tell
	API       string // of the requests: messages, chat or responses

	// HasCompletionLimit says that the limit of a reply is max_completion_tokens, its name in
	// OpenAI's own chats.
	HasCompletionLimit bool
}

// Client returns the client of the first recorded call.
func (r *Recording) Client() RecordedClient {
	if len(r.calls) == 0 {
		return RecordedClient{}
	}
	first := r.calls[0]
	start, end := findMember(first.key.raw, "max_completion_tokens")
	client := RecordedClient{API: first.key.api, HasCompletionLimit: end > start}
	id := findStringMember(first.key.raw, "model")
	switch {
	case first.isOfServer && first.key.api == apiMessages:
		client.ModelName = model.PrefixAnthropic + id
	case first.isOfServer:
		client.ModelName = model.PrefixOpenAI + id
	case strings.HasPrefix(id, model.PrefixAnthropic):
		client.ModelName = strings.TrimSuffix(id, UnknownPriceSuffix)
	}
	return client
}

// UnknownPriceSuffix ends the recorded name of a model whose price is not known although that of a model
// with the rest of the name is, so that a replay has none either.
const UnknownPriceSuffix = " elsewhere"

// sessionNames returns the distinct names of the sessions that made the recorded calls.
func (r *Recording) sessionNames() map[string]bool {
	all := map[string]bool{}
	for _, c := range r.calls {
		all[c.session] = true
	}
	return all
}
