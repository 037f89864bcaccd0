package grading

import (
	"fmt"
	"strings"
)

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
func contains(container, key Value) (bool, error) {
	switch c := container.(type) {
	case *Object:
		if _, err := hash(key); err != nil {
			return false, err
		}
		s, ok := key.(String)
		return ok && c.Has(string(s)), nil
	case List:
		for _, item := range c {
			if identical(item, key) {
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

// take returns answer[field] if answer contains field, as Python has both: what
// is contained in a string cannot be taken out, and in a list it must be an
// index, too. nil means it is not contained.
func take(answer, field Value) (Value, error) {
	there, err := contains(answer, field)
	if err != nil || !there {
		return nil, err
	}
	switch a := answer.(type) {
	case *Object:
		return a.Get(Text(field)), nil
	case List:
		return at(a, field)
	default:
		return nil, typeError("the answer: want an object, found %s", KindOf(answer))
	}
}

// at is list[index]: an integer, or a boolean, which may count from the end.
func at(list List, index Value) (Value, error) {
	n, ok := asNumber(index)
	if !ok || n.i == nil {
		return nil, typeError("the answer: want an object, found list")
	}
	i := len(list)
	if n.i.IsInt64() {
		i = int(min(n.i.Int64(), int64(len(list))))
	}
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil, &Error{Kind: "key_error", Text: fmt.Sprintf("the answer: a list of %d has no item %s", len(list), show(index))}
	}
	return list[i], nil
}

// withFields returns answer as an object if it contains all of these fields,
// else those that it does not contain.
func withFields(answer Value, fields ...string) (object *Object, missing []string, err error) {
	for _, field := range fields {
		there, err := contains(answer, String(field))
		if err != nil {
			return nil, nil, err
		}
		if !there {
			missing = append(missing, field)
		}
	}
	if missing != nil {
		return nil, missing, nil
	}
	object, ok := answer.(*Object)
	if !ok {
		return nil, nil, typeError("the answer: want an object, found %s", KindOf(answer))
	}
	return object, nil, nil
}
