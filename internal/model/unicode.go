package model

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// mendUnicode replaces what is no Unicode in JSON: bytes that are no UTF-8, and
// escapes of half a surrogate pair, which Go reads but an API refuses. The rest
// stays as it was written.
func mendUnicode(text []byte) []byte {
	const replacement = "\uFFFD"
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte(replacement))
	}
	at := loneSurrogate(text, 0)
	if at < 0 {
		return text
	}
	text = bytes.Clone(text)
	for ; at >= 0; at = loneSurrogate(text, at) {
		copy(text[at:], `\ufffd`)
	}
	return text
}

// loneSurrogate returns where in JSON, at or after from, the first escape of half
// a surrogate pair is, -1 if there is none.
func loneSurrogate(text []byte, from int) int {
	for i := from; i < len(text); {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		first := escaped(text[i:])
		switch {
		case !utf16.IsSurrogate(first):
			i += 2 // over what is escaped, which may be a backslash
		case utf16.DecodeRune(first, escaped(text[i+escapeSize:])) == utf8.RuneError:
			return i
		default:
			i += 2 * escapeSize
		}
	}
	return -1
}

// escapeSize is the length of an escape like \u00e9.
const escapeSize = 6

// escaped returns the code unit whose escape text begins with, 0 if it begins
// with none.
func escaped(text []byte) rune {
	if len(text) < escapeSize || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(text[2:escapeSize]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}
