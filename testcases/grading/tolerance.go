package grading

import (
	"fmt"
	"math"

	"assay/testcases/grading/pyvalue"
)

// tolerance says how far a field of the answer may be from the expected value.
type tolerance struct {
	kind         pyvalue.Value // absolute, relative, min or max; with any other the field fails
	value        pyvalue.Value
	lower, upper pyvalue.Value   // nil if absent; may be null
	fieldEntry   *pyvalue.Object // the field's own entry, from which the rest need not be
}

// toleranceComparison is the result of comparing one field with its tolerance. The
// distance depends on the kind of tolerance: an absolute, signed or relative
// difference, or the distance from a bound. It is infinite if it could not be
// calculated.
type toleranceComparison struct {
	isWithin bool
	distance pyvalue.Value
	reason   string // why nothing could be calculated, else ""
}

// failedComparison returns the comparison of a field for which no distance could be
// calculated.
func failedComparison() toleranceComparison {
	return toleranceComparison{distance: pyvalue.Float(math.Inf(1))}
}

// toleranceEntryOfField returns the tolerance entry of a field in a config, or an empty
// object if the field has none. An entry that is not an object is a type error.
func toleranceEntryOfField(tolerances pyvalue.Value, field string) (*pyvalue.Object, error) {
	all, ok := tolerances.(*pyvalue.Object)
	if !ok {
		return &pyvalue.Object{}, nil // toleranceOfField returns an error for them
	}
	own, ok := getOrDefault(all, field, &pyvalue.Object{}).(*pyvalue.Object)
	if !ok {
		return nil, pyvalue.TypeError("tolerances.%s: want an object, found %s", field, pyvalue.KindOf(all.Get(field)))
	}
	return own, nil
}

// toleranceOfField returns the tolerance of a field whose entry in the config is own.
// If the config's tolerances have the key "type", they are one tolerance for all
// fields, but an entry with a "value" overrides it.
func toleranceOfField(tolerances pyvalue.Value, own *pyvalue.Object) (tolerance, error) {
	all, ok := tolerances.(*pyvalue.Object)
	if !ok {
		return tolerance{}, pyvalue.TypeError("tolerances: want an object, found %s", pyvalue.KindOf(tolerances))
	}
	from := own
	if all.Has("type") && !own.Has("value") {
		from = all
	}
	return tolerance{
		kind:       getOrDefault(from, "type", pyvalue.String("absolute")),
		value:      getOrDefault(from, "value", pyvalue.NewInt(0)),
		lower:      from.Get("lower"),
		upper:      from.Get("upper"),
		fieldEntry: own,
	}, nil
}

// isAsymmetric reports whether the tolerance has a lower and an upper bound.
func (t tolerance) isAsymmetric() bool { return t.lower != nil && t.upper != nil }

// compare compares actual with expected and returns whether actual is within the
// tolerance. Values that are not numbers fail. An integer that is too large for a
// float64 is an error of kind overflow.
func (t tolerance) compare(actual, expected pyvalue.Value) (toleranceComparison, error) {
	j, err := t.compareByToleranceKind(actual, expected)
	if hasErrorKind(err, "type_error") {
		j = failedComparison()
		j.reason = err.Error()
		return j, nil
	}
	if err != nil {
		return toleranceComparison{}, err
	}
	return j, t.checkDistanceFitsFloat(j)
}

// compareByToleranceKind compares two numbers, actual and expected, by the kind of the
// tolerance, such as absolute or relative.
func (t tolerance) compareByToleranceKind(actual, expected pyvalue.Value) (toleranceComparison, error) {
	switch t.kind {
	case pyvalue.String("absolute"):
		if t.isAsymmetric() {
			return t.compareWithLowerAndUpper(actual, expected)
		}
		off, err := pyvalue.AbsDifference(actual, expected)
		if err != nil {
			return toleranceComparison{}, err
		}
		within, err := pyvalue.LessOrEqual(off, t.value)
		return toleranceComparison{isWithin: within, distance: off}, err
	case pyvalue.String("relative"):
		return t.compareRelative(actual, expected)
	case pyvalue.String("min"):
		return compareWithBound(actual, t.value, false)
	case pyvalue.String("max"):
		return compareWithBound(actual, t.value, true)
	default:
		j := failedComparison()
		j.reason = "no such type of tolerance"
		return j, nil
	}
}

// compareWithLowerAndUpper checks that expected - lower <= actual <= expected + upper.
func (t tolerance) compareWithLowerAndUpper(actual, expected pyvalue.Value) (toleranceComparison, error) {
	low, err := pyvalue.Subtract(expected, t.lower)
	if err != nil {
		return toleranceComparison{}, err
	}
	within, err := pyvalue.LessOrEqual(low, actual)
	if err != nil {
		return toleranceComparison{}, err
	}
	if within {
		high, err := pyvalue.Add(expected, t.upper)
		if err != nil {
			return toleranceComparison{}, err
		}
		if within, err = pyvalue.LessOrEqual(actual, high); err != nil {
			return toleranceComparison{}, err
		}
	}
	off, err := pyvalue.Subtract(actual, expected)
	return toleranceComparison{isWithin: within, distance: off}, err
}

// compareRelative checks that |actual - expected| / |expected| <= value. If expected is
// 0, the distance is infinite.
func (t tolerance) compareRelative(actual, expected pyvalue.Value) (toleranceComparison, error) {
	var off pyvalue.Value = pyvalue.Float(math.Inf(1))
	if !pyvalue.Equal(expected, pyvalue.NewInt(0)) {
		far, err := pyvalue.AbsDifference(actual, expected)
		if err != nil {
			return toleranceComparison{}, err
		}
		if off, err = pyvalue.Divide(far, pyvalue.Abs(expected)); err != nil {
			return toleranceComparison{}, err
		}
	}
	within, err := pyvalue.LessOrEqual(off, t.value)
	return toleranceComparison{isWithin: within, distance: off}, err
}

// compareWithBound checks that actual is at most bound if isMax is set, and otherwise
// at least bound. NaN fails.
func compareWithBound(actual, bound pyvalue.Value, isMax bool) (toleranceComparison, error) {
	small, large := bound, actual
	if isMax {
		small, large = actual, bound
	}
	within, err := pyvalue.LessOrEqual(small, large)
	if err != nil {
		return toleranceComparison{}, err
	}
	beyond, err := pyvalue.Less(large, small)
	if err != nil || !beyond {
		return toleranceComparison{isWithin: within, distance: pyvalue.NewInt(0)}, err
	}
	off, err := pyvalue.Subtract(small, large)
	return toleranceComparison{isWithin: within, distance: off}, err
}

// checkDistanceFitsFloat returns an error of kind overflow if the distance is an
// integer that is too large for a float64 and the reference implementation writes it
// with decimals: in its list of fields, unless the field's own entry has only bounds,
// and in its list of failures, unless the applied tolerance has only bounds.
func (t tolerance) checkDistanceFitsFloat(j toleranceComparison) error {
	listed := !isBoundsOnly(t.fieldEntry.Get("type"), t.fieldEntry.Get("lower"), t.fieldEntry.Get("upper"))
	failure := !j.isWithin && !isBoundsOnly(t.kind, t.lower, t.upper)
	if listed || failure {
		return checkFitsFloat(j.distance)
	}
	return nil
}

// isBoundsOnly reports whether a tolerance is described by its bounds, without a
// distance.
func isBoundsOnly(kind, lower, upper pyvalue.Value) bool {
	return kind == pyvalue.String("min") || kind == pyvalue.String("max") || lower != nil && upper != nil
}

// describe returns, for a message, what the tolerance requires of a field.
func (t tolerance) describe(expected pyvalue.Value) string {
	switch t.kind {
	case pyvalue.String("min"):
		return "expected at least " + formatValue(t.value)
	case pyvalue.String("max"):
		return "expected at most " + formatValue(t.value)
	case pyvalue.String("relative"):
		return fmt.Sprintf("expected %s within %s of it", formatValue(expected), t.formatDistance(t.value))
	case pyvalue.String("absolute"):
		if t.isAsymmetric() {
			return fmt.Sprintf("expected %s, at most %s below or %s above", formatValue(expected), formatValue(t.lower), formatValue(t.upper))
		}
		return fmt.Sprintf("expected %s within %s", formatValue(expected), formatValue(t.value))
	default:
		return fmt.Sprintf("expected %s, tolerance type %s", formatValue(expected), formatValue(t.kind))
	}
}

// describeMiss returns, for a message, by how much the tolerance is exceeded.
func (t tolerance) describeMiss(j toleranceComparison) string {
	if j.reason != "" {
		return j.reason
	}
	if f, ok := j.distance.(pyvalue.Float); ok && (math.IsNaN(float64(f)) || math.IsInf(float64(f), 0)) {
		return "no distance can be within that"
	}
	over, err := pyvalue.Subtract(j.distance, t.value)
	if err != nil || t.isAsymmetric() || t.kind == pyvalue.String("min") || t.kind == pyvalue.String("max") {
		return "off by " + t.formatDistance(j.distance)
	}
	return "off by " + t.formatDistance(j.distance) + ", which is " + t.formatDistance(over) + " too much"
}

// formatDistance returns a distance as text with six significant digits, a relative one
// in percent.
func (t tolerance) formatDistance(v pyvalue.Value) string {
	n, ok := pyvalue.AsNumber(v)
	f, err := n.Float()
	if t.kind != pyvalue.String("relative") || !ok || err != nil {
		return formatSixDigits(v)
	}
	return formatSixDigits(pyvalue.Float(f*100)) + " %"
}
