package grading

import (
	"errors"
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// gradeExact passes if the answer, or the field of it that answer_field names, equals
// the ground truth by Python's ==: 1 equals 1.0, also inside lists and objects, and the
// order of keys does not matter.
func gradeExact(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	if err := checkExactConfig(config); err != nil {
		return Result{}, pyvalue.ValueError("%v", err)
	}
	name, found, err := partOfAnswerToGrade(config, answer)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Exact")
	expected := config.Get("ground_truth")
	if found == nil {
		r.addFailure(name + ": missing from the answer, expected " + formatValue(expected))
		return r.binaryResult(), nil
	}
	r.metrics.Set("actual", found)
	r.metrics.Set("expected", expected)
	difference := firstDiff(name, expected, found)
	r.addLine(difference == "", name+": "+formatValue(found)+", expected "+formatValue(expected))
	if difference != "" {
		r.addFailure(difference)
	}
	return r.binaryResult(), nil
}

// checkExactConfig returns an error if the config of an exact grader is malformed.
func checkExactConfig(config *pyvalue.Object) error {
	if !config.Has("ground_truth") {
		return errors.New("ground_truth is missing")
	}
	return checkAnswerField(config)
}

// firstDiff describes the first place at which found differs from expected, or returns
// "" if they are equal. where is the place of both values in the answer.
func firstDiff(where string, expected, found pyvalue.Value) string {
	if pyvalue.Equal(expected, found) {
		return ""
	}
	switch e := expected.(type) {
	case pyvalue.List:
		if f, ok := found.(pyvalue.List); ok {
			return listDiff(where, e, f)
		}
	case *pyvalue.Object:
		if f, ok := found.(*pyvalue.Object); ok {
			return objectDiff(where, e, f)
		}
	}
	return fmt.Sprintf("%s: expected %s, found %s", where, formatValue(expected), formatValue(found))
}

func listDiff(where string, expected, found pyvalue.List) string {
	for i := range min(len(expected), len(found)) {
		if d := firstDiff(fmt.Sprintf("%s[%d]", where, i), expected[i], found[i]); d != "" {
			return d
		}
	}
	return fmt.Sprintf("%s: expected %d items, found %d", where, len(expected), len(found))
}

func objectDiff(where string, expected, found *pyvalue.Object) string {
	for key, e := range expected.All() {
		f := found.Get(key)
		if f == nil {
			return fmt.Sprintf("%s: key %s is missing, expected %s", where, formatValue(pyvalue.String(key)), formatValue(e))
		}
		if d := firstDiff(where+"."+key, e, f); d != "" {
			return d
		}
	}
	for key := range found.All() {
		if !expected.Has(key) {
			return fmt.Sprintf("%s: key %s is not expected", where, formatValue(pyvalue.String(key)))
		}
	}
	return ""
}
