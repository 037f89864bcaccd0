package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// gradeNumericRange passes if every field of the ground truth is in the answer,
// strictly between the min and the max of its range. The ground truth must itself be
// strictly inside the range. Without a ground truth or without ranges it fails.
func gradeNumericRange(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	r := newGraderReport("Numeric range")
	truth, _ := config.Get("ground_truth").(*pyvalue.Object)
	ranges, _ := config.Get("ranges").(*pyvalue.Object)
	if truth.Len() == 0 || ranges.Len() == 0 {
		r.addFailure("the case has no ground_truth, or no ranges, to grade by")
		return r.binaryResult(), nil
	}
	g := rangeGrader{report: r, answer: answer, ranges: ranges}
	return r.gradeFields(truth, g.gradeField)
}

// rangeGrader grades one numeric_range answer against the ranges of a config.
type rangeGrader struct {
	report *graderReport
	answer pyvalue.Value
	ranges *pyvalue.Object
}

// gradeField grades one field of a numeric_range answer and reports the result. It is
// an error if no field can be looked up in the answer, because it is a number, for
// example.
func (g rangeGrader) gradeField(name string, expected pyvalue.Value) (bool, error) {
	limits, _ := g.ranges.Get(name).(*pyvalue.Object)
	low, high := getOrDefault(limits, "min", pyvalue.Null{}), getOrDefault(limits, "max", pyvalue.Null{})
	g.report.metrics.Set(name+"_expected", expected)
	g.report.metrics.Set(name+"_min", low)
	g.report.metrics.Set(name+"_max", high)

	var actual pyvalue.Value = pyvalue.Null{}
	fault := g.checkRange(name, low, high, expected)
	if fault == "" {
		found, err := lookupField(g.answer, name)
		if err != nil {
			return false, err
		}
		actual, fault = g.checkFoundValue(found, low, high)
	}
	g.report.metrics.Set(name+"_actual", actual)
	g.report.metrics.Set(name+"_pass", pyvalue.Bool(fault == ""))
	g.report.addLine(fault == "", fmt.Sprintf("%s: %s, expected between %s and %s", name, formatValue(actual), formatValue(low), formatValue(high)))
	if fault != "" {
		g.report.addFailure(name + ": " + fault)
	}
	return fault == "", nil
}

// checkRange describes what is wrong with a range in a case's config, or returns "" if
// nothing is.
func (g rangeGrader) checkRange(name string, low, high, expected pyvalue.Value) string {
	entry := g.ranges.Get(name)
	if entry == nil {
		return "the case has no range for it"
	}
	if _, ok := entry.(*pyvalue.Object); !ok {
		return "its range is not an object but " + formatValue(entry)
	}
	for _, bound := range []struct {
		name string
		v    pyvalue.Value
	}{{"min", low}, {"max", high}, {"ground truth", expected}} {
		if k := pyvalue.KindOf(bound.v); k != "integer" && k != "number" {
			return fmt.Sprintf("its %s is not a number but %s", bound.name, formatValue(bound.v))
		}
	}
	if !strictlyBetween(low, expected, high) {
		return fmt.Sprintf("its ground truth %s is not strictly between min %s and max %s", formatValue(expected), formatValue(low), formatValue(high))
	}
	return ""
}

// checkFoundValue converts the answer's value of a field to a number if possible, and
// describes what is wrong with it, or returns "" if nothing is. found is nil if the
// answer lacks the field.
func (g rangeGrader) checkFoundValue(found, low, high pyvalue.Value) (actual pyvalue.Value, fault string) {
	if found == nil {
		return pyvalue.Null{}, "missing from the answer"
	}
	actual, ok := readNumber(found)
	if _, number := pyvalue.AsNumber(actual); !ok || !number {
		return actual, formatValue(found) + " is not a number"
	}
	if strictlyBetween(low, actual, high) {
		return actual, ""
	}
	bound := low
	if above, _ := pyvalue.Less(low, actual); above {
		bound = high
	}
	return actual, fmt.Sprintf("found %s, expected more than %s and less than %s%s", formatValue(actual), formatValue(low), formatValue(high), describeDistance(actual, bound))
}

// strictlyBetween reports whether low < v < high. It is false with NaN and with values
// that are not numbers.
func strictlyBetween(low, v, high pyvalue.Value) bool {
	above, err := pyvalue.Less(low, v)
	below, also := pyvalue.Less(v, high)
	return above && below && err == nil && also == nil
}
