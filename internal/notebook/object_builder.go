package notebook

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// objectBuilder builds a JSON object from values that are JSON already. Unlike encoding/json it
// does not parse them again, which matters for large images. The zero value is ready to use.
type objectBuilder struct{ text []byte }

// rawField adds a member with this name whose value is already JSON.
func (b *objectBuilder) rawField(name string, value []byte) {
	separator := byte(',')
	if len(b.text) == 0 {
		separator = '{'
	}
	b.text = appendQuoted(append(b.text, separator), name)
	b.text = append(append(b.text, ':'), value...)
}

// stringField adds a member with this name and a string, which it quotes.
func (b *objectBuilder) stringField(name, value string) { b.rawField(name, appendQuoted(nil, value)) }

// integerField adds a member with this name and an integer.
func (b *objectBuilder) integerField(name string, value int64) {
	b.rawField(name, strconv.AppendInt(nil, value, 10))
}

// arrayField adds a member with this name and an array of values that are already JSON.
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

// finish returns the JSON object that was built. The builder must not be used after this.
func (b *objectBuilder) finish() json.RawMessage {
	if len(b.text) == 0 {
		return json.RawMessage("{}")
	}
	return append(b.text, '}')
}

// appendQuoted appends text to a buffer as a quoted JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // the only error is about text that is not UTF-8
	return dst
}

// quotedArray returns texts as a JSON array of quoted strings.
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
