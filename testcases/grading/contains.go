package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// gradeContains passes if the answer, or the field of it that answer_field names,
// contains all values, or with mode any at least one. A list contains its items, an
// object its keys, and a text its parts. Items are compared as [gradeExact] compares: 1
// equals 1.0 and true. A value that is not a text is never a key or a part of a text.
//
// Metrics: found and missing, lists of the values.
func gradeContains(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	values, needAll, err := readContainsConfig(config)
	if err != nil {
		return Result{}, pyvalue.ValueError("%v", err)
	}
	name, part, err := partOfAnswerToGrade(config, answer)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Contains")
	switch part.(type) {
	case nil:
		r.addFailure(fmt.Sprintf("%s: missing from the answer, expected something that contains %s", name, formatValue(values)))
		return r.binaryResult(), nil
	case pyvalue.String, pyvalue.List, *pyvalue.Object:
	default:
		r.addFailure(fmt.Sprintf("%s: want text, a list or an object, found %s", name, formatValue(part)))
		return r.binaryResult(), nil
	}
	if err := checkSearchSteps(values, part); err != nil {
		return Result{}, err
	}
	found, missing := pyvalue.List{}, pyvalue.List{}
	for _, value := range values {
		there := isContained(part, value)
		if there {
			found = append(found, value)
		} else {
			missing = append(missing, value)
		}
		r.addLine(there, formatValue(value))
	}
	r.metrics.Set("found", found)
	r.metrics.Set("missing", missing)
	switch {
	case needAll && len(missing) > 0:
		r.addFailure(fmt.Sprintf("%s: %d of %d values are missing: %s; found %s", name, len(missing), len(values), formatValue(missing), formatValue(part)))
	case len(found) == 0:
		r.addFailure(fmt.Sprintf("%s: none of %s; found %s", name, formatValue(values), formatValue(part)))
	}
	return r.binaryResult(), nil
}

// checkSearchSteps returns an error if searching the answer for all values would take
// too long. A text is searched 64 bytes per step, and a key is found in one step.
func checkSearchSteps(values pyvalue.List, part pyvalue.Value) error {
	switch part := part.(type) {
	case pyvalue.List:
		return checkGraderSteps("values and members", len(values), len(part))
	case pyvalue.String:
		return checkGraderSteps("values and text", len(values), len(part)/64)
	default:
		return nil
	}
}

// isContained reports whether container contains value by Python's rules, like
// pythonContains, but returns false instead of an error for values that cannot be
// contained.
func isContained(container, value pyvalue.Value) bool {
	there, err := pythonContains(container, value)
	return err == nil && there
}

// checkContainsConfig returns an error if the config of a contains grader is malformed.
func checkContainsConfig(config *pyvalue.Object) error {
	_, _, err := readContainsConfig(config)
	return err
}

// readContainsConfig returns the values of a contains grader, and whether the answer
// must contain all of them. It is an error if values is not a list of at least one
// item, if mode is neither all nor any, or if answer_field is not a string.
func readContainsConfig(config *pyvalue.Object) (values pyvalue.List, needAll bool, err error) {
	values, ok := config.Get("values").(pyvalue.List)
	if !ok || len(values) == 0 {
		return nil, false, fmt.Errorf("values: want a list of at least one, found %s", formatValue(config.Get("values")))
	}
	switch mode := config.Get("mode"); mode {
	case nil, pyvalue.String("all"):
		needAll = true
	case pyvalue.String("any"):
	default:
		return nil, false, fmt.Errorf("mode: want all or any, found %s", formatValue(mode))
	}
	return values, needAll, checkAnswerField(config)
}
