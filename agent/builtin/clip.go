package builtin

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxOutput is how many bytes of text a tool may return.
const maxOutput = 16 << 10

// clip shortens a text to at most limit bytes: its head and its tail stay, and
// between them a line says how much is missing. Characters stay whole.
func clip(text string, limit int) string {
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

// oneLine makes a text of about limit bytes at most into one line.
func oneLine(text string, limit int) string {
	return strings.Join(strings.Fields(clip(text, limit)), " ")
}
