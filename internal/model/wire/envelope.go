package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Envelope is what every request says at its top level.
type Envelope struct {
	Model         string
	IsStreamed    bool
	MaxTokens     int64 // of each reply; 0: no limit is set
	Choices       int64 // replies to a chat; 0 means one
	IsBackground  bool  // of Responses: the reply is made after the response
	IncludesUsage bool  // the reply says how many tokens it took; a streamed chat says so only on request

	// Namespaces has the namespace of each tool that has one, by the name that the tool has in a
	// [model.Request]. Only the Responses API has namespaces.
	Namespaces map[string]string
}

// ReadEnvelope returns the envelope of a request's body. A body that is not one JSON
// object, or has no model, is an error of one line. If a member occurs more than once, the
// last one counts, as for other JSON decoders. The names of members are case-sensitive.
func ReadEnvelope(api API, body []byte) (Envelope, error) {
	members, err := readBody(body)
	if err != nil {
		return Envelope{}, err
	}
	var out Envelope
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	err = cmp.Or(
		members.decode(body, "model", &out.Model),
		members.decode(body, "stream", &out.IsStreamed),
		members.decode(body, "stream_options", &options),
		members.decode(body, "background", &out.IsBackground),
	)
	for name, value := range map[string]*int64{"max_tokens": &out.MaxTokens, "max_completion_tokens": &out.MaxTokens, "max_output_tokens": &out.MaxTokens, "n": &out.Choices} {
		var n float64
		if members.decode(body, name, &n) == nil && n > 0 { // what is wrong with it, the API says
			*value = max(*value, int64(min(n, 1e9)))
		}
	}
	switch {
	case err != nil:
		return Envelope{}, err
	case out.Model == "":
		return Envelope{}, errors.New("model: required")
	}
	out.IncludesUsage = api != Chat || !out.IsStreamed || options.IncludeUsage
	if tools, ok := members["tools"]; ok && api == Responses {
		out.Namespaces = readNamespaces(body[tools.start:tools.end])
	}
	return out, nil
}

// WithModel returns the body of a request with another model. All other bytes stay the
// same. A body that is not one JSON object, or has no model, is an error.
func WithModel(body []byte, model string) ([]byte, error) {
	members, err := readBody(body)
	if err != nil {
		return nil, err
	}
	at, ok := members["model"]
	if !ok {
		return nil, errors.New("model: required")
	}
	value, err := jsontext.AppendQuote(nil, model)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return splice(body, at, value), nil
}

// WithUsage returns the body of a streamed chat request that asks for the usage of tokens:
// stream_options.include_usage is true. All other bytes stay the same. Stream options that
// are not an object are an error.
func WithUsage(body []byte) ([]byte, error) {
	const includeUsage = `"include_usage":true`
	members, err := readBody(body)
	if err != nil {
		return nil, err
	}
	at, ok := members["stream_options"]
	options := body[at.start:at.end]
	switch {
	case !ok:
		return insertMember(body, bytes.IndexByte(body, '{'), `"stream_options":{`+includeUsage+`}`), nil
	case string(options) == "null":
		return splice(body, at, []byte(`{`+includeUsage+`}`)), nil
	}
	inner, err := readMembers(options)
	if err != nil {
		return nil, fmt.Errorf("stream_options: must be an object: %w", err)
	}
	if usage, ok := inner["include_usage"]; ok {
		return splice(body, at, splice(options, usage, []byte("true"))), nil
	}
	return insertMember(body, at.start, includeUsage), nil
}

// span is the range of a value in a JSON text, in bytes.
type span struct{ start, end int }

// members are the members of a JSON object: where the last value with each name is.
type members map[string]span

// readBody returns the members of a request's body.
func readBody(body []byte) (members, error) {
	out, err := readMembers(body)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, errors.New("the body is empty")
	case err != nil:
		return nil, fmt.Errorf("the body is no JSON object: %w", err)
	}
	return out, nil
}

// readMembers returns the members of the JSON object that is the whole of text.
func readMembers(text []byte) (members, error) {
	in := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if first, err := in.ReadToken(); err != nil || first.Kind() != '{' {
		return nil, cmp.Or(err, errors.New("it begins otherwise"))
	}
	out := members{}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // before the next read, which invalidates the token
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(in.InputOffset())
		out[key] = span{end - len(value), end}
	}
	if _, err := in.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows it")
	}
	return out, nil
}

// decode decodes the member with this name into v. It leaves v unchanged if there is none.
func (m members) decode(body []byte, name string, v any) error {
	at, ok := m[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(body[at.start:at.end], v); err != nil {
		return memberError(name, err)
	}
	return nil
}

// memberError returns the error for a member that cannot be decoded because of err.
func memberError(name string, err error) error {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: must not be a JSON %s", strings.Trim(name+"."+mistyped.Field, "."), mistyped.Value)
	}
	return fmt.Errorf("%s: %w", cmp.Or(name, "the body"), err)
}

// splice returns a copy of text with another value at this place.
func splice(text []byte, at span, value []byte) []byte {
	out := make([]byte, 0, len(text)-(at.end-at.start)+len(value))
	out = append(append(out, text[:at.start]...), value...)
	return append(out, text[at.end:]...)
}

// insertMember returns a copy of text with one more member at the beginning of the object
// whose opening brace is at this offset.
func insertMember(text []byte, brace int, member string) []byte {
	if next := bytes.TrimLeft(text[brace+1:], " \t\r\n"); len(next) > 0 && next[0] != '}' {
		member += ","
	}
	return splice(text, span{brace + 1, brace + 1}, []byte(member))
}
