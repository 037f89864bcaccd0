package grading

import (
	"strconv"

	"assay/testcases/grading/pyvalue"
)

// readNumber converts a string that is a number to a float, and a boolean to 0 or 1.
// Values of other kinds are returned unchanged; the later comparison rejects them. ok
// is false for a string that is not a number, which is returned unchanged too.
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

// floatValue returns a number as a float64. A boolean is a type error, and an integer
// that is too large an error of kind overflow.
func floatValue(v pyvalue.Value) (float64, error) {
	n, ok := pyvalue.AsNumber(v)
	if !ok || isOfType[pyvalue.Bool](v) {
		return 0, pyvalue.TypeError("want a number, found %s", formatValue(v))
	}
	return n.Float()
}

// isNumber reports whether v is a number. A boolean is not a number.
func isNumber(v pyvalue.Value) bool {
	_, isBool := v.(pyvalue.Bool)
	_, ok := pyvalue.AsNumber(v)
	return ok && !isBool
}

// checkFitsFloat returns an error if a value is not a number or does not fit a float64.
// The reference implementation writes these values with a fixed number of decimals,
// which fails in these cases.
func checkFitsFloat(values ...pyvalue.Value) error {
	for _, v := range values {
		n, ok := pyvalue.AsNumber(v)
		if !ok {
			return newNotNumberError(v)
		}
		if _, err := n.Float(); err != nil {
			return err
		}
	}
	return nil
}

// newNotNumberError returns the error for a value that should be a number: a value
// error for a string, and a type error for any other kind.
func newNotNumberError(v pyvalue.Value) error {
	if _, ok := v.(pyvalue.String); ok {
		return pyvalue.ValueError("want a number, found %s", formatValue(v))
	}
	return pyvalue.TypeError("want a number, found %s", pyvalue.KindOf(v))
}

// formatSixDigits returns a number as text with six significant digits.
func formatSixDigits(v pyvalue.Value) string {
	n, ok := pyvalue.AsNumber(v)
	if f, err := n.Float(); ok && err == nil {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return formatValue(v)
}

// ratioOrZero returns n / m, or 0 if m is 0.
func ratioOrZero(n, m int) pyvalue.Float {
	if m == 0 {
		return 0
	}
	return pyvalue.Float(float64(n) / float64(m))
}
