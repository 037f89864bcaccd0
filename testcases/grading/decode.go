package grading

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxDepth is how deep lists and objects may stand inside one another. Python
// stops at its recursion limit of 1000, less the calls that led to the decoder.
const maxDepth = 990

// SyntaxError says that a text is not JSON, and where: lines and columns count
// from 1, columns in code points.
type SyntaxError struct {
	Line, Column int
	Text         string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.Text)
}

// Decode reads one JSON value in the dialect of Python's default decoder: NaN,
// Infinity and -Infinity are numbers, integers have any size, the last of
// several equal keys counts and stands where the first stood, and nothing that
// JSON does not allow is repaired. Lone surrogates may be escaped, or stand raw
// as [String] keeps them.
//
// The error is a [*SyntaxError], or an [*Error] when the text passes a limit of
// Python's: kind value_error for an integer of more than 4300 digits,
// recursion_error for more than 990 levels.
func Decode(text string) (Value, error) { return (&decoder{text: text}).all() }

// decodeUnique is [Decode] for texts in which a key that occurs twice in one
// object is a mistake, and so a [*SyntaxError].
func decodeUnique(text string) (Value, error) { return (&decoder{text: text, unique: true}).all() }

type decoder struct {
	text   string
	pos    int
	unique bool // a key that occurs twice is an error
}

// all reads a value that is the whole text.
func (d *decoder) all() (Value, error) {
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	d.space()
	if d.pos < len(d.text) {
		return nil, d.expected("the end")
	}
	return v, nil
}

func (d *decoder) value(depth int) (Value, error) {
	d.space()
	switch c := d.peek(); {
	case c == '{' || c == '[':
		if depth >= maxDepth {
			return nil, &Error{Kind: "recursion_error", Text: fmt.Sprintf("JSON nested deeper than %d levels", maxDepth)}
		}
		d.pos++
		if c == '{' {
			return d.object(depth + 1)
		}
		return d.list(depth + 1)
	case c == '"':
		s, err := d.str()
		return String(s), err
	case '0' <= c && c <= '9':
		return d.number()
	case d.skip("null"):
		return Null{}, nil
	case d.skip("true"):
		return Bool(true), nil
	case d.skip("false"):
		return Bool(false), nil
	case d.skip("NaN"):
		return Float(math.NaN()), nil
	case d.skip("Infinity"):
		return Float(math.Inf(1)), nil
	case d.skip("-Infinity"):
		return Float(math.Inf(-1)), nil
	default:
		return d.number()
	}
}

func (d *decoder) list(depth int) (Value, error) {
	items := List{}
	for {
		d.space()
		if len(items) == 0 && d.skip("]") {
			return items, nil
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		if d.space(); d.skip("]") {
			return items, nil
		}
		if !d.skip(",") {
			return nil, d.expected("',' or ']'")
		}
	}
}

func (d *decoder) object(depth int) (Value, error) {
	object := &Object{}
	for {
		d.space()
		if object.Len() == 0 && d.skip("}") {
			return object, nil
		}
		if d.peek() != '"' {
			return nil, d.expected("a key in double quotes")
		}
		start := d.pos
		key, err := d.str()
		if err != nil {
			return nil, err
		}
		if d.unique && object.Has(key) {
			d.pos = start
			return nil, d.expected("a key that is new to the object")
		}
		if d.space(); !d.skip(":") {
			return nil, d.expected("':'")
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		object.Set(key, v)
		if d.space(); d.skip("}") {
			return object, nil
		}
		if !d.skip(",") {
			return nil, d.expected("',' or '}'")
		}
	}
}

func (d *decoder) space() {
	for c := d.peek(); c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = d.peek() {
		d.pos++
	}
}

// peek returns the next byte, 0 at the end.
func (d *decoder) peek() byte {
	if d.pos == len(d.text) {
		return 0
	}
	return d.text[d.pos]
}

func (d *decoder) skip(word string) bool {
	if !strings.HasPrefix(d.text[d.pos:], word) {
		return false
	}
	d.pos += len(word)
	return true
}

// expected makes the error of something else at the current position.
func (d *decoder) expected(what string) *SyntaxError {
	before := d.text[:d.pos]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	found := "the end"
	if d.pos < len(d.text) {
		r, _ := decodeRune(d.text[d.pos:])
		found = strconv.QuoteRune(r)
	}
	return &SyntaxError{
		Line: strings.Count(before, "\n") + 1, Column: len(runes(line)) + 1,
		Text: fmt.Sprintf("expected %s, found %s", what, found),
	}
}
