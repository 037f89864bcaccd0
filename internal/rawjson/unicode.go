package rawjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// RepairUnicode returns the JSON text with U+FFFD in place of bytes that are not
// UTF-8 and of \u escapes that are half of a surrogate pair. Go reads such
// escapes, but the vendors' APIs refuse them. The rest of the text stays as it is.
// The result may share memory with text; text itself does not change.
func RepairUnicode(text []byte) []byte {
	const replacement = "\uFFFD"
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte(replacement))
	}
	at := FindLoneSurrogate(text, 0)
	if at < 0 {
		return text
	}
	text = bytes.Clone(text)
	for ; at >= 0; at = FindLoneSurrogate(text, at) {
		copy(text[at:], `\ufffd`)
	}
	return text
}

// FindLoneSurrogate returns the offset in bytes, at or after from, of the first \u
// escape in the JSON text that is half of a surrogate pair, or -1 if there is none.
func FindLoneSurrogate(text []byte, from int) int {
	for i := from; i < len(text); {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		first := parseUnicodeEscape(text[i:])
		switch {
		case !utf16.IsSurrogate(first):
			i += 2 // skip the backslash and the escaped character, which may be a backslash
		case utf16.DecodeRune(first, parseUnicodeEscape(text[i+unicodeEscapeBytes:])) == utf8.RuneError:
			return i
		default:
			i += 2 * unicodeEscapeBytes
		}
	}
	return -1
}

// unicodeEscapeBytes is the length in bytes of a \u escape in JSON, such as \u00e9.
const unicodeEscapeBytes = 6

// parseUnicodeEscape returns the UTF-16 code unit of the \u escape at the start of
// text, or 0 if text does not start with one.
func parseUnicodeEscape(text []byte) rune {
	if len(text) < unicodeEscapeBytes || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(text[2:unicodeEscapeBytes]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}
