package pyvalue

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Str returns v as Python's str does: a string unchanged, and other values as in True,
// None, 1.0, ['B'] or {'a': 1}.
func Str(v Value) string {
	if s, ok := v.(String); ok {
		return string(s)
	}
	return Repr(v)
}

// Repr returns v as Python's repr does: as Str, but strings in quotes.
func Repr(v Value) string { return string(appendRepr(nil, v)) }

func appendRepr(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case Bool:
		if v {
			return append(dst, "True"...)
		}
		return append(dst, "False"...)
	case Int:
		return appendInt(dst, v)
	case Float:
		return append(dst, FormatFloat(float64(v))...)
	case String:
		return appendQuoted(dst, string(v))
	case List:
		dst = append(dst, '[')
		for i, item := range v {
			dst = appendRepr(appendSeparator(dst, i), item)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		for i := range v.Len() {
			key := v.keys[i]
			dst = append(appendQuoted(appendSeparator(dst, i), key), ": "...)
			dst = appendRepr(dst, v.items[key])
		}
		return append(dst, '}')
	default:
		return append(dst, "None"...)
	}
}

func appendSeparator(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ", "...)
}

// FormatFloat returns Python's repr of a float: the shortest text that reads back as f,
// with a point or an exponent. The exponent is used below 1e-4 and from 1e16 on.
func FormatFloat(f float64) string {
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

// appendQuoted appends Python's repr of a string to dst: in quotes, with escapes.
func appendQuoted(dst []byte, s string) []byte {
	mark := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	dst = utf8.AppendRune(dst, mark)
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		i += size
		switch {
		case r == mark || r == '\\':
			dst = utf8.AppendRune(append(dst, '\\'), r)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case unicode.IsPrint(r):
			dst = AppendRune(dst, r)
		case r < 0x100:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r < 0x10000:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return utf8.AppendRune(dst, mark)
}

// TrimSpace removes at both ends what Python's strip removes: the white space of
// Unicode and the separators U+001C to U+001F.
func TrimSpace(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
	})
}

// JSONKey returns v in the form in which Python's json module writes it as a key of an
// object: true, null, 1, 1.5, NaN.
func JSONKey(v Value) string {
	switch v.(type) {
	case String:
		return Str(v)
	case Float:
		switch text := Str(v); text {
		case "nan":
			return "NaN"
		case "inf":
			return "Infinity"
		case "-inf":
			return "-Infinity"
		default:
			return text
		}
	}
	return string(AppendJSON(nil, v))
}

// ParseFloat parses a number as Python's float does: with white space around it,
// decimal digits of any script, single underscores between digits, and inf and nan in
// any case. A number out of range is infinite. It returns false for other texts.
func ParseFloat(s string) (float64, bool) {
	s = strings.Trim(toASCIIDigits(s), " \t\n\r\v\f")
	if f, ok := parseNonFinite(s); ok {
		return f, true
	}
	if strings.Trim(s, "0123456789.+-eE_") != "" || !hasValidUnderscores(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// toASCIIDigits replaces each decimal digit by the ASCII digit of the same value, and
// white space outside ASCII by a space. Other characters are not changed.
func toASCIIDigits(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Nd, r):
			return '0' + digitValue(r)
		}
		return r
	}, s)
}

// digitValue returns the value of a decimal digit. Unicode has the digits of each
// script in runs of ten that begin with zero.
func digitValue(r rune) rune {
	n := rune(0)
	for unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return n % 10
}

// parseNonFinite parses inf, infinity and nan with an optional sign, in any case. It
// returns false for other texts.
func parseNonFinite(s string) (float64, bool) {
	sign := 1
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	switch strings.ToLower(s) {
	case "inf", "infinity":
		return math.Inf(sign), true
	case "nan":
		return math.NaN(), true
	}
	return 0, false
}

// hasValidUnderscores reports whether each underscore in s is between two digits.
func hasValidUnderscores(s string) bool {
	digit := func(i int) bool { return i >= 0 && i < len(s) && '0' <= s[i] && s[i] <= '9' }
	for i := range len(s) {
		if s[i] == '_' && (!digit(i-1) || !digit(i+1)) {
			return false
		}
	}
	return true
}
