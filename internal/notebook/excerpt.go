package notebook

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// excerpt is UTF-8 text in parts, of which a stretch in the middle may be missing. The parts do
// not change, so an excerpt can be read while more text is appended elsewhere.
type excerpt struct {
	head         [][]byte
	tail         [][]byte // empty if nothing is missing
	missingBytes int64    // between head and tail
}

// truncate returns the text as a string. If it is longer than maxBytes, only its beginning and
// its end are returned, half of maxBytes each, with a line between them that says how many
// bytes are left out.
func (e excerpt) truncate(maxBytes int) string {
	size := totalBytesOfParts(e.head) + totalBytesOfParts(e.tail)
	if size <= maxBytes {
		return e.fullText()
	}
	end := e.tail
	if e.missingBytes == 0 {
		end = e.head // which is all of the text
	}
	first, last := firstBytes(e.head, maxBytes/2), lastBytes(end, maxBytes/2)
	return string(first) + omissionText(e.missingBytes+int64(size-len(first)-len(last))) + string(last)
}

// fullText returns all parts of the text as a string. If bytes in the middle are missing, a
// line in their place says how many.
func (e excerpt) fullText() string {
	return string(joinTextParts(e.head)) + omissionText(e.missingBytes) + string(joinTextParts(e.tail))
}

// truncateMiddle returns text, or if it is longer than maxBytes its beginning and its end, half
// of maxBytes each, with a line between them that says how many bytes are left out.
func truncateMiddle(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return excerpt{head: [][]byte{[]byte(text)}}.truncate(maxBytes)
}

// omissionText returns the line that stands in place of n left out bytes of text; empty if n is
// 0.
func omissionText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[... %d bytes left out ...]\n", n)
}

// totalBytesOfParts returns how many bytes all parts of a text have together.
func totalBytesOfParts(parts [][]byte) int {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	return n
}

// joinTextParts returns the concatenation of all parts of a text.
func joinTextParts(parts [][]byte) []byte { return bytes.Join(parts, nil) }

// firstBytes returns at most n bytes from the beginning of a text in parts, without cutting a
// rune.
func firstBytes(parts [][]byte, n int) []byte {
	text := make([]byte, 0, n)
	for _, part := range parts {
		end := runeStartUpTo(part, n-len(text))
		text = append(text, part[:end]...)
		if end < len(part) {
			break
		}
	}
	return text
}

// lastBytes returns at most n bytes from the end of a text in parts, without cutting a rune.
func lastBytes(parts [][]byte, n int) []byte {
	from := len(parts)
	for size := 0; from > 0 && size < n; size += len(parts[from]) {
		from--
	}
	text := joinTextParts(parts[from:])
	return text[runeStartFrom(text, len(text)-n):]
}

// runeStartUpTo returns the largest index in p, up to n, at which the UTF-8 text p can be cut
// without splitting a rune.
func runeStartUpTo(p []byte, n int) int {
	if n >= len(p) {
		return len(p)
	}
	for n > 0 && !utf8.RuneStart(p[n]) {
		n--
	}
	return max(n, 0)
}

// runeStartFrom returns the smallest index in p, from n on, at which the UTF-8 text p can be
// cut without splitting a rune.
func runeStartFrom(p []byte, n int) int {
	n = max(n, 0)
	for n < len(p) && !utf8.RuneStart(p[n]) {
		n++
	}
	return min(n, len(p))
}
