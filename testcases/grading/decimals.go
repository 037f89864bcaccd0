package grading

import "assay/testcases/grading/pyvalue"

// decimals says that the values can be written with a fixed number of decimals,
// which the harness whose verdicts we share does with them: a number that fits a
// double can.
func decimals(values ...pyvalue.Value) error {
	for _, v := range values {
		n, ok := pyvalue.AsNumber(v)
		if !ok {
			return noDecimals(v)
		}
		if _, err := n.Float(); err != nil {
			return err
		}
	}
	return nil
}

func noDecimals(v pyvalue.Value) error {
	if _, ok := v.(pyvalue.String); ok {
		return pyvalue.ValueError("want a number, found %s", show(v))
	}
	return pyvalue.TypeError("want a number, found %s", pyvalue.KindOf(v))
}
