package notebook

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// excerpt is UTF-8 text in parts, of which the middle may be missing. Its parts
// are never changed, so it can be read while more is written behind them.
type excerpt struct {
	head    [][]byte
	tail    [][]byte // empty when nothing is missing
	missing int64    // bytes between head and tail
}

// cut returns the text, or, where it is longer than limit bytes, its beginning
// and its end, half of limit each. Between them it says how much is left out.
func (e excerpt) cut(limit int) string {
	size := length(e.head) + length(e.tail)
	if size <= limit {
		return e.all()
	}
	end := e.tail
	if e.missing == 0 {
		end = e.head // all of the text
	}
	first, last := firstBytes(e.head, limit/2), lastBytes(end, limit/2)
	return string(first) + leftOut(e.missing+int64(size-len(first)-len(last))) + string(last)
}

// all returns all there is of the text.
func (e excerpt) all() string {
	return string(join(e.head)) + leftOut(e.missing) + string(join(e.tail))
}

// cut returns text as [excerpt.cut] does.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return excerpt{head: [][]byte{[]byte(text)}}.cut(limit)
}

// leftOut is what stands in the place of n bytes of text.
func leftOut(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[... %d bytes left out ...]\n", n)
}

func length(parts [][]byte) int {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	return n
}

func join(parts [][]byte) []byte { return bytes.Join(parts, nil) }

// firstBytes returns at most n bytes, in whole runes.
func firstBytes(parts [][]byte, n int) []byte {
	text := make([]byte, 0, n)
	for _, part := range parts {
		most := wholeRunes(part, n-len(text))
		text = append(text, part[:most]...)
		if most < len(part) {
			break
		}
	}
	return text
}

// lastBytes returns at most n bytes, in whole runes.
func lastBytes(parts [][]byte, n int) []byte {
	from := len(parts)
	for size := 0; from > 0 && size < n; size += len(parts[from]) {
		from--
	}
	text := join(parts[from:])
	return text[skipRunes(text, len(text)-n):]
}

// wholeRunes returns the largest number of bytes up to n with which p can be
// cut between two runes.
func wholeRunes(p []byte, n int) int {
	if n >= len(p) {
		return len(p)
	}
	for n > 0 && !utf8.RuneStart(p[n]) {
		n--
	}
	return max(n, 0)
}

// skipRunes returns the smallest number of bytes from n with which p can be cut
// between two runes.
func skipRunes(p []byte, n int) int {
	n = max(n, 0)
	for n < len(p) && !utf8.RuneStart(p[n]) {
		n++
	}
	return min(n, len(p))
}
