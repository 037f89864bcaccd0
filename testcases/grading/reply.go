package grading

import (
	"fmt"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// member is a key of an object that a program or a model answers with.
type member struct {
	name     string
	required bool
	want     string // what its value must be, for messages
	fits     func(pyvalue.Value) bool
}

// decodeObject reads a text that must be one JSON object of these members and
// no others, none of them twice. Nothing is repaired.
func decodeObject(text string, members []member) (*pyvalue.Object, error) {
	v, err := pyvalue.DecodeUnique(text)
	if err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	object, ok := v.(*pyvalue.Object)
	if !ok {
		return nil, fmt.Errorf("want a JSON object, found %s", pyvalue.KindOf(v))
	}
	for key, v := range object.All() {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == key })
		if i < 0 {
			return nil, fmt.Errorf("unknown key %q; known are %s", key, memberNames(members))
		}
		if !members[i].fits(v) {
			return nil, fmt.Errorf("%s: want %s, found %s", key, members[i].want, show(v))
		}
	}
	for _, m := range members {
		if m.required && !object.Has(m.name) {
			return nil, fmt.Errorf("%s is missing", m.name)
		}
	}
	return object, nil
}

func memberNames(members []member) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}

// isA says whether a value is of the kind T.
func isA[T pyvalue.Value](v pyvalue.Value) bool {
	_, ok := v.(T)
	return ok
}

// isTexts says whether a value is a list of strings.
func isTexts(v pyvalue.Value) bool {
	list, ok := v.(pyvalue.List)
	return ok && !slices.ContainsFunc(list, func(item pyvalue.Value) bool { return !isA[pyvalue.String](item) })
}

// isShare says whether a value is a number from 0 to 1; booleans are none.
func isShare(v pyvalue.Value) bool {
	f, err := floatOf(v)
	return err == nil && 0 <= f && f <= 1
}
