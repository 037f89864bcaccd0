package notebook

import (
	"bytes"
	"encoding/json"
	"strings"
)

// isBinaryType reports whether a value of this MIME type is binary data: base64, or an image even
// if it is text. Such a value is useless if it is cut.
func isBinaryType(mime string, value json.RawMessage) bool {
	top, sub, _ := strings.Cut(mime, "/")
	switch {
	case top == "image", top == "audio", top == "video", top == "font", mime == "application/pdf":
		return true
	case top == "text", isJSONType(mime), strings.HasSuffix(sub, "xml"), strings.HasSuffix(sub, "javascript"):
		return false
	default:
		return isBase64(value)
	}
}

// isJSONType reports whether the value of this MIME type may be any JSON in a notebook file, as
// for application/json.
func isJSONType(mime string) bool {
	sub, ok := strings.CutPrefix(mime, "application/")
	return ok && (sub == "json" || strings.HasSuffix(sub, "+json"))
}

// isBase64 reports whether value is a JSON string that looks like base64: it has at least 64
// bytes, a length that 4 divides, and only base64 digits and line feeds.
func isBase64(value json.RawMessage) bool {
	const shortest = 64
	if len(value) < shortest || value[0] != '"' {
		return false
	}
	text := bytes.ReplaceAll(value[1:len(value)-1], []byte(`\n`), nil)
	if len(text)%4 != 0 {
		return false
	}
	digits := bytes.TrimRight(text, "=")
	return bytes.IndexFunc(digits, isNotBase64Digit) < 0
}

// isNotBase64Digit reports whether r is not a base64 digit.
func isNotBase64Digit(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '/'
}

// decodedSize returns how many bytes the value of a MIME type has: those of the decoded data if
// it is base64, and otherwise those of its JSON without quotes.
func decodedSize(mime string, value json.RawMessage) int {
	size := len(value)
	if size >= 2 && value[0] == '"' {
		size -= 2
	}
	if !isBinaryType(mime, value) || mime == "image/svg+xml" {
		return size
	}
	size -= 2 * bytes.Count(value, []byte(`\n`))
	return size/4*3 - bytes.Count(value[max(0, len(value)-5):], []byte("="))
}

// valueText returns the JSON value of an output as text: a string itself, an array of strings
// joined, and anything else as JSON.
func valueText(value json.RawMessage) string {
	if text, ok := joinStrings(value); ok {
		return text
	}
	return string(value)
}
