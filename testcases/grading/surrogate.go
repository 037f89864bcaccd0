package grading

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Lone surrogates live in our strings as ED A0 80 to ED BF BF, the bytes that
// UTF-8 would give them if it allowed them.

func isSurrogate(r rune) bool { return utf16.IsSurrogate(r) }

// decodeRune is utf8.DecodeRuneInString that also knows lone surrogates.
// Any other invalid byte is utf8.RuneError of size 1.
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

// appendRune is utf8.AppendRune that also knows lone surrogates.
func appendRune(dst []byte, r rune) []byte {
	if isSurrogate(r) {
		return append(dst, 0xed, 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
	}
	return utf8.AppendRune(dst, r)
}

// runes returns the code points of s.
func runes(s string) []rune {
	out := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, size := decodeRune(s)
		out = append(out, r)
		s = s[size:]
	}
	return out
}
