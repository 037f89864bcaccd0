package trace

import "bytes"

// isCompact tells whether text, which is JSON, has no space between its tokens: to
// see that costs a fraction of taking it apart.
func isCompact(text []byte) bool {
	for {
		between, rest, quoted := bytes.Cut(text, []byte{'"'})
		if bytes.ContainsAny(between, " \t\r\n") {
			return false
		}
		if !quoted {
			return true
		}
		end := indexAfterString(rest)
		if end < 0 {
			return false
		}
		text = rest[end:]
	}
}

// indexAfterString is where the text behind a string begins, whose opening quote stands
// in front of text; -1: it does not end.
func indexAfterString(text []byte) int {
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
