package pyvalue

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNestingDepth is how many levels of lists and objects a JSON text may have. Python
// stops at its recursion limit of 1000, less the calls that led to its decoder.
const maxNestingDepth = 990

// SyntaxError means that a text is not JSON at the given place. Lines and columns count
// from 1, columns in code points.
type SyntaxError struct {
	Line, Column int
	Text         string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.Text)
}

// Decode decodes one JSON value in the dialect of Python's default decoder: NaN,
// Infinity and -Infinity are numbers, integers have any size, and of several equal keys
// the last one counts, in the place of the first. Lone surrogates may be escaped, or be
// encoded as in [String]. Nothing else that JSON does not allow is accepted.
//
// The error is a [*SyntaxError], or an [*Error] if the text exceeds a limit of Python:
// kind value_error for an integer of more than 4300 digits, recursion_error for more
// than 990 levels.
func Decode(text string) (Value, error) { return (&decoder{text: text}).parseAll() }

// DecodeUnique is [Decode], except that a key that occurs twice in one object is a
// [*SyntaxError].
func DecodeUnique(text string) (Value, error) { return (&decoder{text: text, unique: true}).parseAll() }

// decoder holds the text that [Decode] parses and the position in it.
type decoder struct {
	text   string
	pos    int
	unique bool // a key that occurs twice in an object is an error
}

// parseAll parses one JSON value that must be the whole text. Anything after it, except
// white space, is a [*SyntaxError].
func (d *decoder) parseAll() (Value, error) {
	v, err := d.parseValue(0)
	if err != nil {
		return nil, err
	}
	d.skipSpace()
	if d.pos < len(d.text) {
		return nil, d.syntaxError("the end")
	}
	return v, nil
}

func (d *decoder) parseValue(depth int) (Value, error) {
	d.skipSpace()
	switch c := d.peekByte(); {
	case c == '{' || c == '[':
		if depth >= maxNestingDepth {
			return nil, &Error{Kind: "recursion_error", Text: fmt.Sprintf("JSON nested deeper than %d levels", maxNestingDepth)}
		}
		d.pos++
		if c == '{' {
			return d.parseObject(depth + 1)
		}
		return d.parseList(depth + 1)
	case c == '"':
		s, err := d.parseString()
		return String(s), err
	case '0' <= c && c <= '9':
		return d.parseNumber()
	case d.skipByte("null"):
		return Null{}, nil
	case d.skipByte("true"):
		return Bool(true), nil
	case d.skipByte("false"):
		return Bool(false), nil
	case d.skipByte("NaN"):
		return Float(math.NaN()), nil
	case d.skipByte("Infinity"):
		return Float(math.Inf(1)), nil
	case d.skipByte("-Infinity"):
		return Float(math.Inf(-1)), nil
	default:
		return d.parseNumber()
	}
}

func (d *decoder) parseList(depth int) (Value, error) {
	items := List{}
	for {
		d.skipSpace()
		if len(items) == 0 && d.skipByte("]") {
			return items, nil
		}
		v, err := d.parseValue(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		if d.skipSpace(); d.skipByte("]") {
			return items, nil
		}
		if !d.skipByte(",") {
			return nil, d.syntaxError("',' or ']'")
		}
	}
}

func (d *decoder) parseObject(depth int) (Value, error) {
	object := &Object{}
	for {
		d.skipSpace()
		if object.Len() == 0 && d.skipByte("}") {
			return object, nil
		}
		if d.peekByte() != '"' {
			return nil, d.syntaxError("a key in double quotes")
		}
		start := d.pos
		key, err := d.parseString()
		if err != nil {
			return nil, err
		}
		if d.unique && object.Has(key) {
			d.pos = start
			return nil, d.syntaxError("a key that is new to the object")
		}
		if d.skipSpace(); !d.skipByte(":") {
			return nil, d.syntaxError("':'")
		}
		v, err := d.parseValue(depth)
		if err != nil {
			return nil, err
		}
		object.Set(key, v)
		if d.skipSpace(); d.skipByte("}") {
			return object, nil
		}
		if !d.skipByte(",") {
			return nil, d.syntaxError("',' or '}'")
		}
	}
}

func (d *decoder) skipSpace() {
	for c := d.peekByte(); c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = d.peekByte() {
		d.pos++
	}
}

// peekByte returns the next byte of the text without consuming it, or 0 at the end.
func (d *decoder) peekByte() byte {
	if d.pos == len(d.text) {
		return 0
	}
	return d.text[d.pos]
}

func (d *decoder) skipByte(word string) bool {
	if !strings.HasPrefix(d.text[d.pos:], word) {
		return false
	}
	d.pos += len(word)
	return true
}

// syntaxError returns a [*SyntaxError] which says that something other than what stands
// at the current position.
func (d *decoder) syntaxError(what string) *SyntaxError {
	before := d.text[:d.pos]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	found := "the end"
	if d.pos < len(d.text) {
		r, _ := decodeRune(d.text[d.pos:])
		found = strconv.QuoteRune(r)
	}
	return &SyntaxError{
		Line: strings.Count(before, "\n") + 1, Column: len(Runes(line)) + 1,
		Text: fmt.Sprintf("expected %s, found %s", what, found),
	}
}

// maxIntegerDigits is the number of digits of the longest integer that Python converts
// from text: 4300.
const maxIntegerDigits = 4300

func (d *decoder) parseNumber() (Value, error) {
	start := d.pos
	d.skipByte("-")
	if !d.skipByte("0") && d.skipDigits() == 0 {
		d.pos = start
		return nil, d.syntaxError("a value")
	}
	end := d.pos
	if d.skipByte(".") && d.skipDigits() > 0 {
		end = d.pos
	}
	d.pos = end
	if d.skipByte("e") || d.skipByte("E") {
		if !d.skipByte("-") {
			d.skipByte("+")
		}
		if d.skipDigits() > 0 {
			end = d.pos
		}
	}
	d.pos = end
	return convertNumberText(d.text[start:end])
}

// convertNumberText converts text in the form of a JSON number. With a fraction or an
// exponent it becomes a Float, which is infinite if it is out of range. An integer of
// more than 4300 digits is an error.
func convertNumberText(text string) (Value, error) {
	if strings.ContainsAny(text, ".eE") {
		f, _ := strconv.ParseFloat(text, 64) // infinite if out of range
		return Float(f), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return NewInt(n), nil
	}
	if digits := len(strings.TrimPrefix(text, "-")); digits > maxIntegerDigits {
		return nil, &Error{Kind: "value_error", Text: fmt.Sprintf("an integer of %d digits, more than %d", digits, maxIntegerDigits)}
	}
	i, _ := new(big.Int).SetString(text, 10)
	return Int{i}, nil
}

// parseString parses a JSON string. The next byte must be its opening quote.
func (d *decoder) parseString() (string, error) {
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
			return "", d.syntaxError("no raw control character in a string")
		case c == '\\':
			if plain {
				out, plain = append(out, d.text[start:d.pos]...), false
			}
			r, err := d.parseEscape()
			if err != nil {
				return "", err
			}
			out = AppendRune(out, r)
		case plain && c < utf8.RuneSelf:
			d.pos++
		default:
			r, size := decodeRune(d.text[d.pos:])
			if r == utf8.RuneError && size == 1 {
				return "", d.syntaxError("UTF-8")
			}
			if !plain {
				out = append(out, d.text[d.pos:d.pos+size]...)
			}
			d.pos += size
		}
	}
	d.pos = start - 1
	return "", d.syntaxError("a string that ends")
}

// parseEscape parses an escape sequence of a JSON string. Two escapes that form a
// surrogate pair are parsed together.
func (d *decoder) parseEscape() (rune, error) {
	if d.pos+1 < len(d.text) {
		const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		if i := strings.IndexByte(letters, d.text[d.pos+1]); i >= 0 {
			d.pos += 2
			return rune(meanings[i]), nil
		}
	}
	r, ok := hexEscape(d.text[d.pos:])
	if !ok {
		return 0, d.syntaxError("a valid escape")
	}
	d.pos += 6
	if low, ok := hexEscape(d.text[d.pos:]); ok && r < 0xdc00 && isSurrogate(r) && low >= 0xdc00 && isSurrogate(low) {
		d.pos += 6
		return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), nil
	}
	return r, nil
}

// hexEscape returns the UTF-16 code unit of the escape \uXXXX at the start of s, or
// false if s does not start with one.
func hexEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// skipDigits skips decimal digits and returns their number.
func (d *decoder) skipDigits() int {
	start := d.pos
	for c := d.peekByte(); '0' <= c && c <= '9'; c = d.peekByte() {
		d.pos++
	}
	return d.pos - start
}
