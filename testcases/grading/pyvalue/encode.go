package pyvalue

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MarshalJSON returns null.
func (n Null) MarshalJSON() ([]byte, error) { return AppendJSON(nil, n), nil }

// MarshalJSON returns true or false.
func (b Bool) MarshalJSON() ([]byte, error) { return AppendJSON(nil, b), nil }

// MarshalJSON returns the integer's decimal digits.
func (i Int) MarshalJSON() ([]byte, error) { return AppendJSON(nil, i), nil }

// MarshalJSON returns the float with a point or an exponent; one that is not finite
// becomes an object, see [Value].
func (f Float) MarshalJSON() ([]byte, error) { return AppendJSON(nil, f), nil }

// MarshalJSON returns the text as a JSON string; lone surrogates are escaped.
func (s String) MarshalJSON() ([]byte, error) { return AppendJSON(nil, s), nil }

// MarshalJSON returns the list as a JSON array.
func (l List) MarshalJSON() ([]byte, error) { return AppendJSON(nil, l), nil }

// MarshalJSON returns the object as JSON, with its keys in their order.
func (o *Object) MarshalJSON() ([]byte, error) { return AppendJSON(nil, o), nil }

// AppendJSON appends the JSON of v to dst, or null if v is nil.
func AppendJSON(dst []byte, v Value) []byte {
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
			dst = AppendJSON(appendComma(dst, i), item)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		for i := range v.Len() {
			dst = appendString(appendComma(dst, i), v.keys[i])
			dst = AppendJSON(append(dst, ':'), v.items[v.keys[i]])
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}

// appendInt appends the decimal digits of an integer to dst.
func appendInt(dst []byte, i Int) []byte {
	if big := i.Big(); !big.IsInt64() {
		return big.Append(dst, 10)
	}
	return strconv.AppendInt(dst, i.Big().Int64(), 10) // faster than big.Int
}

func appendComma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ',')
}

// appendFloat appends a float to dst, with a point or an exponent, which distinguishes
// it from an integer. A float that is not finite becomes an object, see [Value].
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `{"$float":"NaN"}`...)
	case math.IsInf(f, 1):
		return append(dst, `{"$float":"Infinity"}`...)
	case math.IsInf(f, -1):
		return append(dst, `{"$float":"-Infinity"}`...)
	}
	return append(dst, FormatFloat(f)...)
}

// appendString appends a text to dst as a JSON string. It also escapes the line
// separators U+2028 and U+2029 and lone surrogates.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // of the bytes that are not appended yet
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

// appendEscape appends the JSON escape of a character to dst.
func appendEscape(dst []byte, r rune) []byte {
	const letters, meanings = `"\nrt`, "\"\\\n\r\t"
	if i := strings.IndexRune(meanings, r); i >= 0 {
		return append(dst, '\\', letters[i])
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

// RestoreNonFiniteFloats replaces each object {"$float": "NaN" | "Infinity" | "-Infinity"},
// which is how a [Value] that is not finite is encoded, by that number. An object with
// other members, or other values, is not changed.
//
// It changes v in place and returns it, or the number if v itself is such an object. So
// only the code that has just decoded v may call it.
func RestoreNonFiniteFloats(v Value) Value {
	switch v := v.(type) {
	case List:
		for i, item := range v {
			v[i] = RestoreNonFiniteFloats(item)
		}
	case *Object:
		if f, ok := decodeFloatObject(v); ok {
			return f
		}
		for _, key := range v.keys {
			v.items[key] = RestoreNonFiniteFloats(v.items[key])
		}
	}
	return v
}

// decodeFloatObject returns the number that an object {"$float": …} stands for, or
// false for any other object.
func decodeFloatObject(o *Object) (Float, bool) {
	text, ok := o.Get("$float").(String)
	if !ok || o.Len() != 1 {
		return 0, false
	}
	switch text {
	case "NaN":
		return Float(math.NaN()), true
	case "Infinity":
		return Float(math.Inf(1)), true
	case "-Infinity":
		return Float(math.Inf(-1)), true
	default:
		return 0, false
	}
}
