package lint

import (
	"fmt"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// checkTolerances checks the tolerances in the config of a grader of any type.
func (g *graderChecker) checkTolerances() {
	v := g.config.Get("tolerances")
	if isAbsent(v) {
		return
	}
	object, ok := v.(*pyvalue.Object)
	if !ok {
		g.addIssue("E040", g.configLocation("tolerances"), "want an object from fields to tolerances, found %s", describeValue(v))
		return
	}
	for field, entry := range object.All() {
		at := g.configLocation("tolerances." + field)
		if tolerance, ok := entry.(*pyvalue.Object); ok {
			g.checkTolerance(at, tolerance)
		} else {
			g.addIssue("E041", at, `want an object such as {"type": "absolute", "value": 1}, found %s`, describeValue(entry))
		}
	}
}

// checkTolerance checks one tolerance, which is at this location in the case.
func (g *graderChecker) checkTolerance(at string, t *pyvalue.Object) {
	known := []string{"absolute", "relative", "min", "max"}
	kind := t.Get("type")
	name, _ := kind.(pyvalue.String)
	isKnown := slices.Contains(known, string(name))
	switch {
	case isAbsent(kind):
		g.addIssue("E042", at+".type", "missing: want one of %s", strings.Join(known, ", "))
	case name == "range":
		g.addIssue("E043", at+".type", "only the older set had it, and no answer would pass: use absolute with lower and upper")
	case !isKnown:
		g.addIssue("E043", at+".type", "%s is not a tolerance type, so no answer would pass: want one of %s", describeValue(kind), strings.Join(known, ", ")).
			addCorrectionFix("type", kind, known)
	}
	if !t.Has("value") && !t.Has("lower") && !t.Has("upper") {
		text := "want a value, or lower and upper"
		if name == "min" || name == "max" {
			text = "want a value: only the older set took the ground truth for it"
		}
		g.addIssue("E044", at, "%s", text)
	} else if (name == "min" || name == "max") && !t.Has("value") {
		g.addIssue("W087", at+".value", "missing: as %s it is the bound of the answer, and 0 without it", name)
	}
	for _, part := range []struct{ key, code string }{{"value", "E045"}, {"lower", "E046"}, {"upper", "E047"}} {
		if v := t.Get(part.key); v != nil && !isPythonNumber(v) {
			g.addIssue(part.code, at+"."+part.key, "want a number, found %s", describeValue(v))
		}
	}
}

// checkFieldTolerances adds a warning for each field of the ground truth without its
// own tolerance, because the answer must then meet the value exactly unless there is
// one tolerance for all fields.
func (g *graderChecker) checkFieldTolerances() {
	truth, hasTruth := g.config.Get("ground_truth").(*pyvalue.Object)
	tolerances, isObject := g.config.Get("tolerances").(*pyvalue.Object)
	if g.kind != "numeric_tolerance" || !hasTruth || !isObject && g.config.Has("tolerances") {
		return
	}
	for field := range truth.All() {
		if !tolerances.Has(field) {
			g.addIssue("W070", g.configLocation("ground_truth."+field), "no tolerance for this field: unless there is one for all fields, the number must match exactly")
		}
	}
}

// checkNegativeTolerances adds an issue for each tolerance below 0.
func (g *graderChecker) checkNegativeTolerances() {
	tolerances, _ := g.config.Get("tolerances").(*pyvalue.Object)
	for field, entry := range tolerances.All() {
		tolerance, _ := entry.(*pyvalue.Object)
		for _, key := range []string{"value", "lower", "upper"} {
			if v := tolerance.Get(key); isValueLess(v, pyvalue.NewInt(0)) {
				g.addIssue("E080", g.configLocation("tolerances."+field+"."+key), "want 0 or more, found %s", describeValue(v))
			}
		}
	}
}

// checkRanges checks the ranges in the config of a grader of any type. Everything that
// is wrong is one issue.
func (g *graderChecker) checkRanges() {
	v := g.config.Get("ranges")
	if isAbsent(v) {
		return
	}
	ranges, ok := v.(*pyvalue.Object)
	if !ok {
		g.addIssue("E083", g.configLocation("ranges"), "want an object from fields to {min, max}, found %s", describeValue(v))
		return
	}
	var wrong []string
	for field, entry := range ranges.All() {
		if _, _, problem := rangeBounds(entry); problem != "" {
			wrong = append(wrong, field+": "+problem)
		}
	}
	truth, _ := g.config.Get("ground_truth").(*pyvalue.Object)
	for field, expected := range truth.All() {
		if problem := groundTruthRangeProblem(expected, ranges.Get(field)); problem != "" {
			wrong = append(wrong, field+": "+problem)
		}
	}
	if wrong != nil {
		g.addIssue("E083", g.configLocation("ranges"), "%s", strings.Join(wrong, "; "))
	}
}

// rangeBounds returns min and max of a range, or describes what is wrong with the
// range.
func rangeBounds(entry pyvalue.Value) (lowest, highest pyvalue.Value, problem string) {
	object, ok := entry.(*pyvalue.Object)
	if !ok {
		return nil, nil, "want an object {min, max}, found " + describeValue(entry)
	}
	for _, key := range []string{"min", "max"} {
		switch v := object.Get(key); {
		case v == nil:
			return nil, nil, key + " is missing"
		case !isPythonNumber(v):
			return nil, nil, fmt.Sprintf("%s: want a number, found %s", key, describeValue(v))
		}
	}
	lowest, highest = object.Get("min"), object.Get("max")
	if isEmpty, _ := pyvalue.LessOrEqual(highest, lowest); isEmpty { // false with NaN
		return nil, nil, fmt.Sprintf("min %s is not below max %s", describeValue(lowest), describeValue(highest))
	}
	return lowest, highest, ""
}

// groundTruthRangeProblem describes why a ground truth does not fit its range, or returns "" if it
// does or if the range itself is malformed.
func groundTruthRangeProblem(expected, entry pyvalue.Value) string {
	switch {
	case entry == nil:
		return "it has no range"
	case !isPythonNumber(expected):
		return "the ground truth is not a number but " + describeValue(expected)
	}
	lowest, highest, problem := rangeBounds(entry)
	if problem == "" && (!isValueLess(lowest, expected) || !isValueLess(expected, highest)) {
		return fmt.Sprintf("the ground truth %s is not strictly inside the range", describeValue(expected))
	}
	return ""
}
