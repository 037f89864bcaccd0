package grading

// byField judges every field of the ground truth, in order. The score is the
// share of those that passed, 0 when there are none. The error of judge ends the
// grading; what is merely wrong with the answer does not.
func (r *report) byField(truth *Object, judge func(name string, expected Value) (bool, error)) (Result, error) {
	scores, passed := &Object{}, 0
	for name, expected := range truth.All() {
		ok, err := judge(name, expected)
		if err != nil {
			return Result{}, err
		}
		scores.Set(name, Float(0))
		if ok {
			scores.Set(name, Float(1))
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
func readNumber(v Value) (number Value, ok bool) {
	switch v := v.(type) {
	case String:
		f, ok := parseFloat(string(v))
		if !ok {
			return v, false
		}
		return Float(f), true
	case Bool:
		if v {
			return NewInt(1), true
		}
		return NewInt(0), true
	default:
		return v, true
	}
}
