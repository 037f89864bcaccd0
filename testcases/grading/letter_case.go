package grading

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// upper is full Unicode upper-casing: ß becomes SS. Lone surrogates stay.
func upper(s string) string { return withCase(cases.Upper(language.Und), s) }

// lower is full Unicode lower-casing: a sigma that ends a word is ς.
func lower(s string) string { return withCase(cases.Lower(language.Und), s) }

func withCase(caser cases.Caser, s string) string {
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

// splitSurrogates cuts s before and after each lone surrogate.
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
