package pyvalue

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// A lone surrogate is encoded in strings of this package as ED A0 80 to ED BF BF, the
// bytes that UTF-8 would give it if it allowed surrogates.

func isSurrogate(r rune) bool { return utf16.IsSurrogate(r) }

// decodeRune is utf8.DecodeRuneInString, except that it also decodes lone surrogates.
// Any other invalid byte is utf8.RuneError with size 1.
func decodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r != utf8.RuneError || size != 1 || len(s) < 3 {
		return r, size
	}
	if s[0] == 0xed && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return r, size
}

// AppendRune is utf8.AppendRune, except that it also encodes lone surrogates, see
// [String].
func AppendRune(dst []byte, r rune) []byte {
	if isSurrogate(r) {
		return append(dst, 0xed, 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
	}
	return utf8.AppendRune(dst, r)
}

// Runes returns the code points of s, lone surrogates included.
func Runes(s string) []rune {
	out := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, size := decodeRune(s)
		out = append(out, r)
		s = s[size:]
	}
	return out
}

// Upper returns s in upper case by all rules of Unicode: ß becomes SS. Lone surrogates
// are not changed.
func Upper(s string) string { return mapCaseKeepingSurrogates(cases.Upper(language.Und), s) }

// Lower returns s in lower case by all rules of Unicode: a sigma at the end of a word
// becomes ς. Lone surrogates are not changed.
func Lower(s string) string { return mapCaseKeepingSurrogates(cases.Lower(language.Und), s) }

// mapCaseKeepingSurrogates changes the case of s with caser, except for its lone
// surrogates.
func mapCaseKeepingSurrogates(caser cases.Caser, s string) string {
	var out strings.Builder
	for _, part := range splitSurrogates(s) {
		if r, _ := decodeRune(part); isSurrogate(r) {
			out.WriteString(part)
			continue
		}
		out.WriteString(caser.String(part))
	}
	return out.String()
}

// splitSurrogates splits s before and after each lone surrogate.
func splitSurrogates(s string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		if isSurrogate(r) {
			parts = append(parts, s[start:i], s[i:i+size])
			start = i + size
		}
		i += size
	}
	return append(parts, s[start:])
}
