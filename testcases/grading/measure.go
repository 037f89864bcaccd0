package grading

import "fmt"

// atLeast reports whether a measured value is at least a bound, in a line and,
// if not, as a failure that says by how much.
func (r *report) atLeast(what string, v, bound Value) (bool, error) {
	ok, err := atMost(bound, v)
	if err != nil {
		return false, err
	}
	r.measured(ok, what, v, "at least", bound)
	return ok, nil
}

// atMost is atLeast the other way round.
func (r *report) atMost(what string, v, bound Value) (bool, error) {
	ok, err := atMost(v, bound)
	if err != nil {
		return false, err
	}
	r.measured(ok, what, v, "at most", bound)
	return ok, nil
}

func (r *report) measured(ok bool, what string, v Value, relation string, bound Value) {
	r.line(ok, fmt.Sprintf("%s: %s, expected %s %s", what, show(v), relation, show(bound)))
	if !ok {
		r.fail(fmt.Sprintf("%s: found %s, expected %s %s%s", what, show(v), relation, show(bound), offBy(v, bound)))
	}
}

// offBy says how far v is from a bound, "" where that cannot be calculated.
func offBy(v, bound Value) string {
	off, err := distance(v, bound)
	if err != nil {
		return ""
	}
	return ": off by " + brief(off)
}

// names lists things of one kind, if there are any.
func (r *report) names(ok bool, what string, items List) {
	if len(items) > 0 {
		r.line(ok, fmt.Sprintf("%d %s: %s", len(items), what, show(items)))
	}
}

// ratio is n / m, 0 when m is 0.
func ratio(n, m int) Float {
	if m == 0 {
		return 0
	}
	return Float(float64(n) / float64(m))
}
