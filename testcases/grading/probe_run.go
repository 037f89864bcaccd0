package grading

import (
	"context"
	_ "embed" // for the program that runs in the kernel
)

// probeProgram defines a function that takes the probes as JSON text and returns
// something whose repr is the findings.
//
//go:embed probe.py
var probeProgram string

// checkByProbes evaluates all probes in one execution.
func checkByProbes(ctx context.Context, probes []probe, kernel Kernel) (Result, error) {
	done, err := execute(ctx, kernel, probeCode(probes))
	if err != nil {
		return Result{}, err
	}
	findings, err := readFindings(done, len(probes))
	if err != nil {
		return Result{}, err
	}
	r := newReport("Kernel check")
	met := 0
	var notJSON *Error
	for i, p := range probes {
		text, ok := p.judge(findings[i])
		r.line(ok, text)
		if ok {
			met++
			continue
		}
		r.fail(text)
		if why := findings[i].Get("not_json"); why != nil && notJSON == nil {
			notJSON = &Error{Kind: "not_json", Text: p.expr + ": " + Text(why)}
		}
	}
	r.metrics.Set("probes", NewInt(int64(len(probes))))
	r.metrics.Set("probes_passed", NewInt(int64(met)))
	result := r.result(float64(met) / float64(len(probes)))
	result.Error = notJSON
	return result, nil
}

// probeCode is the program with the probes as its argument. They are JSON in a
// string literal, which Python reads as JSON does, so no expression can become
// code of the program.
func probeCode(probes []probe) string {
	request := List{}
	for _, p := range probes {
		wanted := NewObject("expr", String(p.expr))
		wanted.Set("len", Bool(p.asks("len")))
		wanted.Set("value", Bool(p.asks("value")))
		request = append(request, wanted)
	}
	literal := appendString(nil, string(appendJSON(nil, request)))
	return probeProgram + "__assay_probe__(" + string(literal) + ")\n"
}

// readFindings reads what the program found, an object per probe: type, len and
// value as asked for, or raised, or not_json, which say why not.
func readFindings(done Execution, n int) ([]*Object, error) {
	if done.Status != "ok" {
		return nil, &Error{Kind: "kernel", Text: "the probes did not run: " + done.Status + "\n" + done.Exception}
	}
	v, err := Decode(done.Result)
	list, ok := v.(List)
	if err != nil || !ok || len(list) != n {
		return nil, &Error{Kind: "kernel", Text: "no findings came back but " + show(String(done.Result))}
	}
	findings := make([]*Object, n)
	for i, item := range list {
		if findings[i], ok = item.(*Object); !ok {
			return nil, &Error{Kind: "kernel", Text: "a finding that came back is " + show(item)}
		}
	}
	return findings, nil
}
