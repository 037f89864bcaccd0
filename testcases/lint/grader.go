package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// graderObject is an entry of grader or graders that is an object.
type graderObject struct {
	path   string // "grader", "graders[1]"
	object *pyvalue.Object
}

// graderObjects returns the entries of grader and graders that are objects.
func (c *caseCheck) graderObjects() []graderObject {
	var found []graderObject
	if object, ok := c.object.Get("grader").(*pyvalue.Object); ok {
		found = append(found, graderObject{"grader", object})
	}
	list, _ := c.object.Get("graders").(pyvalue.List)
	for i, item := range list {
		if object, ok := item.(*pyvalue.Object); ok {
			found = append(found, graderObject{fmt.Sprintf("graders[%d]", i), object})
		}
	}
	return found
}

// checkGraders checks grader and graders. Faults in the choice between both come after
// those of grader; if there are some, the entries of graders are not checked.
func (c *caseCheck) checkGraders() {
	entries := c.graderObjects()
	one, isObject := c.object.Get("grader").(*pyvalue.Object)
	if isObject {
		c.checkGrader(graderObject{"grader", one})
		entries = entries[1:]
	} else if v := c.object.Get("grader"); !isAbsent(v) {
		c.add("E030", "grader", "want an object {type, config}, found %s", showValue(v))
	}
	if c.checkGraderChoice() {
		for _, entry := range entries {
			c.checkGrader(entry)
		}
	}
}

// checkGraderChoice checks that there is either grader or a list of at least one
// object. A grader that is no object is reported here again. It reports whether there
// were no issues.
func (c *caseCheck) checkGraderChoice() (ok bool) {
	before := len(c.issues)
	one, several := c.object.Get("grader"), c.object.Get("graders")
	_, isObject := one.(*pyvalue.Object)
	if !isAbsent(one) && !isObject {
		c.add("E030", "grader", "so there is nothing to grade by")
	}
	list, isList := several.(pyvalue.List)
	if !isAbsent(several) && !isList {
		c.add("E039", "graders", "want a list of objects {type, config}, found %s", showValue(several))
	}
	for i, item := range list {
		if _, ok := item.(*pyvalue.Object); !ok {
			c.add("E039", "graders", "item %d: want an object {type, config}, found %s", i, showValue(item))
		}
	}
	switch {
	case len(c.issues) > before || isAbsent(several):
	case !isAbsent(one):
		c.add("E038", "graders", "there is a grader too: put all of them into graders")
	case len(list) == 0:
		c.add("E039", "graders", "the list is empty: leave graders out if nothing is to be graded")
	}
	return len(c.issues) == before
}

// graderCheck checks one grader of a known type.
type graderCheck struct {
	*caseCheck
	path   string
	kind   string
	spec   graderSpec
	config *pyvalue.Object
}

// checkGrader checks type and config of one grader.
func (c *caseCheck) checkGrader(entry graderObject) {
	kind, config := entry.object.Get("type"), entry.object.Get("config")
	name, _ := kind.(pyvalue.String)
	spec, known := c.specs[string(name)]
	object, isObject := config.(*pyvalue.Object)
	switch {
	case isAbsent(kind):
		c.add("E031", entry.path+".type", "missing: want one of %s", strings.Join(c.typeNames(), ", "))
	case !known && !c.isOlderType(string(name)):
		c.addUnknownType(entry.path+".type", kind)
	case isAbsent(config):
		c.add("E033", entry.path+".config", "missing: want an object")
	case !isObject:
		c.add("E034", entry.path+".config", "want an object, found %s", showValue(config))
	case known:
		g := &graderCheck{caseCheck: c, path: entry.path, kind: string(name), spec: spec, config: object}
		g.checkConfig()
	}
}

// isOlderType reports whether a type belongs to the older set, whose graders work in
// Assay only, and the case has fields of Assay.
func (c *caseCheck) isOlderType(kind string) bool {
	_, known := c.specs[kind]
	return c.hasAssayFields && !known && slices.Contains(grading.Types(), kind)
}

// typeNames returns the types of graders that lint knows, sorted.
func (c *caseCheck) typeNames() []string { return slices.Sorted(maps.Keys(c.specs)) }

// addUnknownType adds the issue for a type that lint does not know.
func (c *caseCheck) addUnknownType(at string, kind pyvalue.Value) {
	name, _ := kind.(pyvalue.String)
	if slices.Contains(grading.Types(), string(name)) {
		c.add("E032", at, "%s is a type of the older set only: it still grades here, and nowhere else", name)
		return
	}
	c.add("E032", at, "%s is no type of a grader: want one of %s", showValue(kind), strings.Join(c.typeNames(), ", ")).
		correct("type", kind, c.typeNames())
}

// location returns the location of a key of the config.
func (g *graderCheck) location(key string) string { return g.path + ".config." + key }

// checkConfig makes all checks of a config.
func (g *graderCheck) checkConfig() {
	if g.spec.isAssayType {
		g.checkUnreadKeys()
		g.checkAssayConfig()
		return
	}
	g.checkRequiredKeys()
	g.checkTolerances()
	g.checkRanges()
	g.checkUnreadKeys()
	g.checkKinds()
	g.checkFieldTolerances()
	g.checkNegativeTolerances()
	g.checkThresholds()
	g.warnUnlikelyConfig()
}

// checkRequiredKeys checks that the config has the keys that the grader needs.
func (g *graderCheck) checkRequiredKeys() {
	for _, key := range g.spec.required {
		switch {
		case g.config.Has(key):
		case key == "answer_field":
			g.add("E037", g.location(key), "missing: name the field of the answer that holds the genes")
		default:
			g.add("E035", g.location(key), "missing: %s needs it", g.kind)
		}
	}
	if g.kind == "multiple_choice" && !g.config.Has("correct_answer") && !g.config.Has("correct_answers") {
		g.add("E036", g.path+".config", "want correct_answer, or correct_answers for several")
	}
	switch g.config.Get("answer_field").(type) {
	case pyvalue.List, *pyvalue.Object:
		if slices.Contains(g.keys(), "answer_field") {
			g.add("E037", g.location("answer_field"), "want the name of a field of the answer, found %s", showValue(g.config.Get("answer_field")))
		}
	}
}

// keys returns all keys of the config that the grader reads.
func (g *graderCheck) keys() []string { return slices.Concat(g.spec.required, g.spec.optional) }

// checkUnreadKeys adds warnings for keys that the grader does not read.
func (g *graderCheck) checkUnreadKeys() {
	for key := range g.config.All() {
		if !slices.Contains(g.keys(), key) {
			g.add("W030", g.location(key), "%s does not read it: it is ignored", g.kind).rename(key, g.keys(), g.config)
		}
	}
}

// checkAssayConfig adds what a grader of Assay says about its config.
func (g *graderCheck) checkAssayConfig() {
	err := grading.Check(grading.Spec{Type: g.kind, Config: g.config, Field: g.path})
	if err == nil {
		return
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the field, which is the location
	}
	g.add("E109", g.path+".config", "%v", err)
}

// answerReads is what one grader reads of the answer.
type answerReads struct {
	path        string
	isAssayType bool
	fields      []answerField
	wholeAnswer bool // it reads all of the answer
}

// answerReads returns what each grader of a known type reads of the answer.
func (c *caseCheck) answerReads() []answerReads {
	var read []answerReads
	for _, entry := range c.graderObjects() {
		name, _ := entry.object.Get("type").(pyvalue.String)
		spec, known := c.specs[string(name)]
		if c.isOlderType(string(name)) {
			read = append(read, answerReads{path: entry.path, isAssayType: true, wholeAnswer: true})
			continue
		}
		config := entry.object.Get("config")
		if config == nil {
			config = &pyvalue.Object{}
		}
		object, isObject := config.(*pyvalue.Object)
		if !known || !isObject || spec.answer == nil {
			continue
		}
		r := answerReads{path: entry.path, isAssayType: spec.isAssayType}
		r.fields, r.wholeAnswer = spec.answer(object)
		read = append(read, r)
	}
	return read
}
