package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Field is a top-level member of a JSON object that [ReplaceFields] sets or removes.
type Field struct {
	Name  string
	Value any // anything that encoding/json can encode; nil removes the field
}

// ReplaceFields returns the JSON object body with the given fields set, in front of the others.
// A field with a nil value is removed. The bytes of all other members do not change. It fails
// with [ErrMalformed] if body is not a JSON object.
func ReplaceFields(body []byte, fields ...Field) ([]byte, error) {
	out := make([]byte, 0, len(body)+64)
	out = append(out, '{')
	for _, field := range fields {
		if field.Value == nil {
			continue
		}
		value, err := Marshal(field.Value)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		out = appendField(out, field.Name, value)
	}
	tokens := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := tokens.ReadToken(); err != nil || open.Kind() != '{' {
		return nil, fmt.Errorf("%w: not an object", ErrMalformed)
	}
	for tokens.PeekKind() != '}' {
		token, err := tokens.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrMalformed, err)
		}
		name := token.String()
		value, err := tokens.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrMalformed, err)
		}
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			out = appendField(out, name, value)
		}
	}
	return append(out, '}'), nil
}

// appendField appends a member with this name and JSON value to a JSON object under
// construction, after a comma if it is not the first member.
func appendField(out []byte, name string, value []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	// The only error is about invalid UTF-8, which is replaced all the same.
	out, _ = jsontext.AppendQuote(out, name)
	return append(append(out, ':'), value...)
}

// Marshal encodes v like json.Marshal, but does not escape <, > and &, which only matters in
// web pages, so that texts are readable in a trace. It fails if v has no JSON.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
