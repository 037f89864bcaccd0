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

// reader takes the members of a JSON object by their exact names. It keeps the
// first complaint, which says which member is wrong, what was expected and what
// was found, and yields zero values from then on.
type reader struct {
	path    string                     // before a name in a complaint
	members map[string]json.RawMessage // slices of the text they were read from
	failure *error
	tx, by  string // of parameters: the tx_id of their action, and who has asked for it
}

// read returns the reader of a JSON object. Of two members with one name the
// last counts.
func read(text []byte) (*reader, error) {
	members, err := readMembers(text)
	if err != nil {
		return nil, err
	}
	return &reader{members: members, failure: new(error)}, nil
}

func readMembers(text []byte) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	err := eachMember(text, func(key string, value json.RawMessage) { members[key] = value })
	if err != nil {
		return nil, err
	}
	return members, nil
}

// eachMember calls f with the members of a JSON object in their order. What it
// is called with are slices of text.
func eachMember(text []byte, f func(key string, value json.RawMessage)) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return fmt.Errorf("expected an object, found %s", describe(text))
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
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

// inOrder calls f with the members of a JSON object, in the order of their names:
// once for each name, with the last value that it has.
func inOrder(text []byte, f func(key string, value json.RawMessage)) error {
	last, err := readMembers(text)
	if err != nil {
		return err
	}
	return eachMember(text, func(key string, _ json.RawMessage) {
		if value, left := last[key]; left {
			delete(last, key)
			f(key, value)
		}
	})
}

// describe says what a JSON value is in a complaint: short ones as they are.
func describe(value []byte) string {
	const most = 60
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return "nothing"
	case len(value) <= most:
		return strings.ToValidUTF8(string(value), "\uFFFD")
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "an array"
	default:
		return strings.ToValidUTF8(string(value[:most]), "") + "..."
	}
}

// err returns the first complaint.
func (r *reader) err() error { return *r.failure }

func (r *reader) fail(err error) {
	if *r.failure == nil {
		*r.failure = err
	}
}

func (r *reader) complain(name, expected string) {
	r.fail(fmt.Errorf("%s%s: expected %s, found %s", r.path, name, expected, describe(r.members[name])))
}

// has tells whether name is there and not null.
func (r *reader) has(name string) bool {
	value, ok := r.members[name]
	return ok && string(value) != "null"
}

func (r *reader) text(name string) string {
	text, ok := unquote(r.members[name])
	if !ok {
		r.complain(name, "a string")
	}
	return text
}

// loose returns "" for what is no string, without a complaint.
func (r *reader) loose(name string) string {
	text, _ := unquote(r.members[name])
	return text
}

// optionalText returns "" for a member that is missing or null.
func (r *reader) optionalText(name string) string {
	if !r.has(name) {
		return ""
	}
	return r.text(name)
}

// id reads a string that must not be empty.
func (r *reader) id(name string) string {
	text, ok := unquote(r.members[name])
	if !ok || text == "" {
		r.complain(name, "a string that is not empty")
	}
	return text
}

func (r *reader) oneOf(name string, options ...string) string {
	text, ok := unquote(r.members[name])
	if !ok || !slices.Contains(options, text) {
		r.complain(name, strconv.Quote(options[0])+" or "+strconv.Quote(options[1]))
	}
	return text
}

func (r *reader) integer(name string) int {
	n, err := strconv.Atoi(string(r.members[name]))
	if err != nil {
		r.complain(name, "an integer")
	}
	return n
}

// optionalInteger returns 0 for a member that is missing or null.
func (r *reader) optionalInteger(name string) int {
	if !r.has(name) {
		return 0
	}
	return r.integer(name)
}

// flag returns false for a member that is missing or null.
func (r *reader) flag(name string) bool {
	if !r.has(name) {
		return false
	}
	switch string(r.members[name]) {
	case "true":
		return true
	case "false":
		return false
	default:
		r.complain(name, "true or false")
		return false
	}
}

// object reads an inner object. It keeps complaints in the same place.
func (r *reader) object(name string) *reader {
	inner := &reader{path: r.path + name + ".", failure: r.failure}
	var err error
	if inner.members, err = readMembers(r.members[name]); err != nil {
		r.complain(name, "an object")
	}
	return inner
}

// optionalObject reads an empty object for a member that is missing or null.
func (r *reader) optionalObject(name string) *reader {
	if !r.has(name) {
		return &reader{path: r.path + name + ".", failure: r.failure}
	}
	return r.object(name)
}

// strings reads an array of strings, an empty one where it is missing or null.
func (r *reader) strings(name string) []string {
	if !r.has(name) {
		return nil
	}
	list, err := unquoteAll(r.members[name])
	if err != nil {
		r.complain(name, "an array of strings")
	}
	return list
}

// lines reads a text as nbformat has it: a string, or strings to be joined.
func (r *reader) lines(name string) string {
	if text, ok := unquote(r.members[name]); ok {
		return text
	}
	list, err := unquoteAll(r.members[name])
	if err != nil {
		r.complain(name, "a string or an array of strings")
	}
	return strings.Join(list, "")
}

// unquote returns the string that value is. A surrogate without its other half
// becomes U+FFFD.
func unquote(value json.RawMessage) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	text, _ := jsontext.AppendUnquote(nil, value) // well formed, as it was read before
	return string(text), true
}

// unquoteAll returns the strings of the array that value is.
func unquoteAll(value json.RawMessage) ([]string, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, item := range list {
		text, ok := unquote(item)
		if !ok {
			return nil, fmt.Errorf("item %d: expected a string, found %s", i, describe(item))
		}
		texts[i] = text
	}
	return texts, nil
}
