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
	fieldEntry   *pyvalue.Object // the field's entry, which need not be where the rest is from
}

// toleranceJudgement is what became of one field. What off means depends on the
// tolerance: a distance, a signed difference, a share, or how much a bound was
// missed by; it is infinite when nothing could be calculated.
type toleranceJudgement struct {
	isWithin bool
	distance pyvalue.Value
	reason   string // why nothing could be calculated
}

func failedJudgement() toleranceJudgement {
	return toleranceJudgement{distance: pyvalue.Float(math.Inf(1))}
}

// fieldTolerance returns the entry of a field, an empty one if it has none.
func fieldTolerance(tolerances pyvalue.Value, field string) (*pyvalue.Object, error) {
	all, ok := tolerances.(*pyvalue.Object)
	if !ok {
		return &pyvalue.Object{}, nil // pickTolerance refuses them
	}
	own, ok := getOr(all, field, &pyvalue.Object{}).(*pyvalue.Object)
	if !ok {
		return nil, pyvalue.TypeError("tolerances.%s: want an object, found %s", field, pyvalue.KindOf(all.Get(field)))
	}
	return own, nil
}

// pickTolerance picks the tolerance of a field whose own entry is own. Tolerances
// with a "type" of their own are one tolerance for all fields, which yields only
// to an entry that has a "value".
func pickTolerance(tolerances pyvalue.Value, own *pyvalue.Object) (tolerance, error) {
	all, ok := tolerances.(*pyvalue.Object)
	if !ok {
		return tolerance{}, pyvalue.TypeError("tolerances: want an object, found %s", pyvalue.KindOf(tolerances))
	}
	from := own
	if all.Has("type") && !own.Has("value") {
		from = all
	}
	return tolerance{
		kind:       getOr(from, "type", pyvalue.String("absolute")),
		value:      getOr(from, "value", pyvalue.NewInt(0)),
		lower:      from.Get("lower"),
		upper:      from.Get("upper"),
		fieldEntry: own,
	}, nil
}

// isAsymmetric says that an absolute tolerance has a bound on either side.
func (t tolerance) isAsymmetric() bool { return t.lower != nil && t.upper != nil }

// judge decides about actual. What is no number fails; the error is an overflow.
func (t tolerance) judge(actual, expected pyvalue.Value) (toleranceJudgement, error) {
	j, err := t.judgeByKind(actual, expected)
	if hasErrorKind(err, "type_error") {
		j = failedJudgement()
		j.reason = err.Error()
		return j, nil
	}
	if err != nil {
		return toleranceJudgement{}, err
	}
	return j, t.checkPresentable(j)
}

func (t tolerance) judgeByKind(actual, expected pyvalue.Value) (toleranceJudgement, error) {
	switch t.kind {
	case pyvalue.String("absolute"):
		if t.isAsymmetric() {
			return t.judgeBetween(actual, expected)
		}
		off, err := pyvalue.Distance(actual, expected)
		if err != nil {
			return toleranceJudgement{}, err
		}
		within, err := pyvalue.AtMost(off, t.value)
		return toleranceJudgement{isWithin: within, distance: off}, err
	case pyvalue.String("relative"):
		return t.judgeRelative(actual, expected)
	case pyvalue.String("min"):
		return judgeBound(actual, t.value, false)
	case pyvalue.String("max"):
		return judgeBound(actual, t.value, true)
	default:
		j := failedJudgement()
		j.reason = "no such type of tolerance"
		return j, nil
	}
}

// judgeBetween wants expected - lower <= actual <= expected + upper.
func (t tolerance) judgeBetween(actual, expected pyvalue.Value) (toleranceJudgement, error) {
	low, err := pyvalue.Subtract(expected, t.lower)
	if err != nil {
		return toleranceJudgement{}, err
	}
	within, err := pyvalue.AtMost(low, actual)
	if err != nil {
		return toleranceJudgement{}, err
	}
	if within {
		high, err := pyvalue.Add(expected, t.upper)
		if err != nil {
			return toleranceJudgement{}, err
		}
		if within, err = pyvalue.AtMost(actual, high); err != nil {
			return toleranceJudgement{}, err
		}
	}
	off, err := pyvalue.Subtract(actual, expected)
	return toleranceJudgement{isWithin: within, distance: off}, err
}

// judgeRelative wants |actual - expected| / |expected| <= value, and is never content
// around 0.
func (t tolerance) judgeRelative(actual, expected pyvalue.Value) (toleranceJudgement, error) {
	var off pyvalue.Value = pyvalue.Float(math.Inf(1))
	if !pyvalue.Equal(expected, pyvalue.NewInt(0)) {
		far, err := pyvalue.Distance(actual, expected)
		if err != nil {
			return toleranceJudgement{}, err
		}
		if off, err = pyvalue.Divide(far, pyvalue.Abs(expected)); err != nil {
			return toleranceJudgement{}, err
		}
	}
	within, err := pyvalue.AtMost(off, t.value)
	return toleranceJudgement{isWithin: within, distance: off}, err
}

// judgeBound wants actual on the right side of bound, or on it. NaN is on neither.
func judgeBound(actual, bound pyvalue.Value, isMax bool) (toleranceJudgement, error) {
	small, large := bound, actual
	if isMax {
		small, large = actual, bound
	}
	within, err := pyvalue.AtMost(small, large)
	if err != nil {
		return toleranceJudgement{}, err
	}
	beyond, err := pyvalue.Less(large, small)
	if err != nil || !beyond {
		return toleranceJudgement{isWithin: within, distance: pyvalue.NewInt(0)}, err
	}
	off, err := pyvalue.Subtract(small, large)
	return toleranceJudgement{isWithin: within, distance: off}, err
}

// checkPresentable refuses an integer that is too large for a double where the
// harness whose verdicts we share writes it with decimals: in its list of fields,
// unless the field's own entry names bounds, and in its list of failures, unless
// the tolerance in force does.
func (t tolerance) checkPresentable(j toleranceJudgement) error {
	listed := !isBoundsOnly(t.fieldEntry.Get("type"), t.fieldEntry.Get("lower"), t.fieldEntry.Get("upper"))
	failure := !j.isWithin && !isBoundsOnly(t.kind, t.lower, t.upper)
	if listed || failure {
		return checkFitsFloat(j.distance)
	}
	return nil
}

// isBoundsOnly says that a tolerance is told by its bounds, without a distance.
func isBoundsOnly(kind, lower, upper pyvalue.Value) bool {
	return kind == pyvalue.String("min") || kind == pyvalue.String("max") || lower != nil && upper != nil
}

// describe says what the tolerance asks for.
func (t tolerance) describe(expected pyvalue.Value) string {
	switch t.kind {
	case pyvalue.String("min"):
		return "expected at least " + showValue(t.value)
	case pyvalue.String("max"):
		return "expected at most " + showValue(t.value)
	case pyvalue.String("relative"):
		return fmt.Sprintf("expected %s within %s of it", showValue(expected), t.formatAmount(t.value))
	case pyvalue.String("absolute"):
		if t.isAsymmetric() {
			return fmt.Sprintf("expected %s, at most %s below or %s above", showValue(expected), showValue(t.lower), showValue(t.upper))
		}
		return fmt.Sprintf("expected %s within %s", showValue(expected), showValue(t.value))
	default:
		return fmt.Sprintf("expected %s, tolerance type %s", showValue(expected), showValue(t.kind))
	}
}

// describeMiss says by how much.
func (t tolerance) describeMiss(j toleranceJudgement) string {
	if j.reason != "" {
		return j.reason
	}
	if f, ok := j.distance.(pyvalue.Float); ok && (math.IsNaN(float64(f)) || math.IsInf(float64(f), 0)) {
		return "no distance can be within that"
	}
	over, err := pyvalue.Subtract(j.distance, t.value)
	if err != nil || t.isAsymmetric() || t.kind == pyvalue.String("min") || t.kind == pyvalue.String("max") {
		return "off by " + t.formatAmount(j.distance)
	}
	return "off by " + t.formatAmount(j.distance) + ", which is " + t.formatAmount(over) + " too much"
}

// formatAmount writes how far something is off, or may be: a share in percent.
func (t tolerance) formatAmount(v pyvalue.Value) string {
	n, ok := pyvalue.AsNumber(v)
	f, err := n.Float()
	if t.kind != pyvalue.String("relative") || !ok || err != nil {
		return formatBrief(v)
	}
	return formatBrief(pyvalue.Float(f*100)) + " %"
}
