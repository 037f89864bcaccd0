package builtin

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// columns is how many columns a text takes in a terminal: two for wide
// characters, none for marks that join another.
func columns(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeColumns(r)
	}
	return sum
}

func runeColumns(r rune) int {
	switch {
	case joins(r):
		return 0
	case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// joins reports whether a character is shown as part of the one before it, or
// not at all: marks, the later letters of a Korean syllable, invisible signs.
func joins(r rune) bool {
	korean := 0x1160 <= r && r <= 0x11FF
	softHyphen := r == 0xAD
	return korean || unicode.In(r, unicode.Mn, unicode.Me) ||
		unicode.Is(unicode.Cf, r) && !softHyphen && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// cutColumns shortens a text to so many columns, at least 3. One that is cut
// ends in "...", which count; no character is taken apart. One that fits stays
// as it is.
func cutColumns(text string, limit int) string {
	const dots = "..."
	if columns(text) <= limit {
		return text
	}
	room, end := limit-len(dots), 0
	for character := range characters(text) {
		if room -= columns(character); room < 0 {
			break
		}
		end += len(character)
	}
	return text[:end] + dots
}

// characters yields a text as people see it: a letter with its marks, an emoji
// with its tone and what is joined to it, a flag.
func characters(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			end := characterEnd(text)
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// characterEnd is how many bytes the first character of a text has.
func characterEnd(text string) int {
	const joiner = '\u200D'
	first, end := utf8.DecodeRuneInString(text)
	last, flag := first, unicode.Is(unicode.Regional_Indicator, first)
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		tone := 0x1F3FB <= r && r <= 0x1F3FF
		pair := flag && unicode.Is(unicode.Regional_Indicator, r)
		if !joins(r) && !tone && !pair && last != joiner {
			break
		}
		last, flag, end = r, flag && !pair, end+size
	}
	return end
}

// escaped puts a text on one line: what would break it, or move about in it, is
// written as Lisp and Python write it.
func escaped(text string) string {
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
