package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// gradeBooleanCheck passes if the answer has every field of the ground truth with the
// same boolean. A field that is not a boolean, in the answer or the ground truth, fails
// and sets no metrics. Without a ground truth it passes.
func gradeBooleanCheck(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	truth, err := getConfigSection(config, "ground_truth")
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Boolean check")
	for field, expected := range truth.All() {
		found, err := pythonItemIfContained(answer, pyvalue.String(field))
		if err != nil {
			return Result{}, err
		}
		r.checkBoolean(field, expected, found)
	}
	return r.binaryResult(), nil
}

// checkBoolean compares one boolean field of the answer with the ground truth and adds
// the result to the report. found is nil if the answer lacks the field.
func (r *graderReport) checkBoolean(field string, expected, found pyvalue.Value) {
	want, known := expected.(pyvalue.Bool)
	got, given := found.(pyvalue.Bool)
	switch {
	case found == nil:
		r.addFailure(field + ": missing from the answer, expected " + formatValue(expected))
	case !known:
		r.addFailure(fmt.Sprintf("%s: the ground truth is not a boolean but %s", field, formatValue(expected)))
	case !given:
		r.addFailure(fmt.Sprintf("%s: found %s, which is not a boolean, expected %s", field, formatValue(found), formatValue(expected)))
	default:
		r.metrics.Set(field+"_actual", got)
		r.metrics.Set(field+"_expected", want)
		r.metrics.Set(field+"_pass", pyvalue.Bool(got == want))
		r.addLine(got == want, fmt.Sprintf("%s: %s, expected %s", field, formatValue(got), formatValue(want)))
		if got != want {
			r.addFailure(fmt.Sprintf("%s: found %s, expected %s", field, formatValue(got), formatValue(want)))
		}
	}
}
