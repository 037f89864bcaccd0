package notebook

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// builder puts together a JSON object whose values are JSON already. Unlike
// encoding/json it does not read them again, which for images matters. The zero
// value is ready.
type builder struct{ text []byte }

func (b *builder) raw(name string, value []byte) {
	separator := byte(',')
	if len(b.text) == 0 {
		separator = '{'
	}
	b.text = appendQuoted(append(b.text, separator), name)
	b.text = append(append(b.text, ':'), value...)
}

func (b *builder) string(name, value string) { b.raw(name, appendQuoted(nil, value)) }

func (b *builder) integer(name string, value int64) {
	b.raw(name, strconv.AppendInt(nil, value, 10))
}

func (b *builder) array(name string, values []json.RawMessage) {
	text := []byte{'['}
	for i, value := range values {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, value...)
	}
	b.raw(name, append(text, ']'))
}

// done returns the object. The builder must not be used after it.
func (b *builder) done() json.RawMessage {
	if len(b.text) == 0 {
		return json.RawMessage("{}")
	}
	return append(b.text, '}')
}

// appendQuoted appends text as a JSON string; what is not UTF-8 becomes U+FFFD.
func appendQuoted(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // its one error is text that is not UTF-8
	return dst
}

// quoteAll returns texts as a JSON array.
func quoteAll(texts []string) []byte {
	dst := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, text)
	}
	return append(dst, ']')
}

// encode returns v as compact JSON in which <, > and & stand for themselves.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
