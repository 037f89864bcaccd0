package grading

import (
	"fmt"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// lookupField returns a field of an answer, or nil if it is absent. A name with dots is
// a path through nested objects, for any answer; with a name without dots, an answer
// that is not an object is a type error.
func lookupField(answer pyvalue.Value, field string) (pyvalue.Value, error) {
	if !strings.Contains(field, ".") {
		object, ok := answer.(*pyvalue.Object)
		if !ok {
			return nil, pyvalue.TypeError("the answer: want an object with a field %q, found %s", field, pyvalue.KindOf(answer))
		}
		return object.Get(field), nil
	}
	for key := range strings.SplitSeq(field, ".") {
		object, ok := answer.(*pyvalue.Object)
		if !ok {
			return nil, nil
		}
		answer = object.Get(key)
	}
	return answer, nil
}

// pythonContains reports whether Python's `key in container` is true: for a key of an
// object, an item of a list, or a part of a string. Other containers, unhashable keys
// of objects, and a part of a string that is not a string are type errors.
func pythonContains(container, key pyvalue.Value) (bool, error) {
	switch c := container.(type) {
	case *pyvalue.Object:
		if err := pyvalue.CheckHashable(key); err != nil {
			return false, err
		}
		s, ok := key.(pyvalue.String)
		return ok && c.Has(string(s)), nil
	case pyvalue.List:
		for _, item := range c {
			if pyvalue.IsIdenticalOrEqual(item, key) {
				return true, nil
			}
		}
		return false, nil
	case pyvalue.String:
		s, ok := key.(pyvalue.String)
		if !ok {
			return false, pyvalue.TypeError("a string cannot contain %s", pyvalue.KindOf(key))
		}
		return strings.Contains(string(c), string(s)), nil
	default:
		return false, pyvalue.TypeError("the answer: want an object, found %s", pyvalue.KindOf(container))
	}
}

// pythonItemIfContained returns answer[gradeField] if answer contains field, by
// Python's rules for both, and otherwise nil. A list that contains field must also have
// an item with that index; if not, the error is a type error or a key error. A string
// that contains field is a type error.
func pythonItemIfContained(answer, field pyvalue.Value) (pyvalue.Value, error) {
	there, err := pythonContains(answer, field)
	if err != nil || !there {
		return nil, err
	}
	switch a := answer.(type) {
	case *pyvalue.Object:
		return a.Get(pyvalue.Str(field)), nil
	case pyvalue.List:
		return pythonListItem(a, field)
	default:
		return nil, pyvalue.TypeError("the answer: want an object, found %s", pyvalue.KindOf(answer))
	}
}

// pythonListItem returns list[index] by Python's rules. The index is an integer or a
// boolean and may count from the end. An index out of range is a key error.
func pythonListItem(list pyvalue.List, index pyvalue.Value) (pyvalue.Value, error) {
	n, ok := pyvalue.AsNumber(index)
	if !ok || n.Int() == nil {
		return nil, pyvalue.TypeError("the answer: want an object, found list")
	}
	i := len(list)
	if n.Int().IsInt64() {
		i = int(min(n.Int().Int64(), int64(len(list))))
	}
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil, &pyvalue.Error{Kind: "key_error", Text: fmt.Sprintf("the answer: a list of %d has no item %s", len(list), formatValue(index))}
	}
	return list[i], nil
}

// splitMissingFields returns answer as an object if it contains all fields, and
// otherwise the fields that it does not contain.
func splitMissingFields(answer pyvalue.Value, fields ...string) (object *pyvalue.Object, missing []string, err error) {
	for _, field := range fields {
		there, err := pythonContains(answer, pyvalue.String(field))
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
	object, ok := answer.(*pyvalue.Object)
	if !ok {
		return nil, nil, pyvalue.TypeError("the answer: want an object, found %s", pyvalue.KindOf(answer))
	}
	return object, nil, nil
}

// partOfAnswerToGrade returns the part of the answer that Assay's own graders check, and
// its name for messages: the field that answer_field names (see [lookupField]), nil if
// it is absent; or without answer_field the whole answer.
func partOfAnswerToGrade(config *pyvalue.Object, answer pyvalue.Value) (name string, part pyvalue.Value, err error) {
	field, ok := config.Get("answer_field").(pyvalue.String)
	if !ok {
		return "the answer", answer, nil
	}
	part, err = lookupField(answer, string(field))
	return string(field), part, err
}
