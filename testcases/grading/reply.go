package grading

import (
	"fmt"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// replyMember describes a member of the JSON object with which a grading command or a
// judge replies: its name, whether it is required, and its type.
type replyMember struct {
	name     string
	required bool
	want     string // description of a valid value, for messages
	isValid  func(pyvalue.Value) bool
}

// decodeStrictObject decodes a text that must be one JSON object with only these
// members, each at most once. Nothing is repaired. The error says what is wrong.
func decodeStrictObject(text string, members []replyMember) (*pyvalue.Object, error) {
	v, err := pyvalue.DecodeUnique(text)
	if err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	object, ok := v.(*pyvalue.Object)
	if !ok {
		return nil, fmt.Errorf("want a JSON object, found %s", pyvalue.KindOf(v))
	}
	for key, v := range object.All() {
		i := slices.IndexFunc(members, func(m replyMember) bool { return m.name == key })
		if i < 0 {
			return nil, fmt.Errorf("unknown key %q; known are %s", key, replyMemberNames(members))
		}
		if !members[i].isValid(v) {
			return nil, fmt.Errorf("%s: want %s, found %s", key, members[i].want, formatValue(v))
		}
	}
	for _, m := range members {
		if m.required && !object.Has(m.name) {
			return nil, fmt.Errorf("%s is missing", m.name)
		}
	}
	return object, nil
}

// replyMemberNames lists the names of the members of a reply for a message.
func replyMemberNames(members []replyMember) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}

// isOfType reports whether v has the Go type T.
func isOfType[T pyvalue.Value](v pyvalue.Value) bool {
	_, ok := v.(T)
	return ok
}

// isStringList reports whether v is a list of strings.
func isStringList(v pyvalue.Value) bool {
	list, ok := v.(pyvalue.List)
	return ok && !slices.ContainsFunc(list, func(item pyvalue.Value) bool { return !isOfType[pyvalue.String](item) })
}

// isFraction reports whether v is a number from 0 to 1. A boolean is not.
func isFraction(v pyvalue.Value) bool {
	f, err := floatValue(v)
	return err == nil && 0 <= f && f <= 1
}
