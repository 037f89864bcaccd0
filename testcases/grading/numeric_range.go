package grading

import "fmt"

// numericRange passes when every field of the ground truth is found in the
// answer strictly between the min and the max of its range. A range must have
// the ground truth strictly inside. Without ground truth or ranges it fails.
func numericRange(config *Object, answer Value) (Result, error) {
	r := newReport("Numeric range")
	truth, _ := config.Get("ground_truth").(*Object)
	ranges, _ := config.Get("ranges").(*Object)
	if truth.Len() == 0 || ranges.Len() == 0 {
		r.fail("the case has no ground_truth, or no ranges, to grade by")
		return r.verdict(), nil
	}
	g := rangeGrader{report: r, answer: answer, ranges: ranges}
	return r.byField(truth, g.field)
}

type rangeGrader struct {
	report *report
	answer Value
	ranges *Object
}

// field judges one field and reports it. The error is that of an answer in which
// nothing can be looked up.
func (g rangeGrader) field(name string, expected Value) (bool, error) {
	limits, _ := g.ranges.Get(name).(*Object)
	low, high := orElse(limits, "min", Null{}), orElse(limits, "max", Null{})
	g.report.metrics.Set(name+"_expected", expected)
	g.report.metrics.Set(name+"_min", low)
	g.report.metrics.Set(name+"_max", high)

	var actual Value = Null{}
	fault := g.badRange(name, low, high, expected)
	if fault == "" {
		found, err := lookup(g.answer, name)
		if err != nil {
			return false, err
		}
		actual, fault = g.judge(found, low, high)
	}
	g.report.metrics.Set(name+"_actual", actual)
	g.report.metrics.Set(name+"_pass", Bool(fault == ""))
	g.report.line(fault == "", fmt.Sprintf("%s: %s, expected between %s and %s", name, show(actual), show(low), show(high)))
	if fault != "" {
		g.report.fail(name + ": " + fault)
	}
	return fault == "", nil
}

// badRange says what keeps a range from being one, "" if nothing does.
func (g rangeGrader) badRange(name string, low, high, expected Value) string {
	entry := g.ranges.Get(name)
	if entry == nil {
		return "the case has no range for it"
	}
	if _, ok := entry.(*Object); !ok {
		return "its range is not an object but " + show(entry)
	}
	for _, bound := range []struct {
		name string
		v    Value
	}{{"min", low}, {"max", high}, {"ground truth", expected}} {
		if k := KindOf(bound.v); k != "integer" && k != "number" {
			return fmt.Sprintf("its %s is not a number but %s", bound.name, show(bound.v))
		}
	}
	if !strictlyBetween(low, expected, high) {
		return fmt.Sprintf("its ground truth %s is not strictly between min %s and max %s", show(expected), show(low), show(high))
	}
	return ""
}

// judge returns what was found as a number, where it can be one, and what is
// wrong with it.
func (g rangeGrader) judge(found, low, high Value) (actual Value, fault string) {
	if found == nil {
		return Null{}, "missing from the answer"
	}
	actual, ok := readNumber(found)
	if _, number := asNumber(actual); !ok || !number {
		return actual, show(found) + " is not a number"
	}
	if strictlyBetween(low, actual, high) {
		return actual, ""
	}
	bound := low
	if above, _ := less(low, actual); above {
		bound = high
	}
	return actual, fmt.Sprintf("found %s, expected more than %s and less than %s%s", show(actual), show(low), show(high), offBy(actual, bound))
}

// strictlyBetween is low < v < high of numbers; with NaN it is false.
func strictlyBetween(low, v, high Value) bool {
	above, err := less(low, v)
	below, also := less(v, high)
	return above && below && err == nil && also == nil
}
