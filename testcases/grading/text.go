package grading

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Text returns v as Python's str writes it: a string as it is, True, None,
// 1.0, ['B'], {'a': 1}.
func Text(v Value) string {
	if s, ok := v.(String); ok {
		return string(s)
	}
	return repr(v)
}

func repr(v Value) string {
	switch v := v.(type) {
	case Bool:
		if v {
			return "True"
		}
		return "False"
	case Int:
		return v.Big().String()
	case Float:
		return floatText(float64(v))
	case String:
		return quote(string(v))
	case List:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = repr(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *Object:
		items := make([]string, 0, v.Len())
		for key, item := range v.All() {
			items = append(items, quote(key)+": "+repr(item))
		}
		return "{" + strings.Join(items, ", ") + "}"
	default:
		return "None"
	}
}

// floatText is the shortest text that reads back as f, with a point or an
// exponent; the exponent is used below 1e-4 and from 1e16.
func floatText(f float64) string {
	exponential := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, finite := strings.Cut(exponential, "e")
	if !finite {
		return strings.ToLower(strings.TrimPrefix(exponential, "+"))
	}
	if n, _ := strconv.Atoi(exponent); n < -4 || n >= 16 {
		return exponential
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// quote is Python's repr of a string.
func quote(s string) string {
	mark := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	out := utf8.AppendRune(nil, mark)
	for _, r := range runes(s) {
		switch {
		case r == mark || r == '\\':
			out = append(out, '\\')
			out = utf8.AppendRune(out, r)
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case unicode.IsPrint(r):
			out = appendRune(out, r)
		case r < 0x100:
			out = fmt.Appendf(out, `\x%02x`, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\U%08x`, r)
		}
	}
	return string(utf8.AppendRune(out, mark))
}

// trim removes what Python takes for white space: that of Unicode and the four
// separators U+001C to U+001F.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
	})
}

// upper is full Unicode upper-casing: ß becomes SS. Lone surrogates stay.
func upper(s string) string {
	var out strings.Builder
	for _, part := range splitSurrogates(s) {
		if r, _ := decodeRune(part); isSurrogate(r) {
			out.WriteString(part)
			continue
		}
		out.WriteString(cases.Upper(language.Und).String(part))
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
