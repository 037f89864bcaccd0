package notebook

import (
	"bytes"
	"encoding/json"
	"strings"
)

// isBinary tells whether a value is base64, or an image in text, which is of no
// more use when cut.
func isBinary(mime string, value json.RawMessage) bool {
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

// isJSONType tells whether nbformat lets the values of a mime type be any JSON.
func isJSONType(mime string) bool {
	sub, ok := strings.CutPrefix(mime, "application/")
	return ok && (sub == "json" || strings.HasSuffix(sub, "+json"))
}

// isBase64 tells whether value is a string that is long and regular enough to be
// taken for base64.
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
	return bytes.IndexFunc(digits, notBase64) < 0
}

func notBase64(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '/'
}

// valueSize returns how many bytes a value stands for: decoded where it is
// base64, else as its JSON has them.
func valueSize(mime string, value json.RawMessage) int {
	size := len(value)
	if size >= 2 && value[0] == '"' {
		size -= 2
	}
	if !isBinary(mime, value) || mime == "image/svg+xml" {
		return size
	}
	size -= 2 * bytes.Count(value, []byte(`\n`))
	return size/4*3 - bytes.Count(value[max(0, len(value)-5):], []byte("="))
}

// valueText returns a value as text: a string, strings joined, else its JSON.
func valueText(value json.RawMessage) string {
	if text, ok := unquote(value); ok {
		return text
	}
	if texts, err := unquoteAll(value); err == nil {
		return strings.Join(texts, "")
	}
	return string(value)
}
