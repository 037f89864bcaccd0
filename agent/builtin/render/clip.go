package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxTextBytes is the maximum size of the text of one tool result, or of one code output,
// that a model gets.
const MaxTextBytes = 16 << 10

// Clip shortens text to about limit bytes: it keeps the head and the tail and puts a line
// between them that says how many bytes are missing. It does not cut UTF-8 characters. A
// text of at most limit bytes stays as it is.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const marker = "\n[... %d bytes left out ...]\n"
	room := max(0, limit-len(fmt.Sprintf(marker, len(text))))
	head, tail := room/2, len(text)-room/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf(marker, tail-head) + text[tail:]
}

// ClipToOneLine clips a text to about limit bytes and puts it on one line with single spaces
// between its words.
func ClipToOneLine(text string, limit int) string {
	return strings.Join(strings.Fields(Clip(text, limit)), " ")
}

// FormatSeconds writes a duration as a number of seconds without trailing zeros: 10, 0.5.
func FormatSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}
