package grading

import "strings"

// lookup finds a field of an answer; nil means it is not there. A name with
// dots is a path through nested objects, whatever the answer is; a name without
// them wants an object.
func lookup(answer Value, field string) (Value, error) {
	if !strings.Contains(field, ".") {
		object, ok := answer.(*Object)
		if !ok {
			return nil, typeError("the answer: want an object with a field %q, found %s", field, KindOf(answer))
		}
		return object.Get(field), nil
	}
	for key := range strings.SplitSeq(field, ".") {
		object, ok := answer.(*Object)
		if !ok {
			return nil, nil
		}
		answer = object.Get(key)
	}
	return answer, nil
}

// contains is Python's `key in container`: a key of an object, a member of a
// list, a part of a string.
func contains(container Value, key Value) (bool, error) {
	switch c := container.(type) {
	case *Object:
		s, ok := key.(String)
		return ok && c.Has(string(s)), nil
	case List:
		for _, item := range c {
			if equal(item, key) {
				return true, nil
			}
		}
		return false, nil
	case String:
		s, ok := key.(String)
		if !ok {
			return false, typeError("a string cannot contain %s", KindOf(key))
		}
		return strings.Contains(string(c), string(s)), nil
	default:
		return false, typeError("the answer: want an object, found %s", KindOf(container))
	}
}
