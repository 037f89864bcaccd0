package grading

import (
	"errors"
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// exact passes when the answer, or the field of it that answer_field names,
// equals the ground truth as Python's == has it: whatever is inside, 1 equals
// 1.0, and the order of keys does not matter.
func exact(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	if err := checkExact(config); err != nil {
		return Result{}, pyvalue.ValueError("%v", err)
	}
	name, found, err := partOf(config, answer)
	if err != nil {
		return Result{}, err
	}
	r := newReport("Exact")
	expected := config.Get("ground_truth")
	if found == nil {
		r.fail(name + ": missing from the answer, expected " + show(expected))
		return r.verdict(), nil
	}
	r.metrics.Set("actual", found)
	r.metrics.Set("expected", expected)
	difference := firstDifference(name, expected, found)
	r.line(difference == "", name+": "+show(found)+", expected "+show(expected))
	if difference != "" {
		r.fail(difference)
	}
	return r.verdict(), nil
}

func checkExact(config *pyvalue.Object) error {
	if !config.Has("ground_truth") {
		return errors.New("ground_truth is missing")
	}
	return checkAnswerField(config)
}

// firstDifference says where found stops to equal expected, "" if it does not.
func firstDifference(where string, expected, found pyvalue.Value) string {
	if pyvalue.Equal(expected, found) {
		return ""
	}
	switch e := expected.(type) {
	case pyvalue.List:
		if f, ok := found.(pyvalue.List); ok {
			return listDifference(where, e, f)
		}
	case *pyvalue.Object:
		if f, ok := found.(*pyvalue.Object); ok {
			return objectDifference(where, e, f)
		}
	}
	return fmt.Sprintf("%s: expected %s, found %s", where, show(expected), show(found))
}

func listDifference(where string, expected, found pyvalue.List) string {
	for i := range min(len(expected), len(found)) {
		if d := firstDifference(fmt.Sprintf("%s[%d]", where, i), expected[i], found[i]); d != "" {
			return d
		}
	}
	return fmt.Sprintf("%s: expected %d items, found %d", where, len(expected), len(found))
}

func objectDifference(where string, expected, found *pyvalue.Object) string {
	for key, e := range expected.All() {
		f := found.Get(key)
		if f == nil {
			return fmt.Sprintf("%s: key %s is missing, expected %s", where, show(pyvalue.String(key)), show(e))
		}
		if d := firstDifference(where+"."+key, e, f); d != "" {
			return d
		}
	}
	for key := range found.All() {
		if !expected.Has(key) {
			return fmt.Sprintf("%s: key %s is not expected", where, show(pyvalue.String(key)))
		}
	}
	return ""
}
