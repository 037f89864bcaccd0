package grading

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MarshalJSON implements [json.Marshaler].
func (n Null) MarshalJSON() ([]byte, error) { return appendJSON(nil, n), nil }

// MarshalJSON implements [json.Marshaler].
func (b Bool) MarshalJSON() ([]byte, error) { return appendJSON(nil, b), nil }

// MarshalJSON implements [json.Marshaler].
func (i Int) MarshalJSON() ([]byte, error) { return appendJSON(nil, i), nil }

// MarshalJSON implements [json.Marshaler].
func (f Float) MarshalJSON() ([]byte, error) { return appendJSON(nil, f), nil }

// MarshalJSON implements [json.Marshaler].
func (s String) MarshalJSON() ([]byte, error) { return appendJSON(nil, s), nil }

// MarshalJSON implements [json.Marshaler].
func (l List) MarshalJSON() ([]byte, error) { return appendJSON(nil, l), nil }

// MarshalJSON implements [json.Marshaler].
func (o *Object) MarshalJSON() ([]byte, error) { return appendJSON(nil, o), nil }

func appendJSON(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case Bool:
		return fmt.Appendf(dst, "%t", bool(v))
	case Int:
		return appendInt(dst, v)
	case Float:
		return appendFloat(dst, float64(v))
	case String:
		return appendString(dst, string(v))
	case List:
		dst = append(dst, '[')
		for i, item := range v {
			dst = appendJSON(appendComma(dst, i), item)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		for i := range v.Len() {
			dst = appendString(appendComma(dst, i), v.keys[i])
			dst = appendJSON(append(dst, ':'), v.items[v.keys[i]])
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}

func appendInt(dst []byte, i Int) []byte {
	if big := i.Big(); !big.IsInt64() {
		return big.Append(dst, 10)
	}
	return strconv.AppendInt(dst, i.Big().Int64(), 10) // much quicker
}

func appendComma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ',')
}

// appendFloat keeps the point or the exponent, by which a reader tells a float
// from an integer.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `{"$float":"NaN"}`...)
	case math.IsInf(f, 1):
		return append(dst, `{"$float":"Infinity"}`...)
	case math.IsInf(f, -1):
		return append(dst, `{"$float":"-Infinity"}`...)
	}
	return append(dst, floatText(f)...)
}

// appendString escapes what JSON wants escaped, and the line ends of JavaScript.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // of what has not been appended yet
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := decodeRune(s[i:])
		if r < ' ' || r == '"' || r == '\\' || r == '\u0085' || r == '\u2028' || r == '\u2029' || isSurrogate(r) || r == utf8.RuneError && size == 1 {
			dst = appendEscape(append(dst, s[start:i]...), r)
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, r rune) []byte {
	const letters, meanings = `"\nrt`, "\"\\\n\r\t"
	if i := strings.IndexRune(meanings, r); i >= 0 {
		return append(dst, '\\', letters[i])
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}
