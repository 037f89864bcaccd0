package grading

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDigits is the longest integer that Python converts from text.
const maxDigits = 4300

func (d *decoder) number() (Value, error) {
	start := d.pos
	d.skip("-")
	if !d.skip("0") && d.digits() == 0 {
		d.pos = start
		return nil, d.expected("a value")
	}
	end := d.pos
	if d.skip(".") && d.digits() > 0 {
		end = d.pos
	}
	d.pos = end
	if d.skip("e") || d.skip("E") {
		if !d.skip("-") {
			d.skip("+")
		}
		if d.digits() > 0 {
			end = d.pos
		}
	}
	d.pos = end
	return number(d.text[start:end])
}

// number converts text that has the form of a JSON number.
func number(text string) (Value, error) {
	if strings.ContainsAny(text, ".eE") {
		f, _ := strconv.ParseFloat(text, 64) // out of range is an infinity here
		return Float(f), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return NewInt(n), nil
	}
	if digits := len(strings.TrimPrefix(text, "-")); digits > maxDigits {
		return nil, &Error{Kind: "value_error", Text: fmt.Sprintf("an integer of %d digits, more than %d", digits, maxDigits)}
	}
	i, _ := new(big.Int).SetString(text, 10)
	return Int{i}, nil
}

// str reads a string, whose opening quote is next.
func (d *decoder) str() (string, error) {
	d.pos++
	start, plain := d.pos, true
	var out []byte
	for d.pos < len(d.text) {
		switch c := d.text[d.pos]; {
		case c == '"':
			d.pos++
			if plain {
				return d.text[start : d.pos-1], nil
			}
			return string(out), nil
		case c < ' ':
			return "", d.expected("no raw control character in a string")
		case c == '\\':
			if plain {
				out, plain = append(out, d.text[start:d.pos]...), false
			}
			r, err := d.escape()
			if err != nil {
				return "", err
			}
			out = appendRune(out, r)
		case plain && c < utf8.RuneSelf:
			d.pos++
		default:
			r, size := decodeRune(d.text[d.pos:])
			if r == utf8.RuneError && size == 1 {
				return "", d.expected("UTF-8")
			}
			if !plain {
				out = append(out, d.text[d.pos:d.pos+size]...)
			}
			d.pos += size
		}
	}
	d.pos = start - 1
	return "", d.expected("a string that ends")
}

// escape reads an escape sequence; both halves of a surrogate pair at once.
func (d *decoder) escape() (rune, error) {
	if d.pos+1 < len(d.text) {
		const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		if i := strings.IndexByte(letters, d.text[d.pos+1]); i >= 0 {
			d.pos += 2
			return rune(meanings[i]), nil
		}
	}
	r, ok := hexEscape(d.text[d.pos:])
	if !ok {
		return 0, d.expected("a valid escape")
	}
	d.pos += 6
	if low, ok := hexEscape(d.text[d.pos:]); ok && r < 0xdc00 && isSurrogate(r) && low >= 0xdc00 && isSurrogate(low) {
		d.pos += 6
		return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), nil
	}
	return r, nil
}

// hexEscape reads \uXXXX at the beginning of s.
func hexEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// digits skips decimal digits and returns how many there were.
func (d *decoder) digits() int {
	start := d.pos
	for c := d.peek(); '0' <= c && c <= '9'; c = d.peek() {
		d.pos++
	}
	return d.pos - start
}
