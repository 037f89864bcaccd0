package ticks

import (
	"bytes"
	"strings"
	"unicode"

	"assay/internal/protocol"
)

// lispObject is an object that keeps the order of its fields. The names are written as in
// Lisp, such as last-eval-result; its JSON has them in camelCase.
type lispObject []lispField

type lispField struct {
	name  string
	value any
}

// MarshalJSON returns the object as JSON.
func (o lispObject) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, field := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := protocol.Marshal(camelCase(field.name))
		if err != nil {
			return nil, err
		}
		value, err := protocol.Marshal(field.value)
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

// camelCase turns a name of Lisp into one of JSON: of its parts between hyphens the first
// stays, the others are capitalized.
func camelCase(name string) string {
	first, rest, _ := strings.Cut(name, "-")
	return first + strings.Join(strings.FieldsFunc(capitalize(rest), func(r rune) bool { return r == '-' }), "")
}

// capitalize writes every word of a text with a capital first letter and small letters
// after it, as Emacs does. Letters, digits and marks make up words.
func capitalize(text string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		wasInWord := inWord
		inWord = unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		switch {
		case !inWord:
			return r
		case wasInWord:
			return unicode.ToLower(r)
		default:
			return unicode.ToTitle(r)
		}
	}, text)
}
