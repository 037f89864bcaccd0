package grading

import "assay/testcases/grading/pyvalue"

// byField judges every field of the ground truth, in order. The score is the
// share of those that passed, 0 when there are none. The error of judge ends the
// grading; what is merely wrong with the answer does not.
func (r *report) byField(truth *pyvalue.Object, judge func(name string, expected pyvalue.Value) (bool, error)) (Result, error) {
	scores, passed := &pyvalue.Object{}, 0
	for name, expected := range truth.All() {
		ok, err := judge(name, expected)
		if err != nil {
			return Result{}, err
		}
		scores.Set(name, pyvalue.Float(0))
		if ok {
			scores.Set(name, pyvalue.Float(1))
			passed++
		}
	}
	result := r.result(float64(passed) / float64(max(1, truth.Len())))
	result.FieldScores = scores
	return result, nil
}

// readNumber makes a number of a string that is one, and of a boolean. Other
// kinds are returned as they are; the comparison will refuse them. ok is false
// for a string that is no number, which is returned as it is, too.
func readNumber(v pyvalue.Value) (number pyvalue.Value, ok bool) {
	switch v := v.(type) {
	case pyvalue.String:
		f, ok := pyvalue.ParseFloat(string(v))
		if !ok {
			return v, false
		}
		return pyvalue.Float(f), true
	case pyvalue.Bool:
		if v {
			return pyvalue.NewInt(1), true
		}
		return pyvalue.NewInt(0), true
	default:
		return v, true
	}
}
