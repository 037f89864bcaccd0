package notebook

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// objectBuilder builds a JSON object of values that are JSON already. Unlike encoding/json
// it does not parse them again, which matters for images. The zero value is ready to use.
type objectBuilder struct{ text []byte }

// rawField adds a field whose value is JSON.
func (b *objectBuilder) rawField(name string, value []byte) {
	separator := byte(',')
	if len(b.text) == 0 {
		separator = '{'
	}
	b.text = appendQuoted(append(b.text, separator), name)
	b.text = append(append(b.text, ':'), value...)
}

// stringField adds a field with a string.
func (b *objectBuilder) stringField(name, value string) { b.rawField(name, appendQuoted(nil, value)) }

// integerField adds a field with an integer.
func (b *objectBuilder) integerField(name string, value int64) {
	b.rawField(name, strconv.AppendInt(nil, value, 10))
}

// arrayField adds a field with an array of values that are JSON.
func (b *objectBuilder) arrayField(name string, values []json.RawMessage) {
	text := []byte{'['}
	for i, value := range values {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, value...)
	}
	b.rawField(name, append(text, ']'))
}

// finish returns the object. The builder must not be used after this.
func (b *objectBuilder) finish() json.RawMessage {
	if len(b.text) == 0 {
		return json.RawMessage("{}")
	}
	return append(b.text, '}')
}

// appendQuoted appends text as a JSON string. What is not UTF-8 in it becomes U+FFFD.
func appendQuoted(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // the only error is about text that is not UTF-8
	return dst
}

// quotedArray returns texts as a JSON array of strings.
func quotedArray(texts []string) []byte {
	dst := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, text)
	}
	return append(dst, ']')
}
