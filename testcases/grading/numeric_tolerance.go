package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// gradeNumericTolerance passes if every field of the ground truth is in the answer,
// within its tolerance. Without a ground truth it passes with score 0.
func gradeNumericTolerance(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	truth, err := getConfigSection(config, "ground_truth")
	if err != nil {
		return Result{}, err
	}
	g := toleranceGrader{report: newGraderReport("Numeric tolerance"), answer: answer, tolerances: configTolerances(config)}
	return g.report.gradeFields(truth, g.gradeField)
}

// configTolerances returns "tolerances" of a grader config or, without that key,
// "tolerance", or an empty object without both.
func configTolerances(config *pyvalue.Object) pyvalue.Value {
	for _, key := range []string{"tolerances", "tolerance"} {
		if v := config.Get(key); v != nil {
			return v
		}
	}
	return &pyvalue.Object{}
}

// toleranceGrader grades one numeric_tolerance answer against the tolerances of a
// config.
type toleranceGrader struct {
	report     *graderReport
	answer     pyvalue.Value
	tolerances pyvalue.Value
}

// gradeField grades one field of the ground truth and reports the result. A missing or
// wrong field is no error; an error ends the grading.
func (g *toleranceGrader) gradeField(name string, expected pyvalue.Value) (bool, error) {
	found, err := lookupField(g.answer, name)
	if err != nil {
		return false, err
	}
	if found == nil {
		g.report.addFailure(name + ": missing from the answer, expected " + formatValue(expected))
		return false, nil
	}
	actual, ok := readNumber(found)
	if !ok {
		g.report.addFailure(fmt.Sprintf("%s: %s is not a number, expected %s", name, formatValue(found), formatValue(expected)))
		return false, nil
	}
	own, err := toleranceEntryOfField(g.tolerances, name)
	if err != nil {
		return false, err
	}
	if actual == (pyvalue.Null{}) {
		g.setMetrics(name, actual, expected, failedComparison())
		g.report.addFailure(name + ": null is not a number, expected " + formatValue(expected))
		return false, nil
	}
	t, err := toleranceOfField(g.tolerances, own)
	if err != nil {
		return false, err
	}
	j, err := t.compare(actual, expected)
	if err != nil {
		return false, err
	}
	g.setMetrics(name, actual, expected, j)
	g.report.addLine(j.isWithin, fmt.Sprintf("%s: %s, %s", name, formatValue(actual), t.describe(expected)))
	if !j.isWithin {
		g.report.addFailure(fmt.Sprintf("%s: found %s, %s: %s", name, formatValue(actual), t.describe(expected), t.describeMiss(j)))
	}
	return j.isWithin, nil
}

// setMetrics sets the metrics of one field of a numeric_tolerance answer.
func (g *toleranceGrader) setMetrics(name string, actual, expected pyvalue.Value, j toleranceComparison) {
	metrics := g.report.metrics
	metrics.Set(name+"_actual", actual)
	metrics.Set(name+"_expected", expected)
	metrics.Set(name+"_error", j.distance)
	metrics.Set(name+"_pass", pyvalue.Bool(j.isWithin))
}
