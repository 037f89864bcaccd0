package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// atLeast reports whether a measured value is at least a bound, in a line and,
// if not, as a failure that says by how much.
func (r *report) atLeast(what string, v, bound pyvalue.Value) (bool, error) {
	ok, err := pyvalue.AtMost(bound, v)
	if err != nil {
		return false, err
	}
	r.measured(ok, what, v, "at least", bound)
	return ok, nil
}

// AtMost is atLeast the other way round.
func (r *report) atMost(what string, v, bound pyvalue.Value) (bool, error) {
	ok, err := pyvalue.AtMost(v, bound)
	if err != nil {
		return false, err
	}
	r.measured(ok, what, v, "at most", bound)
	return ok, nil
}

func (r *report) measured(ok bool, what string, v pyvalue.Value, relation string, bound pyvalue.Value) {
	r.line(ok, fmt.Sprintf("%s: %s, expected %s %s", what, show(v), relation, show(bound)))
	if !ok {
		r.fail(fmt.Sprintf("%s: found %s, expected %s %s%s", what, show(v), relation, show(bound), offBy(v, bound)))
	}
}

// offBy says how far v is from a bound, "" where that cannot be calculated.
func offBy(v, bound pyvalue.Value) string {
	off, err := pyvalue.Distance(v, bound)
	if err != nil {
		return ""
	}
	return ": off by " + brief(off)
}

// names lists things of one kind, if there are any.
func (r *report) names(ok bool, what string, items pyvalue.List) {
	if len(items) > 0 {
		r.line(ok, fmt.Sprintf("%d %s: %s", len(items), what, show(items)))
	}
}

// ratio is n / m, 0 when m is 0.
func ratio(n, m int) pyvalue.Float {
	if m == 0 {
		return 0
	}
	return pyvalue.Float(float64(n) / float64(m))
}

// texts are strings as a list of values.
func texts(items []string) pyvalue.List {
	list := pyvalue.List{}
	for _, item := range items {
		list = append(list, pyvalue.String(item))
	}
	return list
}

// count is the length of a list.
func count(items pyvalue.List) pyvalue.Int { return pyvalue.NewInt(int64(len(items))) }
