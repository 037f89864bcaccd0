package grading

import (
	"cmp"
	"context"
	_ "embed" // for the program that runs in the kernel
	"fmt"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// probeDemandNames lists the names of the demands that a probe can have, for messages.
const probeDemandNames = "equals, approx, type, len, contains"

// probe is an expression that a kernel_check evaluates, with demands on its value.
type probe struct {
	expr    string
	demands []probeDemand
}

// probeDemand is one demand on what the kernel reports about a probe's value.
type probeDemand struct {
	aspect string // what it is about: "value", "type" or "len"
	text   string // description of what is expected
	isMet  func(found pyvalue.Value) bool
}

// parseProbes returns the probes of a kernel_check config, at least one. A probe has an
// expression and at least one demand; all its demands must be met. A malformed probe is
// an error.
func parseProbes(config *pyvalue.Object) ([]probe, error) {
	list, ok := config.Get("probes").(pyvalue.List)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("probes: want a list of at least one, found %s", formatValue(config.Get("probes")))
	}
	probes := make([]probe, len(list))
	for i, item := range list {
		p, err := parseProbe(item)
		if err != nil {
			return nil, fmt.Errorf("probes[%d]: %w", i, err)
		}
		probes[i] = p
	}
	return probes, nil
}

// parseProbe parses one probe of a kernel_check: its expression and its demands. A
// malformed one is an error.
func parseProbe(v pyvalue.Value) (probe, error) {
	o, ok := v.(*pyvalue.Object)
	if !ok {
		return probe{}, fmt.Errorf("want an object, found %s", pyvalue.KindOf(v))
	}
	expr, ok := o.Get("expr").(pyvalue.String)
	if !ok || o.Len() < 2 {
		return probe{}, fmt.Errorf("want a string expr and at least one of %s", probeDemandNames)
	}
	p := probe{expr: string(expr)}
	for key, v := range o.All() {
		if key == "expr" {
			continue
		}
		d, err := parseDemand(key, v)
		if err != nil {
			return probe{}, fmt.Errorf("%s: %w", key, err)
		}
		p.demands = append(p.demands, d)
	}
	return p, nil
}

// parseDemand parses one demand of a probe. An unknown name or a value of the wrong
// kind is an error.
func parseDemand(key string, want pyvalue.Value) (probeDemand, error) {
	switch key {
	case "equals":
		return probeDemand{"value", formatValue(want), func(found pyvalue.Value) bool { return pyvalue.EqualJSON(found, want) }}, nil
	case "approx":
		return approxDemand(want)
	case "contains":
		return probeDemand{"value", "something that contains " + formatValue(want), func(found pyvalue.Value) bool { return isContainedInFound(found, want) }}, nil
	case "type":
		if pyvalue.KindOf(want) != "string" {
			return probeDemand{}, fmt.Errorf("want a string, found %s", formatValue(want))
		}
		return probeDemand{"type", "type " + pyvalue.Str(want), func(found pyvalue.Value) bool { return pyvalue.EqualJSON(found, want) }}, nil
	case "len":
		if pyvalue.KindOf(want) != "integer" {
			return probeDemand{}, fmt.Errorf("want an integer, found %s", formatValue(want))
		}
		return probeDemand{"len", "len " + pyvalue.Str(want), func(found pyvalue.Value) bool { return pyvalue.EqualJSON(found, want) }}, nil
	default:
		return probeDemand{}, fmt.Errorf("no such demand; known are %s", probeDemandNames)
	}
}

// approxDemand returns the demand that |found - value| <= max(abs, rel * |value|).
func approxDemand(want pyvalue.Value) (probeDemand, error) {
	bad := fmt.Errorf("want {value, abs, rel}, all numbers and only the first needed, found %s", formatValue(want))
	o, ok := want.(*pyvalue.Object)
	if !ok || !o.Has("value") {
		return probeDemand{}, bad
	}
	value, margins := o.Get("value"), map[string]pyvalue.Value{"abs": pyvalue.NewInt(0), "rel": pyvalue.NewInt(0)}
	for key, v := range o.All() {
		if margins[key] != nil {
			margins[key] = v
		} else if key != "value" {
			return probeDemand{}, bad
		}
		if !isNumber(v) {
			return probeDemand{}, bad
		}
	}
	text := fmt.Sprintf("%s within %s or a relative %s", formatValue(value), formatValue(margins["abs"]), formatValue(margins["rel"]))
	return probeDemand{"value", text, func(found pyvalue.Value) bool { return isWithinMargin(found, value, margins["abs"], margins["rel"]) }}, nil
}

// isWithinMargin reports whether found is a number within the absolute or the relative
// margin around value.
func isWithinMargin(found, value, absolute, relative pyvalue.Value) bool {
	if !isNumber(found) {
		return false
	}
	off, err := pyvalue.AbsDifference(found, value)
	if err != nil {
		return false // the distance is too large for a float
	}
	if within, _ := pyvalue.LessOrEqual(off, absolute); within {
		return true
	}
	margin, err := pyvalue.Multiply(relative, pyvalue.Abs(value))
	if err != nil {
		return false
	}
	within, _ := pyvalue.LessOrEqual(off, margin)
	return within
}

// isContainedInFound reports whether found contains want: as an item of a list, a key of an
// object or a part of a string.
func isContainedInFound(found, want pyvalue.Value) bool {
	if list, ok := found.(pyvalue.List); ok {
		for _, item := range list {
			if pyvalue.EqualJSON(item, want) {
				return true
			}
		}
		return false
	}
	there, err := pythonContains(found, want)
	return err == nil && there
}

// checkFinding reports whether the kernel's finding meets all demands of the probe.
// text names the expression and, if a demand is not met, what was expected and found.
func (p probe) checkFinding(finding *pyvalue.Object) (text string, ok bool) {
	ok = true
	var expected, found []string
	for _, d := range p.demands {
		seen := finding.Get(d.aspect)
		if seen != nil && d.isMet(seen) {
			continue
		}
		ok = false
		expected = append(expected, d.text)
		found = append(found, p.describeFinding(finding, d.aspect))
	}
	if ok {
		return p.expr + ": as expected", true
	}
	return fmt.Sprintf("%s: expected %s, found %s", p.expr, strings.Join(expected, " and "), strings.Join(found, " and ")), false
}

// describeFinding describes, for a message, what the kernel found about one aspect of a
// probe's value: its type, length or value.
func (p probe) describeFinding(finding *pyvalue.Object, aspect string) string {
	if why := finding.Get("raised"); why != nil {
		return "that it raises " + pyvalue.Str(why)
	}
	if why := finding.Get("not_json"); why != nil {
		return "no JSON: " + pyvalue.Str(why)
	}
	if aspect == "value" {
		return formatValue(finding.Get(aspect))
	}
	return aspect + " " + pyvalue.Str(finding.Get(aspect))
}

// needsAspect reports whether one of the probe's demands is about this aspect: type,
// len or value.
func (p probe) needsAspect(aspect string) bool {
	for _, d := range p.demands {
		if d.aspect == aspect {
			return true
		}
	}
	return false
}

// probeProgram is a Python program that defines a function which evaluates an
// expression and returns an object whose repr is what it found, as JSON.
//
//go:embed probe.py
var probeProgram string

// gradeByProbes evaluates each probe of a kernel_check in a separate execution and
// returns the result. A probe with too large a value then fails alone, and so does one for which
// whyNotData gives a reason.
func gradeByProbes(ctx context.Context, probes []probe, kernel Kernel, whyNotData func(expr string) string) (Result, error) {
	r := newGraderReport("Kernel check")
	met := 0
	var firstError *pyvalue.Error
	for _, p := range probes {
		if why := whyNotData(p.expr); why != "" {
			r.addLine(false, p.expr+": "+why)
			r.addFailure(p.expr + ": " + why)
			firstError = cmp.Or(firstError, &pyvalue.Error{Kind: "not_data", Text: p.expr + ": " + why})
			continue
		}
		finding, err := evaluateProbe(ctx, p, kernel)
		if err != nil {
			return Result{}, err
		}
		text, ok := p.checkFinding(finding)
		r.addLine(ok, text)
		if ok {
			met++
			continue
		}
		r.addFailure(text)
		if why := finding.Get("not_json"); why != nil {
			firstError = cmp.Or(firstError, &pyvalue.Error{Kind: "not_json", Text: p.expr + ": " + pyvalue.Str(why)})
		}
	}
	r.metrics.Set("probes", pyvalue.NewInt(int64(len(probes))))
	r.metrics.Set("probes_passed", pyvalue.NewInt(int64(met)))
	result := r.result(float64(met) / float64(len(probes)))
	result.Error = firstError
	return result, nil
}

// evaluateProbe evaluates a probe's expression in the kernel. The finding has those of
// type, len and value that the probe's demands need, or raised or not_json with the
// reason.
func evaluateProbe(ctx context.Context, p probe, kernel Kernel) (*pyvalue.Object, error) {
	done, err := executeInKernel(ctx, kernel, probeCode(p))
	if err != nil {
		return nil, err
	}
	if done.Status != "ok" {
		return nil, &pyvalue.Error{Kind: "probe", Text: fmt.Sprintf("the probe %s did not run: %s\n%s", p.expr, done.Status, strings.TrimSpace(done.Exception))}
	}
	v, err := pyvalue.Decode(done.Result)
	finding, ok := v.(*pyvalue.Object)
	if err != nil || !ok {
		return nil, &pyvalue.Error{Kind: "probe", Text: fmt.Sprintf("the probe %s brought nothing but %s", p.expr, formatValue(pyvalue.String(done.Result)))}
	}
	return finding, nil
}

// probeCode returns the Python code that evaluates a probe: probeProgram and a call.
// The expression is passed as a JSON string, which Python reads the same way, so that
// it cannot inject code into the program.
func probeCode(p probe) string {
	return fmt.Sprintf("%s__assay_probe__(%s, %s, %s)\n", probeProgram,
		pyvalue.AppendJSON(nil, pyvalue.String(p.expr)), pyvalue.Repr(pyvalue.Bool(p.needsAspect("len"))), pyvalue.Repr(pyvalue.Bool(p.needsAspect("value"))))
}
