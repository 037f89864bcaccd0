// Package replay writes the calls of a model down and plays them again: see
// [Normalizer], [Recording] and [Replayer].
package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// Recording is the calls of models as [Record] wrote them down, JSON Lines:
//
//	at        when the call ended, RFC 3339; absent on an occasion without a clock
//	session   whose call it is; absent for nobody's
//	request   what was asked: the body of POST /v1/messages, without the headers
//	          and so without the key
//	response  content, stop_reason, usage
//	error     instead of a response: text; refusal, when the API refused, with
//	          provider, status, type, message, retry_after (s); cause, when it is
//	          cut_stream or unreachable
//
// What hangs on the occasion is not in it: for the sandbox's path stands
// ${SANDBOX}, and in requests ${ADDRESS} for an address in memory. But for the
// time, equal calls give equal lines.
type Recording struct {
	name  string // for errors
	calls []recordedCall
}

type recordedCall struct {
	line    int
	origin  origin
	session string
	time    time.Time // zero when it was not written down
	key     replayKey
}

// ReadRecording reads from a file what a recording has for the occasion: the calls of its
// session; if there are none, those of a session that differs in its number only
// ("0007-sum-e1-t1" for "0001-sum-e1-t1"); else all. Other lines are not looked
// at. A recording without calls is an error. Errors name file and line.
func (o Normalizer) ReadRecording(file string) (*Recording, error) {
	tries := []func(string) bool{anySession}
	if o.Session != "" {
		own := func(session string) bool { return session == o.Session }
		alike := func(session string) bool { return withoutNumber(session) == withoutNumber(o.Session) }
		tries = []func(string) bool{own, alike, anySession}
	}
	for _, wanted := range tries {
		r, err := readRecording(file, wanted)
		if err != nil || len(r.calls) > 0 {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s: the recording has no calls", file)
}

func anySession(string) bool { return true }

// withoutNumber is a session's name without what depends on how many there were
// before it.
func withoutNumber(session string) string {
	if number, rest, ok := strings.Cut(session, "-"); ok && number != "" && strings.Trim(number, "0123456789") == "" {
		return rest
	}
	return session
}

func readRecording(file string, wanted func(session string) bool) (*Recording, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	r, err := parseRecording(file, in, wanted)
	return r, errors.Join(err, in.Close())
}

// ParseRecording reads a recording. The name stands for it in errors.
func ParseRecording(name string, data []byte) (*Recording, error) {
	return parseRecording(name, bytes.NewReader(data), anySession)
}

func parseRecording(name string, in io.Reader, wanted func(session string) bool) (*Recording, error) {
	r := &Recording{name: name}
	lines := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 && wanted(gjson.GetBytes(line, "session").String()) {
			c, err := parseCall(line)
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

func parseCall(line []byte) (recordedCall, error) {
	var c callLine
	request, rest := cutRequest(line)
	dec := json.NewDecoder(bytes.NewReader(rest))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return recordedCall{}, err
	}
	if dec.More() {
		return recordedCall{}, errors.New("more than one call on a line")
	}
	if c.Response == nil == (c.Error == nil) {
		return recordedCall{}, errors.New("a call has either response or error")
	}
	if !bytes.HasPrefix(request, []byte("{")) {
		return recordedCall{}, errors.New("request: it must be an object")
	}
	out := recordedCall{origin: origin{endedAt: c.At, recorded: &c.answer}, session: c.Session, key: replayKey{raw: request}}
	out.origin.modelName = gjson.GetBytes(request, "model").String()
	if c.At != "" {
		var err error
		if out.time, err = time.Parse(time.RFC3339, c.At); err != nil {
			return recordedCall{}, fmt.Errorf("at: %w", err)
		}
	}
	return out, nil
}

// cutRequest cuts the request, for which null is left, out of a line that holds
// one. It is nearly all of a line, and only has to be JSON until it is played.
func cutRequest(line []byte) (request, rest []byte) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, line
	}
	for dec.PeekKind() == '"' {
		token, _ := dec.ReadToken() // what is wrong with it is wrong with its value
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, line
		}
		if name == "request" {
			end := int(dec.InputOffset())
			start := end - len(value)
			return line[start:end], slices.Concat(line[:start], []byte("null"), line[end:])
		}
	}
	return nil, line
}

// OfModel returns the calls of the model of that name.
func (r *Recording) OfModel(name string) *Recording {
	of := &Recording{name: r.name}
	for _, c := range r.calls {
		if c.origin.modelName == name {
			of.calls = append(of.calls, c)
		}
	}
	return of
}

// sessions is whose calls they are, each once.
func (r *Recording) sessions() map[string]bool {
	all := map[string]bool{}
	for _, c := range r.calls {
		all[c.session] = true
	}
	return all
}
