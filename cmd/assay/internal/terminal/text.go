package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Printable returns text with every character that is not printable, such as a control
// character or a line break, replaced by U+FFFD. The result can neither move a cursor nor
// begin a new line.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// OneLine joins the words of text with single spaces. Of more than 300 characters it
// keeps the first 100 and the last 200, because an error often ends with what matters.
func OneLine(text string) string {
	const head, tail = 100, 200
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > head+tail {
		return string(runes[:head]) + " … " + string(runes[len(runes)-tail:])
	}
	return text
}

// Fit returns text if it takes at most that many columns; otherwise it cuts it and ends
// it with "…". columns is at least 1.
func Fit(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	var cut strings.Builder
	left := columns - 1
	for _, r := range text {
		if left -= runeWidth(r); left < 0 {
			break
		}
		cut.WriteRune(r)
	}
	return cut.String() + "…"
}

// Width returns the number of columns of a terminal that printable text takes.
func Width(text string) (columns int) {
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth returns the number of columns that r takes: 0 for a combining mark, 2 for a
// wide East Asian character, otherwise 1.
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
