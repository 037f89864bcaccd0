package notebook

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// objectBuilder builds a JSON object from values that are JSON already. Unlike encoding/json it
// does not parse them again, which matters for large images. The zero value is ready to use.
type objectBuilder struct{ text []byte }

// addRawField adds a member with this name whose value is already JSON.
func (b *objectBuilder) addRawField(name string, value []byte) {
	separator := byte(',')
	if len(b.text) == 0 {
		separator = '{'
	}
	b.text = appendQuoted(append(b.text, separator), name)
	b.text = append(append(b.text, ':'), value...)
}

// addStringField adds a member with this name and a string, which it quotes.
func (b *objectBuilder) addStringField(name, value string) {
	b.addRawField(name, appendQuoted(nil, value))
}

// addIntegerField adds a member with this name and an integer.
func (b *objectBuilder) addIntegerField(name string, value int64) {
	b.addRawField(name, strconv.AppendInt(nil, value, 10))
}

// addArrayField adds a member with this name and an array of values that are already JSON.
func (b *objectBuilder) addArrayField(name string, values []json.RawMessage) {
	text := []byte{'['}
	for i, value := range values {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, value...)
	}
	b.addRawField(name, append(text, ']'))
}

// finishObject returns the JSON object that was built. The builder must not be used after this.
func (b *objectBuilder) finishObject() json.RawMessage {
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
