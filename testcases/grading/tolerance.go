package grading

import (
	"fmt"
	"math"

	"assay/testcases/grading/pyvalue"
)

// tolerance says how far an answer may be from what was expected.
type tolerance struct {
	kind         pyvalue.Value // absolute, relative, min or max; nothing else passes
	value        pyvalue.Value
	lower, upper pyvalue.Value   // nil unless given, be it as null
	own          *pyvalue.Object // the field's entry, which need not be where the rest is from
}

// judgement is what became of one field. What off means depends on the
// tolerance: a distance, a signed difference, a share, or how much a bound was
// missed by; it is infinite when nothing could be calculated.
type judgement struct {
	within bool
	off    pyvalue.Value
	reason string // why nothing could be calculated
}

func hopeless() judgement { return judgement{off: pyvalue.Float(math.Inf(1))} }

// ownTolerance returns the entry of a field, an empty one if it has none.
func ownTolerance(tolerances pyvalue.Value, field string) (*pyvalue.Object, error) {
	all, ok := tolerances.(*pyvalue.Object)
	if !ok {
		return &pyvalue.Object{}, nil // toleranceOf refuses them
	}
	own, ok := orElse(all, field, &pyvalue.Object{}).(*pyvalue.Object)
	if !ok {
		return nil, pyvalue.TypeError("tolerances.%s: want an object, found %s", field, pyvalue.KindOf(all.Get(field)))
	}
	return own, nil
}

// toleranceOf picks the tolerance of a field whose own entry is own. Tolerances
// with a "type" of their own are one tolerance for all fields, which yields only
// to an entry that has a "value".
func toleranceOf(tolerances pyvalue.Value, own *pyvalue.Object) (tolerance, error) {
	all, ok := tolerances.(*pyvalue.Object)
	if !ok {
		return tolerance{}, pyvalue.TypeError("tolerances: want an object, found %s", pyvalue.KindOf(tolerances))
	}
	from := own
	if all.Has("type") && !own.Has("value") {
		from = all
	}
	return tolerance{
		kind:  orElse(from, "type", pyvalue.String("absolute")),
		value: orElse(from, "value", pyvalue.NewInt(0)),
		lower: from.Get("lower"),
		upper: from.Get("upper"),
		own:   own,
	}, nil
}

// asymmetric says that an absolute tolerance has a bound on either side.
func (t tolerance) asymmetric() bool { return t.lower != nil && t.upper != nil }

// judge decides about actual. What is no number fails; the error is an overflow.
func (t tolerance) judge(actual, expected pyvalue.Value) (judgement, error) {
	j, err := t.compare(actual, expected)
	if isKind(err, "type_error") {
		j = hopeless()
		j.reason = err.Error()
		return j, nil
	}
	if err != nil {
		return judgement{}, err
	}
	return j, t.presentable(j)
}

func (t tolerance) compare(actual, expected pyvalue.Value) (judgement, error) {
	switch t.kind {
	case pyvalue.String("absolute"):
		if t.asymmetric() {
			return t.between(actual, expected)
		}
		off, err := pyvalue.Distance(actual, expected)
		if err != nil {
			return judgement{}, err
		}
		within, err := pyvalue.AtMost(off, t.value)
		return judgement{within: within, off: off}, err
	case pyvalue.String("relative"):
		return t.share(actual, expected)
	case pyvalue.String("min"):
		return bounded(actual, t.value, false)
	case pyvalue.String("max"):
		return bounded(actual, t.value, true)
	default:
		j := hopeless()
		j.reason = "no such type of tolerance"
		return j, nil
	}
}

// between wants expected - lower <= actual <= expected + upper.
func (t tolerance) between(actual, expected pyvalue.Value) (judgement, error) {
	low, err := pyvalue.Subtract(expected, t.lower)
	if err != nil {
		return judgement{}, err
	}
	within, err := pyvalue.AtMost(low, actual)
	if err != nil {
		return judgement{}, err
	}
	if within {
		high, err := pyvalue.Add(expected, t.upper)
		if err != nil {
			return judgement{}, err
		}
		if within, err = pyvalue.AtMost(actual, high); err != nil {
			return judgement{}, err
		}
	}
	off, err := pyvalue.Subtract(actual, expected)
	return judgement{within: within, off: off}, err
}

// share wants |actual - expected| / |expected| <= value, and is never content
// around 0.
func (t tolerance) share(actual, expected pyvalue.Value) (judgement, error) {
	var off pyvalue.Value = pyvalue.Float(math.Inf(1))
	if !pyvalue.Equal(expected, pyvalue.NewInt(0)) {
		far, err := pyvalue.Distance(actual, expected)
		if err != nil {
			return judgement{}, err
		}
		if off, err = pyvalue.Divide(far, pyvalue.Abs(expected)); err != nil {
			return judgement{}, err
		}
	}
	within, err := pyvalue.AtMost(off, t.value)
	return judgement{within: within, off: off}, err
}

// bounded wants actual on the right side of bound, or on it. NaN is on neither.
func bounded(actual, bound pyvalue.Value, isMax bool) (judgement, error) {
	small, large := bound, actual
	if isMax {
		small, large = actual, bound
	}
	within, err := pyvalue.AtMost(small, large)
	if err != nil {
		return judgement{}, err
	}
	beyond, err := pyvalue.Less(large, small)
	if err != nil || !beyond {
		return judgement{within: within, off: pyvalue.NewInt(0)}, err
	}
	off, err := pyvalue.Subtract(small, large)
	return judgement{within: within, off: off}, err
}

// presentable refuses an integer that is too large for a double where the
// harness whose verdicts we share writes it with decimals: in its list of fields,
// unless the field's own entry names bounds, and in its list of failures, unless
// the tolerance in force does.
func (t tolerance) presentable(j judgement) error {
	listed := !boundsOnly(t.own.Get("type"), t.own.Get("lower"), t.own.Get("upper"))
	failure := !j.within && !boundsOnly(t.kind, t.lower, t.upper)
	if listed || failure {
		return decimals(j.off)
	}
	return nil
}

// boundsOnly says that a tolerance is told by its bounds, without a distance.
func boundsOnly(kind, lower, upper pyvalue.Value) bool {
	return kind == pyvalue.String("min") || kind == pyvalue.String("max") || lower != nil && upper != nil
}

// wanted says what the tolerance asks for.
func (t tolerance) wanted(expected pyvalue.Value) string {
	switch t.kind {
	case pyvalue.String("min"):
		return "expected at least " + show(t.value)
	case pyvalue.String("max"):
		return "expected at most " + show(t.value)
	case pyvalue.String("relative"):
		return fmt.Sprintf("expected %s within %s of it", show(expected), t.amount(t.value))
	case pyvalue.String("absolute"):
		if t.asymmetric() {
			return fmt.Sprintf("expected %s, at most %s below or %s above", show(expected), show(t.lower), show(t.upper))
		}
		return fmt.Sprintf("expected %s within %s", show(expected), show(t.value))
	default:
		return fmt.Sprintf("expected %s, tolerance type %s", show(expected), show(t.kind))
	}
}

// missed says by how much.
func (t tolerance) missed(j judgement) string {
	if j.reason != "" {
		return j.reason
	}
	if f, ok := j.off.(pyvalue.Float); ok && (math.IsNaN(float64(f)) || math.IsInf(float64(f), 0)) {
		return "no distance can be within that"
	}
	over, err := pyvalue.Subtract(j.off, t.value)
	if err != nil || t.asymmetric() || t.kind == pyvalue.String("min") || t.kind == pyvalue.String("max") {
		return "off by " + t.amount(j.off)
	}
	return "off by " + t.amount(j.off) + ", which is " + t.amount(over) + " too much"
}

// amount writes how far something is off, or may be: a share in percent.
func (t tolerance) amount(v pyvalue.Value) string {
	n, ok := pyvalue.AsNumber(v)
	f, err := n.Float()
	if t.kind != pyvalue.String("relative") || !ok || err != nil {
		return brief(v)
	}
	return brief(pyvalue.Float(f*100)) + " %"
}
