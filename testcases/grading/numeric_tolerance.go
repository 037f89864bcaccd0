package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// numericTolerance passes when every field of the ground truth is found in the
// answer within its tolerance. Without a ground truth it passes with score 0.
func numericTolerance(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	truth, err := section(config, "ground_truth")
	if err != nil {
		return Result{}, err
	}
	g := toleranceGrader{report: newReport("Numeric tolerance"), answer: answer, tolerances: tolerancesOf(config)}
	return g.report.byField(truth, g.field)
}

// tolerancesOf returns what the config has under "tolerances" or, without that
// key, under "tolerance".
func tolerancesOf(config *pyvalue.Object) pyvalue.Value {
	for _, key := range []string{"tolerances", "tolerance"} {
		if v := config.Get(key); v != nil {
			return v
		}
	}
	return &pyvalue.Object{}
}

type toleranceGrader struct {
	report     *report
	answer     pyvalue.Value
	tolerances pyvalue.Value
}

// field judges one field of the ground truth and reports it. The error ends the
// grading; what is merely wrong with the answer does not.
func (g *toleranceGrader) field(name string, expected pyvalue.Value) (bool, error) {
	found, err := lookup(g.answer, name)
	if err != nil {
		return false, err
	}
	if found == nil {
		g.report.fail(name + ": missing from the answer, expected " + show(expected))
		return false, nil
	}
	actual, ok := readNumber(found)
	if !ok {
		g.report.fail(fmt.Sprintf("%s: %s is not a number, expected %s", name, show(found), show(expected)))
		return false, nil
	}
	own, err := ownTolerance(g.tolerances, name)
	if err != nil {
		return false, err
	}
	if actual == (pyvalue.Null{}) {
		g.record(name, actual, expected, hopeless())
		g.report.fail(name + ": null is not a number, expected " + show(expected))
		return false, nil
	}
	t, err := toleranceOf(g.tolerances, own)
	if err != nil {
		return false, err
	}
	j, err := t.judge(actual, expected)
	if err != nil {
		return false, err
	}
	g.record(name, actual, expected, j)
	g.report.line(j.within, fmt.Sprintf("%s: %s, %s", name, show(actual), t.wanted(expected)))
	if !j.within {
		g.report.fail(fmt.Sprintf("%s: found %s, %s: %s", name, show(actual), t.wanted(expected), t.missed(j)))
	}
	return j.within, nil
}

func (g *toleranceGrader) record(name string, actual, expected pyvalue.Value, j judgement) {
	metrics := g.report.metrics
	metrics.Set(name+"_actual", actual)
	metrics.Set(name+"_expected", expected)
	metrics.Set(name+"_error", j.off)
	metrics.Set(name+"_pass", pyvalue.Bool(j.within))
}
