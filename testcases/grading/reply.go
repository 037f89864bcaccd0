package grading

import (
	"fmt"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// objectMember is a key of an object that a program or a model answers with.
type objectMember struct {
	name     string
	required bool
	want     string // what its value must be, for messages
	fits     func(pyvalue.Value) bool
}

// decodeStrictObject reads a text that must be one JSON object of these members and
// no others, none of them twice. Nothing is repaired.
func decodeStrictObject(text string, members []objectMember) (*pyvalue.Object, error) {
	v, err := pyvalue.DecodeUnique(text)
	if err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	object, ok := v.(*pyvalue.Object)
	if !ok {
		return nil, fmt.Errorf("want a JSON object, found %s", pyvalue.KindOf(v))
	}
	for key, v := range object.All() {
		i := slices.IndexFunc(members, func(m objectMember) bool { return m.name == key })
		if i < 0 {
			return nil, fmt.Errorf("unknown key %q; known are %s", key, objectMemberNames(members))
		}
		if !members[i].fits(v) {
			return nil, fmt.Errorf("%s: want %s, found %s", key, members[i].want, showValue(v))
		}
	}
	for _, m := range members {
		if m.required && !object.Has(m.name) {
			return nil, fmt.Errorf("%s is missing", m.name)
		}
	}
	return object, nil
}

func objectMemberNames(members []objectMember) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}

// hasType says whether a value is of the kind T.
func hasType[T pyvalue.Value](v pyvalue.Value) bool {
	_, ok := v.(T)
	return ok
}

// isStringList says whether a value is a list of strings.
func isStringList(v pyvalue.Value) bool {
	list, ok := v.(pyvalue.List)
	return ok && !slices.ContainsFunc(list, func(item pyvalue.Value) bool { return !hasType[pyvalue.String](item) })
}

// isFraction says whether a value is a number from 0 to 1; booleans are none.
func isFraction(v pyvalue.Value) bool {
	f, err := floatValue(v)
	return err == nil && 0 <= f && f <= 1
}
