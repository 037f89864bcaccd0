package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxMembers is how many members an object and how many strings a list may have: their text takes
// as little as three bytes each, and what they become a hundred.
const maxMembers = 10_000

// objectReader reads the members of a JSON object by their exact names. A member that is
// missing or of a wrong type yields a zero value. err returns the first such error, which
// names the member, what was expected and what was found.
type objectReader struct {
	path     string                     // in front of the member's name in errors
	members  map[string]json.RawMessage // slices of the text that was read
	firstErr *error                     // shared with the readers of inner objects
}

// newObjectReader parses text as a JSON object and returns its reader. It fails if text is not
// one object, or has more than maxMembers. Of two members with the same name the last one counts.
func newObjectReader(text []byte) (*objectReader, error) {
	members, err := readMembers(text)
	if err != nil {
		return nil, err
	}
	return &objectReader{members: members, firstErr: new(error)}, nil
}

// readMembers returns the members of a JSON object by name; of two with the same name the last
// one. It fails if text is not one JSON object, or has more than maxMembers.
func readMembers(text []byte) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	err := forEachMember(text, func(key string, value json.RawMessage) { members[key] = value })
	if err != nil {
		return nil, err
	}
	return members, nil
}

// forEachMember calls f with each member of a JSON object, in order. The values are slices of
// text. It fails if text is not one JSON object, or has more than maxMembers.
func forEachMember(text []byte, f func(key string, value json.RawMessage)) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return fmt.Errorf("expected an object, found %s", describeJSON(text))
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; dec.PeekKind() != '}'; n++ {
		if n == maxMembers {
			return fmt.Errorf("expected at most %d members, found more", maxMembers)
		}
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(dec.InputOffset())
		f(key, text[end-len(value):end:end])
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("expected nothing after the object")
	}
	return nil
}

// forEachLastMember calls f once for each name in a JSON object, in the order in which the
// names first occur, with the last value of that name. It fails if text is not one JSON object,
// or has more than maxMembers.
func forEachLastMember(text []byte, f func(key string, value json.RawMessage)) error {
	last, err := readMembers(text)
	if err != nil {
		return err
	}
	return forEachMember(text, func(key string, _ json.RawMessage) {
		if value, ok := last[key]; ok {
			delete(last, key)
			f(key, value)
		}
	})
}

// describeJSON describes a JSON value for an error text: at most 60 bytes are shown as they
// are, a larger object or array is only named, and other values are cut.
func describeJSON(value []byte) string {
	const maxShown = 60
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return "nothing"
	case len(value) <= maxShown:
		return strings.ToValidUTF8(string(value), "\uFFFD")
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "an array"
	default:
		return strings.ToValidUTF8(string(value[:maxShown]), "") + "..."
	}
}

// err returns the first error that a method of this reader, or of a reader of an inner object,
// has found; nil if there was none.
func (r *objectReader) err() error { return *r.firstErr }

// fail makes err return this error, unless an earlier one was found.
func (r *objectReader) fail(err error) {
	if *r.firstErr == nil {
		*r.firstErr = err
	}
}

// failExpected makes err return that the member of this name is not what was expected, unless
// an earlier error was found.
func (r *objectReader) failExpected(name, expected string) {
	r.fail(fmt.Errorf("%s%s: expected %s, found %s", r.path, name, expected, describeJSON(r.members[name])))
}

// has reports whether the object has a member of this name that is not null.
func (r *objectReader) has(name string) bool {
	value, ok := r.members[name]
	return ok && string(value) != "null"
}

// text returns the member of this name, which must be a string. If it is not, text returns ""
// and err reports it.
func (r *objectReader) text(name string) string {
	text, ok := unquoteString(r.members[name])
	if !ok {
		r.failExpected(name, "a string")
	}
	return text
}

// textOrEmpty returns the member of this name if it is a string, and otherwise "", which is no
// error.
func (r *objectReader) textOrEmpty(name string) string {
	text, _ := unquoteString(r.members[name])
	return text
}

// optionalText returns the string member of this name; "" if it is missing or null. err reports
// any other type.
func (r *objectReader) optionalText(name string) string {
	if !r.has(name) {
		return ""
	}
	return r.text(name)
}

// nonEmptyText returns the string member of this name. err reports it if it is missing, empty
// or of another type.
func (r *objectReader) nonEmptyText(name string) string {
	text, ok := unquoteString(r.members[name])
	if !ok || text == "" {
		r.failExpected(name, "a string that is not empty")
	}
	return text
}

// oneOf returns the string member of this name, which must be one of two options; otherwise err
// reports it.
func (r *objectReader) oneOf(name string, options ...string) string {
	text, ok := unquoteString(r.members[name])
	if !ok || !slices.Contains(options, text) {
		r.failExpected(name, strconv.Quote(options[0])+" or "+strconv.Quote(options[1]))
	}
	return text
}

// integer returns the integer member of this name. err reports it if it is missing or not an
// integer; the result is then 0.
func (r *objectReader) integer(name string) int {
	n, err := strconv.Atoi(string(r.members[name]))
	if err != nil {
		r.failExpected(name, "an integer")
	}
	return n
}

// integerOr returns the integer member of this name, or other if it is missing or null. err reports
// any other type.
func (r *objectReader) integerOr(name string, other int) int {
	if !r.has(name) {
		return other
	}
	return r.integer(name)
}

// boolean returns the boolean member of this name; false if it is missing or null. err reports
// any other type.
func (r *objectReader) boolean(name string) bool {
	if !r.has(name) {
		return false
	}
	switch string(r.members[name]) {
	case "true":
		return true
	case "false":
		return false
	default:
		r.failExpected(name, "true or false")
		return false
	}
}

// object returns a reader of the object member of this name. Errors of that reader are also
// errors of r. err reports it if the member is not an object.
func (r *objectReader) object(name string) *objectReader {
	inner := &objectReader{path: r.path + name + ".", firstErr: r.firstErr}
	var err error
	if inner.members, err = readMembers(r.members[name]); err != nil {
		r.fail(fmt.Errorf("%s%s: %w", r.path, name, err))
	}
	return inner
}

// optionalObject returns a reader of the object member of this name, or of an empty object if
// it is missing or null. err reports any other type.
func (r *objectReader) optionalObject(name string) *objectReader {
	if !r.has(name) {
		return &objectReader{path: r.path + name + ".", firstErr: r.firstErr}
	}
	return r.object(name)
}

// strings returns the member of this name as a list of strings; nil if it is missing or null.
// err reports any other type, and a list of more than maxMembers.
func (r *objectReader) strings(name string) []string {
	if !r.has(name) {
		return nil
	}
	var list []string
	err := forEachString(r.members[name], func(text string) error {
		if len(list) == maxMembers {
			return fmt.Errorf("expected at most %d strings, found more", maxMembers)
		}
		list = append(list, text)
		return nil
	})
	if err != nil {
		r.fail(fmt.Errorf("%s%s: %w", r.path, name, err))
	}
	return list
}

// joinedText returns a text member as nbformat writes it: a string, or an array of strings,
// which it joins. err reports any other type.
func (r *objectReader) joinedText(name string) string {
	text, ok := joinStrings(r.members[name])
	if !ok {
		r.failExpected(name, "a string or an array of strings")
	}
	return text
}

// unquoteString returns the text of a JSON string, and false if value is not one. Half of a
// surrogate pair becomes U+FFFD.
func unquoteString(value json.RawMessage) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	text, _ := jsontext.AppendUnquote(nil, value) // value was parsed, so it is well formed
	return string(text), true
}

// joinStrings returns the text of a JSON string, or the joined texts of an array of strings; "" for
// null, and false for anything else.
func joinStrings(value json.RawMessage) (string, bool) {
	if text, ok := unquoteString(value); ok {
		return text, true
	}
	var joined strings.Builder
	err := forEachString(value, func(text string) error {
		joined.WriteString(text)
		return nil
	})
	return joined.String(), err == nil
}

// forEachString calls f with each text of a JSON array of strings, in order; not at all for null. It
// fails if value, which was parsed, is anything else, and as f does.
func forEachString(value json.RawMessage, f func(text string) error) error {
	if string(value) == "null" {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '[' {
		return fmt.Errorf("expected an array of strings, found %s", describeJSON(value))
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; dec.PeekKind() != ']'; n++ {
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		text, ok := unquoteString(json.RawMessage(item))
		if !ok {
			return fmt.Errorf("item %d: expected a string, found %s", n, describeJSON(item))
		}
		if err := f(text); err != nil {
			return err
		}
	}
	return nil
}
