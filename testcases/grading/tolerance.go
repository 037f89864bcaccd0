package grading

import (
	"fmt"
	"math"
	"strconv"
)

// tolerance says how far an answer may be from what was expected.
type tolerance struct {
	kind         Value // absolute, relative, min or max; nothing else passes
	value        Value
	lower, upper Value   // nil unless given, be it as null
	own          *Object // the field's entry, which need not be where the rest is from
}

// judgement is what became of one field. What off means depends on the
// tolerance: a distance, a signed difference, a share, or how much a bound was
// missed by; it is infinite when nothing could be calculated.
type judgement struct {
	within bool
	off    Value
	reason string // why nothing could be calculated
}

func hopeless() judgement { return judgement{off: Float(math.Inf(1))} }

// ownTolerance returns the entry of a field, an empty one if it has none.
func ownTolerance(tolerances Value, field string) (*Object, error) {
	all, ok := tolerances.(*Object)
	if !ok {
		return &Object{}, nil // toleranceOf refuses them
	}
	own, ok := orElse(all, field, &Object{}).(*Object)
	if !ok {
		return nil, typeError("tolerances.%s: want an object, found %s", field, KindOf(all.Get(field)))
	}
	return own, nil
}

// toleranceOf picks the tolerance of a field whose own entry is own. Tolerances
// with a "type" of their own are one tolerance for all fields, which yields only
// to an entry that has a "value".
func toleranceOf(tolerances Value, own *Object) (tolerance, error) {
	all, ok := tolerances.(*Object)
	if !ok {
		return tolerance{}, typeError("tolerances: want an object, found %s", KindOf(tolerances))
	}
	from := own
	if all.Has("type") && !own.Has("value") {
		from = all
	}
	return tolerance{
		kind:  orElse(from, "type", String("absolute")),
		value: orElse(from, "value", NewInt(0)),
		lower: from.Get("lower"),
		upper: from.Get("upper"),
		own:   own,
	}, nil
}

// asymmetric says that an absolute tolerance has a bound on either side.
func (t tolerance) asymmetric() bool { return t.lower != nil && t.upper != nil }

// judge decides about actual. What is no number fails; the error is an overflow.
func (t tolerance) judge(actual, expected Value) (judgement, error) {
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

func (t tolerance) compare(actual, expected Value) (judgement, error) {
	switch t.kind {
	case String("absolute"):
		if t.asymmetric() {
			return t.between(actual, expected)
		}
		off, err := distance(actual, expected)
		if err != nil {
			return judgement{}, err
		}
		within, err := atMost(off, t.value)
		return judgement{within: within, off: off}, err
	case String("relative"):
		return t.share(actual, expected)
	case String("min"):
		return bounded(actual, t.value, false)
	case String("max"):
		return bounded(actual, t.value, true)
	default:
		j := hopeless()
		j.reason = "no such type of tolerance"
		return j, nil
	}
}

// between wants expected - lower <= actual <= expected + upper.
func (t tolerance) between(actual, expected Value) (judgement, error) {
	low, err := subtract(expected, t.lower)
	if err != nil {
		return judgement{}, err
	}
	within, err := atMost(low, actual)
	if err != nil {
		return judgement{}, err
	}
	if within {
		high, err := add(expected, t.upper)
		if err != nil {
			return judgement{}, err
		}
		if within, err = atMost(actual, high); err != nil {
			return judgement{}, err
		}
	}
	off, err := subtract(actual, expected)
	return judgement{within: within, off: off}, err
}

// share wants |actual - expected| / |expected| <= value, and is never content
// around 0.
func (t tolerance) share(actual, expected Value) (judgement, error) {
	var off Value = Float(math.Inf(1))
	if !equal(expected, NewInt(0)) {
		far, err := distance(actual, expected)
		if err != nil {
			return judgement{}, err
		}
		if off, err = divide(far, magnitude(expected)); err != nil {
			return judgement{}, err
		}
	}
	within, err := atMost(off, t.value)
	return judgement{within: within, off: off}, err
}

// bounded wants actual on the right side of bound, or on it. NaN is on neither.
func bounded(actual, bound Value, isMax bool) (judgement, error) {
	small, large := bound, actual
	if isMax {
		small, large = actual, bound
	}
	within, err := atMost(small, large)
	if err != nil {
		return judgement{}, err
	}
	beyond, err := less(large, small)
	if err != nil || !beyond {
		return judgement{within: within, off: NewInt(0)}, err
	}
	off, err := subtract(small, large)
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
func boundsOnly(kind, lower, upper Value) bool {
	return kind == String("min") || kind == String("max") || lower != nil && upper != nil
}

// wanted says what the tolerance asks for.
func (t tolerance) wanted(expected Value) string {
	switch t.kind {
	case String("min"):
		return "expected at least " + show(t.value)
	case String("max"):
		return "expected at most " + show(t.value)
	case String("relative"):
		return fmt.Sprintf("expected %s within %s of it", show(expected), t.amount(t.value))
	case String("absolute"):
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
	if n, ok := asNumber(j.off); ok && n.i == nil && (math.IsNaN(n.f) || math.IsInf(n.f, 0)) {
		return "no distance can be within that"
	}
	over, err := subtract(j.off, t.value)
	if err != nil || t.asymmetric() || t.kind == String("min") || t.kind == String("max") {
		return "off by " + t.amount(j.off)
	}
	return "off by " + t.amount(j.off) + ", which is " + t.amount(over) + " too much"
}

// amount writes how far something is off, or may be: a share in percent.
func (t tolerance) amount(v Value) string {
	n, ok := asNumber(v)
	f, err := n.float()
	if t.kind != String("relative") || !ok || err != nil {
		return brief(v)
	}
	return brief(Float(f*100)) + " %"
}

// brief writes a number with six digits.
func brief(v Value) string {
	n, ok := asNumber(v)
	if f, err := n.float(); ok && err == nil {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return show(v)
}
