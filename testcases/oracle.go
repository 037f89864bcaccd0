package testcases

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// readOracle reads the solution and writes it in one form: {"cells": [source]}
// with an "answer" if it has one, or {"turns": [line]}. A bare list is cells when
// it holds strings, turns when it holds objects.
func readOracle(f *fields) json.RawMessage {
	o := &fields{prefix: "oracle."}
	switch v := f.get("oracle").(type) {
	case nil:
		return nil
	case pyvalue.List:
		o.object = pyvalue.NewObject(kindOfSteps(v), v)
	case *pyvalue.Object:
		o.object = v
	default:
		f.wrong("oracle", "an object or a list", v)
		return nil
	}
	o.onlyKeys("cells", "turns", "answer")
	name, want := "cells", "a string"
	if o.get("cells") == nil {
		name, want = "turns", "an object"
	}
	switch {
	case (o.get("cells") == nil) == (o.get("turns") == nil):
		o.fail("cells", "want either cells or turns")
	case name == "turns" && o.object.Has("answer"):
		o.fail("answer", "turns submit the answer themselves")
	}
	steps := o.list(name)
	if len(steps) == 0 && !o.object.Has("answer") && len(o.faults) == 0 {
		o.fail(name, "there is nothing to play: want at least one, or an answer")
	}
	for i, step := range steps {
		if !strings.HasSuffix(want, pyvalue.KindOf(step)) {
			o.wrong(fmt.Sprintf("%s[%d]", name, i), want, step)
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

func kindOfSteps(list pyvalue.List) string {
	if len(list) > 0 && pyvalue.KindOf(list[0]) == "object" {
		return "turns"
	}
	return "cells"
}
