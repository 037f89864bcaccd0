package builtin

import (
	"bytes"
	"strings"
	"unicode"

	"assay/internal/protocol"
)

// lispObject is an object that keeps its order. Its names are written in the
// manner of Lisp, last-eval-result; its JSON has them as [camelCase] does.
type lispObject []lispField

type lispField struct {
	name  string
	value any
}

// MarshalJSON writes the object.
func (p lispObject) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, each := range p {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := protocol.Marshal(camelCase(each.name))
		if err != nil {
			return nil, err
		}
		value, err := protocol.Marshal(each.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// camelCase turns a name in the manner of Lisp into one in the manner of JSON:
// of its parts between hyphens the first stays, the others are capitalised.
func camelCase(name string) string {
	first, rest, _ := strings.Cut(name, "-")
	return first + strings.Join(strings.FieldsFunc(capitalised(rest), func(r rune) bool { return r == '-' }), "")
}

// capitalised begins each word of a text with a capital and goes on in small
// letters, as Lisp does; whatever is no letter and no digit is between words.
func capitalised(text string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		before := inside
		inside = unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		switch {
		case !inside:
			return r
		case before:
			return unicode.ToLower(r)
		default:
			return unicode.ToTitle(r)
		}
	}, text)
}
