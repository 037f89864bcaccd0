package grading

import (
	"context"
	_ "embed" // for the program that runs in the kernel
	"fmt"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// demandNames lists what a probe can demand, for messages.
const demandNames = "equals, approx, type, len, contains"

// probe is an expression and what must be true of its value.
type probe struct {
	expr    string
	demands []demand
}

// demand is one thing that must be true, of what the kernel says about a value.
type demand struct {
	about string // "value", "type" or "len"
	text  string // what is expected
	met   func(found pyvalue.Value) bool
}

// probesOf reads the probes of a config. A probe has an expression and at least
// one demand; several must all be met.
func probesOf(config *pyvalue.Object) ([]probe, error) {
	list, ok := config.Get("probes").(pyvalue.List)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("probes: want a list of at least one, found %s", show(config.Get("probes")))
	}
	probes := make([]probe, len(list))
	for i, item := range list {
		p, err := probeOf(item)
		if err != nil {
			return nil, fmt.Errorf("probes[%d]: %w", i, err)
		}
		probes[i] = p
	}
	return probes, nil
}

func probeOf(v pyvalue.Value) (probe, error) {
	o, ok := v.(*pyvalue.Object)
	if !ok {
		return probe{}, fmt.Errorf("want an object, found %s", pyvalue.KindOf(v))
	}
	expr, ok := o.Get("expr").(pyvalue.String)
	if !ok || o.Len() < 2 {
		return probe{}, fmt.Errorf("want a string expr and at least one of %s", demandNames)
	}
	p := probe{expr: string(expr)}
	for key, v := range o.All() {
		if key == "expr" {
			continue
		}
		d, err := demandOf(key, v)
		if err != nil {
			return probe{}, fmt.Errorf("%s: %w", key, err)
		}
		p.demands = append(p.demands, d)
	}
	return p, nil
}

func demandOf(key string, want pyvalue.Value) (demand, error) {
	switch key {
	case "equals":
		return demand{"value", show(want), func(found pyvalue.Value) bool { return pyvalue.SameJSON(found, want) }}, nil
	case "approx":
		return approx(want)
	case "contains":
		return demand{"value", "something that contains " + show(want), func(found pyvalue.Value) bool { return holds(found, want) }}, nil
	case "type":
		if pyvalue.KindOf(want) != "string" {
			return demand{}, fmt.Errorf("want a string, found %s", show(want))
		}
		return demand{"type", "type " + pyvalue.Text(want), func(found pyvalue.Value) bool { return pyvalue.SameJSON(found, want) }}, nil
	case "len":
		if pyvalue.KindOf(want) != "integer" {
			return demand{}, fmt.Errorf("want an integer, found %s", show(want))
		}
		return demand{"len", "len " + pyvalue.Text(want), func(found pyvalue.Value) bool { return pyvalue.SameJSON(found, want) }}, nil
	default:
		return demand{}, fmt.Errorf("no such demand; known are %s", demandNames)
	}
}

// approx wants |found - value| <= max(abs, rel * |value|).
func approx(want pyvalue.Value) (demand, error) {
	bad := fmt.Errorf("want {value, abs, rel}, all numbers and only the first needed, found %s", show(want))
	o, ok := want.(*pyvalue.Object)
	if !ok || !o.Has("value") {
		return demand{}, bad
	}
	value, margins := o.Get("value"), map[string]pyvalue.Value{"abs": pyvalue.NewInt(0), "rel": pyvalue.NewInt(0)}
	for key, v := range o.All() {
		if margins[key] != nil {
			margins[key] = v
		} else if key != "value" {
			return demand{}, bad
		}
		if !isNumber(v) {
			return demand{}, bad
		}
	}
	text := fmt.Sprintf("%s within %s or a relative %s", show(value), show(margins["abs"]), show(margins["rel"]))
	return demand{"value", text, func(found pyvalue.Value) bool { return near(found, value, margins["abs"], margins["rel"]) }}, nil
}

func near(found, value, absolute, relative pyvalue.Value) bool {
	if !isNumber(found) {
		return false
	}
	off, err := pyvalue.Distance(found, value)
	if err != nil {
		return false // too large for a float, so far from one
	}
	if within, _ := pyvalue.AtMost(off, absolute); within {
		return true
	}
	margin, err := pyvalue.Multiply(relative, pyvalue.Abs(value))
	if err != nil {
		return false
	}
	within, _ := pyvalue.AtMost(off, margin)
	return within
}

// holds says whether found has want as a member, a key or a part.
func holds(found, want pyvalue.Value) bool {
	if list, ok := found.(pyvalue.List); ok {
		for _, item := range list {
			if pyvalue.SameJSON(item, want) {
				return true
			}
		}
		return false
	}
	there, err := contains(found, want)
	return err == nil && there
}

// judge says whether a finding meets all demands, in a text that names the
// expression, what was expected and what was found.
func (p probe) judge(finding *pyvalue.Object) (text string, ok bool) {
	ok = true
	var expected, found []string
	for _, d := range p.demands {
		seen := finding.Get(d.about)
		if seen != nil && d.met(seen) {
			continue
		}
		ok = false
		expected = append(expected, d.text)
		found = append(found, p.seen(finding, d.about))
	}
	if ok {
		return p.expr + ": as expected", true
	}
	return fmt.Sprintf("%s: expected %s, found %s", p.expr, strings.Join(expected, " and "), strings.Join(found, " and ")), false
}

func (p probe) seen(finding *pyvalue.Object, about string) string {
	if why := finding.Get("raised"); why != nil {
		return "that it raises " + pyvalue.Text(why)
	}
	if why := finding.Get("not_json"); why != nil {
		return "no JSON: " + pyvalue.Text(why)
	}
	if about == "value" {
		return show(finding.Get(about))
	}
	return about + " " + pyvalue.Text(finding.Get(about))
}

func (p probe) asks(about string) bool {
	for _, d := range p.demands {
		if d.about == about {
			return true
		}
	}
	return false
}

// probeProgram defines a function that evaluates an expression and returns
// something whose repr is what it found, as JSON.
//
//go:embed probe.py
var probeProgram string

// checkByProbes evaluates all probes, each in an execution of its own, so that
// one that is too large fails alone.
func checkByProbes(ctx context.Context, probes []probe, kernel Kernel) (Result, error) {
	r := newReport("Kernel check")
	met := 0
	var notJSON *pyvalue.Error
	for _, p := range probes {
		finding, err := look(ctx, p, kernel)
		if err != nil {
			return Result{}, err
		}
		text, ok := p.judge(finding)
		r.line(ok, text)
		if ok {
			met++
			continue
		}
		r.fail(text)
		if why := finding.Get("not_json"); why != nil && notJSON == nil {
			notJSON = &pyvalue.Error{Kind: "not_json", Text: p.expr + ": " + pyvalue.Text(why)}
		}
	}
	r.metrics.Set("probes", pyvalue.NewInt(int64(len(probes))))
	r.metrics.Set("probes_passed", pyvalue.NewInt(int64(met)))
	result := r.result(float64(met) / float64(len(probes)))
	result.Error = notJSON
	return result, nil
}

// look evaluates a probe. What it found has type, len and value, as far as they
// were asked for; or raised, or not_json, which say why not.
func look(ctx context.Context, p probe, kernel Kernel) (*pyvalue.Object, error) {
	done, err := execute(ctx, kernel, probeCode(p))
	if err != nil {
		return nil, err
	}
	if done.Status != "ok" {
		return nil, &pyvalue.Error{Kind: "kernel", Text: fmt.Sprintf("the probe %s did not run: %s\n%s", p.expr, done.Status, strings.TrimSpace(done.Exception))}
	}
	v, err := pyvalue.Decode(done.Result)
	finding, ok := v.(*pyvalue.Object)
	if err != nil || !ok {
		return nil, &pyvalue.Error{Kind: "kernel", Text: fmt.Sprintf("the probe %s brought nothing but %s", p.expr, show(pyvalue.String(done.Result)))}
	}
	return finding, nil
}

// probeCode is the program, called with a probe. The expression is JSON text,
// which Python reads as JSON does, so that it cannot become code of the program.
func probeCode(p probe) string {
	return fmt.Sprintf("%s__assay_probe__(%s, %s, %s)\n", probeProgram,
		pyvalue.AppendJSON(nil, pyvalue.String(p.expr)), pyvalue.Repr(pyvalue.Bool(p.asks("len"))), pyvalue.Repr(pyvalue.Bool(p.asks("value"))))
}
