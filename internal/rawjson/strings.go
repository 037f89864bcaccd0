package rawjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// StringEnd returns the index in text after the closing quote of a JSON string whose opening
// quote is just before text, or -1 if the string does not end.
func StringEnd(text []byte) int {
	for at := 0; ; {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return -1
		}
		at += quote + 1
		escapes := 0
		for escapes < at-1 && text[at-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

// MapStrings returns text, which must be well-formed JSON, with its strings as replace returns
// them, or text itself if none changes. All other bytes stay the same. replace gets the strings
// one after the other, decoded, and whether each is the name of a member; it returns the new
// string, and whether it is another one. It may not keep value. Invalid Unicode in a string is
// decoded to U+FFFD.
func MapStrings(text []byte, replace func(value []byte, isName bool) (replacement []byte, isChanged bool)) []byte {
	var out, decoded []byte
	copied := 0 // the bytes of text that are in out
	for at := 0; ; {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			break
		}
		start := at + quote
		length := StringEnd(text[start+1:])
		if length < 0 {
			break
		}
		at = start + 1 + length
		value := text[start+1 : at-1]
		if bytes.IndexByte(value, '\\') >= 0 {
			// The only error here is about invalid Unicode.
			decoded, _ = jsontext.AppendUnquote(decoded[:0], text[start:at])
			value = decoded
		}
		isName := bytes.HasPrefix(bytes.TrimLeft(text[at:], " \t\r\n"), []byte(":"))
		if replacement, isChanged := replace(value, isName); isChanged {
			out = append(out, text[copied:start]...)
			out, _ = jsontext.AppendQuote(out, replacement) // as above
			copied = at
		}
	}
	if copied == 0 {
		return text
	}
	return append(out, text[copied:]...)
}
