package ticks

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// terminalColumns returns how many columns a text takes in a terminal: two for a wide character,
// none for a mark that is part of another.
func terminalColumns(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeTerminalColumns(r)
	}
	return sum
}

func runeTerminalColumns(r rune) int {
	switch {
	case isCombining(r):
		return 0
	case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// isCombining reports whether a rune is shown as part of the one before it, or not at all:
// marks, the later letters of a Korean syllable, invisible signs.
func isCombining(r rune) bool {
	korean := 0x1160 <= r && r <= 0x11FF
	softHyphen := r == 0xAD
	return korean || unicode.In(r, unicode.Mn, unicode.Me) ||
		unicode.Is(unicode.Cf, r) && !softHyphen && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// cutColumns shortens a text to at most limit columns, which must be at least 3. A text that
// is cut ends in "...", which counts, and is cut between characters as people see them.
func cutColumns(text string, limit int) string {
	const dots = "..."
	if terminalColumns(text) <= limit {
		return text
	}
	room, end := limit-len(dots), 0
	for character := range graphemes(text) {
		if room -= terminalColumns(character); room < 0 {
			break
		}
		end += len(character)
	}
	return text[:end] + dots
}

// graphemes yields the characters of a text as people see them: a letter with its marks, an
// emoji with its skin tone and what is joined to it, a flag.
func graphemes(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			end := firstGraphemeBytes(text)
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// firstGraphemeBytes returns the length in bytes of the first character of a text.
func firstGraphemeBytes(text string) int {
	const joiner = '\u200D'
	first, end := utf8.DecodeRuneInString(text)
	last, isHalfFlag := first, unicode.Is(unicode.Regional_Indicator, first)
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		isSkinTone := 0x1F3FB <= r && r <= 0x1F3FF
		completesFlag := isHalfFlag && unicode.Is(unicode.Regional_Indicator, r)
		if !isCombining(r) && !isSkinTone && !completesFlag && last != joiner {
			break
		}
		last, isHalfFlag, end = r, isHalfFlag && !completesFlag, end+size
	}
	return end
}

// escapeLine puts a text on one line: line breaks and control characters are escaped as Lisp
// and Python write them, invalid UTF-8 becomes U+FFFD.
func escapeLine(text string) string {
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
