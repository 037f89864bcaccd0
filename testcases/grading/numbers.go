package grading

import (
	"strconv"

	"assay/testcases/grading/pyvalue"
)

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

// floatValue is a number as a float. A boolean is none, and an integer may be too
// large.
func floatValue(v pyvalue.Value) (float64, error) {
	n, ok := pyvalue.AsNumber(v)
	if !ok || hasType[pyvalue.Bool](v) {
		return 0, pyvalue.TypeError("want a number, found %s", showValue(v))
	}
	return n.Float()
}

// isNumber says whether v is a number, which a boolean is not here.
func isNumber(v pyvalue.Value) bool {
	_, isBool := v.(pyvalue.Bool)
	_, ok := pyvalue.AsNumber(v)
	return ok && !isBool
}

// checkFitsFloat says that the values can be written with a fixed number of decimals,
// which the harness whose verdicts we share does with them: a number that fits a
// double can.
func checkFitsFloat(values ...pyvalue.Value) error {
	for _, v := range values {
		n, ok := pyvalue.AsNumber(v)
		if !ok {
			return notNumberError(v)
		}
		if _, err := n.Float(); err != nil {
			return err
		}
	}
	return nil
}

func notNumberError(v pyvalue.Value) error {
	if _, ok := v.(pyvalue.String); ok {
		return pyvalue.ValueError("want a number, found %s", showValue(v))
	}
	return pyvalue.TypeError("want a number, found %s", pyvalue.KindOf(v))
}

// formatBrief writes a number with six digits.
func formatBrief(v pyvalue.Value) string {
	n, ok := pyvalue.AsNumber(v)
	if f, err := n.Float(); ok && err == nil {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return showValue(v)
}

// ratio is n / m, 0 when m is 0.
func ratio(n, m int) pyvalue.Float {
	if m == 0 {
		return 0
	}
	return pyvalue.Float(float64(n) / float64(m))
}
