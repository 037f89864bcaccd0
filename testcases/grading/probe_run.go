package grading

import (
	"context"
	_ "embed" // for the program that runs in the kernel
	"fmt"
	"strings"

	"assay/testcases/grading/pyvalue"
)

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
