package grading

import "fmt"

// numericTolerance passes when every field of the ground truth is found in the
// answer within its tolerance. Without a ground truth it passes with score 0.
func numericTolerance(config *Object, answer Value) (Result, error) {
	truth, err := groundTruth(config)
	if err != nil {
		return Result{}, err
	}
	g := numericGrader{
		report:     newReport("Numeric tolerance"),
		answer:     answer,
		tolerances: tolerancesOf(config),
		scores:     &Object{},
	}
	passed := 0
	for field, expected := range truth.All() {
		ok, err := g.field(field, expected)
		if err != nil {
			return Result{}, err
		}
		g.scores.Set(field, Float(0))
		if ok {
			g.scores.Set(field, Float(1))
			passed++
		}
	}
	result := g.report.result(float64(passed) / float64(max(1, truth.Len())))
	result.FieldScores = g.scores
	return result, nil
}

func groundTruth(config *Object) (*Object, error) {
	switch truth := config.Get("ground_truth").(type) {
	case nil:
		return &Object{}, nil
	case *Object:
		return truth, nil
	default:
		return nil, typeError("ground_truth: want an object, found %s", KindOf(truth))
	}
}

// tolerancesOf returns what the config has under "tolerances" or, without that
// key, under "tolerance".
func tolerancesOf(config *Object) Value {
	for _, key := range []string{"tolerances", "tolerance"} {
		if v := config.Get(key); v != nil {
			return v
		}
	}
	return &Object{}
}

type numericGrader struct {
	report     *report
	answer     Value
	tolerances Value
	scores     *Object
}

// field judges one field of the ground truth and reports it. The error ends the
// grading; what is merely wrong with the answer does not.
func (g *numericGrader) field(name string, expected Value) (bool, error) {
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
	if actual == (Null{}) {
		g.record(name, actual, expected, hopeless())
		g.report.fail(name + ": null is not a number, expected " + show(expected))
		return false, nil
	}
	t, err := toleranceOf(g.tolerances, name)
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

func (g *numericGrader) record(name string, actual, expected Value, j judgement) {
	metrics := g.report.metrics
	metrics.Set(name+"_actual", actual)
	metrics.Set(name+"_expected", expected)
	metrics.Set(name+"_error", j.off)
	metrics.Set(name+"_pass", Bool(j.within))
}

// readNumber makes a number of a string that is one, and of a boolean. Other
// kinds are returned as they are; the comparison will refuse them.
func readNumber(v Value) (Value, bool) {
	switch v := v.(type) {
	case String:
		f, ok := parseFloat(string(v))
		return Float(f), ok
	case Bool:
		if v {
			return NewInt(1), true
		}
		return NewInt(0), true
	default:
		return v, true
	}
}
