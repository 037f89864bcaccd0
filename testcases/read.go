package testcases

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// newCaseFromValue converts a JSON value to a case. Its errors name the place and the
// case.
func newCaseFromValue(v pyvalue.Value, source CaseLocation, data map[string]string) (Case, error) {
	object, ok := v.(*pyvalue.Object)
	if !ok {
		return Case{}, fmt.Errorf("%s: want a case, which is an object, found %s", source, pyvalue.KindOf(v))
	}
	c, faults := NewCaseFromObject(object, source, data)
	var errs []error
	for _, fault := range faults {
		err := fmt.Errorf("%s: case %q: %w", source, c.ID, fault)
		if fault.LoadsAnyway {
			c.runErrors = append(c.runErrors, err)
		} else {
			errs = append(errs, err)
		}
	}
	return c, errors.Join(errs...)
}

// NewCaseFromObject converts a JSON object to a case and returns everything that is
// wrong with its fields. data is that of [Options].
func NewCaseFromObject(object *pyvalue.Object, source CaseLocation, data map[string]string) (Case, []FieldError) {
	f := &fieldReader{object: object}
	c := Case{
		ID:     f.getRequiredText("id"),
		Task:   f.getRequiredText("task"),
		Notes:  f.getText("notes"),
		Source: source,

		Kernel:   f.getText("kernel"),
		Network:  readNetwork(f),
		Requires: readRequires(f),
		Tags:     f.getStringList("tags"),
		Metadata: f.getObject("metadata"),
		Limits:   readLimits(f),
		Timeouts: readTimeouts(f),

		Data:  readDataNode(f, source.File, data),
		Files: readInlineFiles(f),
		Setup: f.getText("setup"),

		Graders: readGraders(f),
		Oracle:  readOracle(f),
	}
	checkFileNameConflicts(f, c.Files)
	return c, f.faults
}

// readTimeouts reads the time limits of the public format from the case's fields. That
// format does not say what metadata contains, so a metadata.timeout_s that is not a
// whole number is ignored.
func readTimeouts(f *fieldReader) Timeouts {
	timeouts := Timeouts{Agent: f.getTimeout("agent_timeout"), Timeout: f.getTimeout("timeout")}
	f.getTimeout("download_timeout") // nothing is downloaded, but the value is checked
	metadata, _ := f.getMember("metadata").(*pyvalue.Object)
	if n, ok := parseWholeNumber(metadata.Get("timeout_s")); ok {
		timeouts.Metadata = secondsToDuration(n)
	}
	return timeouts
}

// readLimits reads the case's member limits: the limits of an attempt. Wrong values are
// recorded as errors.
func readLimits(f *fieldReader) AttemptLimits {
	l := &fieldReader{object: f.getObject("limits"), prefix: "limits."}
	l.rejectUnknownKeys("wall_s", "idle_s", "cell_s", "turns", "actions", "tokens", "cost_usd")
	limits := AttemptLimits{
		Wall:    l.getDuration("wall_s"),
		Idle:    l.getDuration("idle_s"),
		Cell:    l.getDuration("cell_s"),
		Turns:   int(l.getPositiveInteger("turns")),
		Actions: int(l.getPositiveInteger("actions")),
		Tokens:  l.getPositiveInteger("tokens"),
		CostUSD: l.getPositiveNumber("cost_usd"),
	}
	f.faults = append(f.faults, l.faults...)
	return limits
}

// readGraders reads the graders in the case's members grader and graders, in this
// order. It checks only that the entries are objects: CheckRunnable checks the rest.
func readGraders(f *fieldReader) []grading.Spec {
	var specs []grading.Spec
	if one := f.getObject("grader"); one != nil {
		specs = append(specs, newGraderSpec(one, "grader"))
	}
	several := f.getMember("graders")
	list, ok := several.(pyvalue.List)
	if several != nil && !ok {
		f.addFaultOfRunOnly("graders", "want a list, found %s", pyvalue.KindOf(several))
	}
	for i, item := range list {
		name := fmt.Sprintf("graders[%d]", i)
		object, ok := item.(*pyvalue.Object)
		if !ok {
			f.addFaultOfRunOnly(name, "want an object, found %s", pyvalue.KindOf(item))
			continue
		}
		specs = append(specs, newGraderSpec(object, name))
	}
	return specs
}

// newGraderSpec converts a grader object in this field of a case to a grading.Spec.
func newGraderSpec(o *pyvalue.Object, field string) grading.Spec {
	kind, _ := o.Get("type").(pyvalue.String)
	return grading.Spec{Type: string(kind), Config: o.Get("config"), Field: field}
}

// readNetwork reads the case's member network, and records an error for an unknown value.
func readNetwork(f *fieldReader) string {
	network := f.getText("network")
	if !slices.Contains([]string{"", "on", "loopback", "off"}, network) {
		f.addFault("network", "want on, loopback or off, found %q", network)
	}
	return network
}

// readRequires reads the case's requirements on the machine, such as "python:numpy",
// and records an error for each malformed one.
func readRequires(f *fieldReader) []string {
	requires := f.getStringList("requires")
	for i, r := range requires {
		kind, name, _ := strings.Cut(r, ":")
		if name == "" || kind != "python" && kind != "command" && kind != "kernel" {
			f.addFault(fmt.Sprintf("requires[%d]", i), "want python:MODULE, command:NAME or kernel:NAME, found %q", r)
		}
	}
	return requires
}

// readOracle reads the case's oracle, a known solution, and returns it in one form:
// {"cells": [source]}, with "answer" if it has one, or {"turns": [line]}. A bare list
// becomes cells if it has strings, and turns if it has objects.
func readOracle(f *fieldReader) json.RawMessage {
	o := &fieldReader{prefix: "oracle."}
	switch v := f.getMember("oracle").(type) {
	case nil:
		return nil
	case pyvalue.List:
		o.object = pyvalue.NewObject(bareOracleKind(v), v)
	case *pyvalue.Object:
		o.object = v
	default:
		f.addWrongKindFault("oracle", "an object or a list", v)
		return nil
	}
	o.rejectUnknownKeys("cells", "turns", "answer")
	name, want := "cells", "a string"
	if o.getMember("cells") == nil {
		name, want = "turns", "an object"
	}
	switch {
	case (o.getMember("cells") == nil) == (o.getMember("turns") == nil):
		o.addFault("cells", "want either cells or turns")
	case name == "turns" && o.object.Has("answer"):
		o.addFault("answer", "turns submit the answer themselves")
	}
	steps := o.getList(name)
	if len(steps) == 0 && !o.object.Has("answer") && len(o.faults) == 0 {
		o.addFault(name, "there is nothing to play: want at least one, or an answer")
	}
	for i, step := range steps {
		if !strings.HasSuffix(want, pyvalue.KindOf(step)) {
			o.addWrongKindFault(fmt.Sprintf("%s[%d]", name, i), want, step)
		}
	}
	f.faults = append(f.faults, o.faults...)
	oracle := pyvalue.NewObject(name, steps)
	if answer := o.object.Get("answer"); answer != nil {
		oracle.Set("answer", answer)
	}
	text, _ := oracle.MarshalJSON()
	return text
}

// bareOracleKind returns what a bare list as an oracle stands for: "turns" if its first
// item is an object, otherwise "cells".
func bareOracleKind(list pyvalue.List) string {
	if len(list) > 0 && pyvalue.KindOf(list[0]) == "object" {
		return "turns"
	}
	return "cells"
}
