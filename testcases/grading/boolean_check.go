package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// booleanCheck passes when every field of the ground truth is in the answer and
// the same boolean there. What is no boolean, on either side, fails and leaves
// nothing in the metrics. Without a ground truth it passes.
func booleanCheck(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	truth, err := section(config, "ground_truth")
	if err != nil {
		return Result{}, err
	}
	r := newReport("Boolean check")
	for field, expected := range truth.All() {
		found, err := take(answer, pyvalue.String(field))
		if err != nil {
			return Result{}, err
		}
		r.boolean(field, expected, found)
	}
	return r.verdict(), nil
}

func (r *report) boolean(field string, expected, found pyvalue.Value) {
	want, known := expected.(pyvalue.Bool)
	got, given := found.(pyvalue.Bool)
	switch {
	case found == nil:
		r.fail(field + ": missing from the answer, expected " + show(expected))
	case !known:
		r.fail(fmt.Sprintf("%s: the ground truth is not a boolean but %s", field, show(expected)))
	case !given:
		r.fail(fmt.Sprintf("%s: found %s, which is not a boolean, expected %s", field, show(found), show(expected)))
	default:
		r.metrics.Set(field+"_actual", got)
		r.metrics.Set(field+"_expected", want)
		r.metrics.Set(field+"_pass", pyvalue.Bool(got == want))
		r.line(got == want, fmt.Sprintf("%s: %s, expected %s", field, show(got), show(want)))
		if got != want {
			r.fail(fmt.Sprintf("%s: found %s, expected %s", field, show(got), show(want)))
		}
	}
}
