package lint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// graderObject is a grader of a case: an entry of grader or graders that is an object,
// with its location.
type graderObject struct {
	path   string // "grader", "graders[1]"
	object *pyvalue.Object
}

// graderObjects returns those entries of a case's members grader and graders that are
// objects.
func (c *caseChecker) graderObjects() []graderObject {
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

// checkGraders checks the members grader and graders of a case. Issues about the choice
// between both come after those of grader; if there are some, the entries of graders
// are not checked.
func (c *caseChecker) checkGraders() {
	entries := c.graderObjects()
	one, isObject := c.object.Get("grader").(*pyvalue.Object)
	if isObject {
		c.checkGrader(graderObject{"grader", one})
		entries = entries[1:]
	} else if v := c.object.Get("grader"); !isAbsent(v) {
		c.addIssue("E030", "grader", "want an object {type, config}, found %s", describeValue(v))
	}
	if c.checkGraderChoice() {
		for _, entry := range entries {
			c.checkGrader(entry)
		}
	}
}

// checkGraderChoice checks that a case has either grader or, as graders, a list of at
// least one object. A grader that is not an object is reported here again. It reports
// whether there were no issues.
func (c *caseChecker) checkGraderChoice() (ok bool) {
	before := len(c.issueList)
	one, several := c.object.Get("grader"), c.object.Get("graders")
	_, isObject := one.(*pyvalue.Object)
	if !isAbsent(one) && !isObject {
		c.addIssue("E030", "grader", "so there is nothing to grade by")
	}
	list, isList := several.(pyvalue.List)
	if !isAbsent(several) && !isList {
		c.addIssue("E039", "graders", "want a list of objects {type, config}, found %s", describeValue(several))
	}
	for i, item := range list {
		if _, ok := item.(*pyvalue.Object); !ok {
			c.addIssue("E039", "graders", "item %d: want an object {type, config}, found %s", i, describeValue(item))
		}
	}
	switch {
	case len(c.issueList) > before || isAbsent(several):
	case !isAbsent(one):
		c.addIssue("E038", "graders", "there is a grader too: put all of them into graders")
	case len(list) == 0:
		c.addIssue("E039", "graders", "the list is empty: leave graders out if nothing is to be graded")
	}
	return len(c.issueList) == before
}

// graderChecker checks one grader of a known type and adds the issues of its config.
type graderChecker struct {
	*caseChecker
	path   string
	kind   string
	spec   graderSpec
	config *pyvalue.Object
}

// checkGrader checks the type and the config of one grader and adds the issues.
func (c *caseChecker) checkGrader(entry graderObject) {
	kind, config := entry.object.Get("type"), entry.object.Get("config")
	name, _ := kind.(pyvalue.String)
	spec, known := c.specs[string(name)]
	object, isObject := config.(*pyvalue.Object)
	switch {
	case isAbsent(kind):
		c.addIssue("E031", entry.path+".type", "missing: want one of %s", strings.Join(c.knownTypeNames(), ", "))
	case !known && !c.isOlderType(string(name)):
		c.addUnknownTypeIssue(entry.path+".type", kind)
	case isAbsent(config):
		c.addIssue("E033", entry.path+".config", "missing: want an object")
	case !isObject:
		c.addIssue("E034", entry.path+".config", "want an object, found %s", describeValue(config))
	case known:
		g := &graderChecker{caseChecker: c, path: entry.path, kind: string(name), spec: spec, config: object}
		g.checkConfig()
	}
}

// isOlderType reports whether a grader type belongs to the older set, whose graders
// work only in Assay, and the case has fields of Assay.
func (c *caseChecker) isOlderType(kind string) bool {
	_, known := c.specs[kind]
	return c.isAssayCase && !known && slices.Contains(grading.GraderTypeNames(), kind)
}

// knownTypeNames returns the names of the grader types that lint knows, sorted.
func (c *caseChecker) knownTypeNames() []string { return slices.Sorted(maps.Keys(c.specs)) }

// addUnknownTypeIssue adds the issue for a grader type that lint does not know, with a
// fix if a known one is similar.
func (c *caseChecker) addUnknownTypeIssue(at string, kind pyvalue.Value) {
	name, _ := kind.(pyvalue.String)
	if slices.Contains(grading.GraderTypeNames(), string(name)) {
		c.addIssue("E032", at, "%s is a type of the older set only: it still grades here, and nowhere else", name)
		return
	}
	c.addIssue("E032", at, "%s is not a grader type: want one of %s", describeValue(kind), strings.Join(c.knownTypeNames(), ", ")).
		addCorrectionFix("type", kind, c.knownTypeNames())
}

// configLocation returns the location of a key of the grader's config in the case, for
// an issue.
func (g *graderChecker) configLocation(key string) string { return g.path + ".config." + key }

// checkConfig runs all checks of a grader's config.
func (g *graderChecker) checkConfig() {
	if g.spec.isAssayType {
		g.checkUnreadKeys()
		g.checkAssayConfig()
		return
	}
	g.checkRequiredKeys()
	g.checkTolerances()
	g.checkRanges()
	g.checkUnreadKeys()
	g.checkConfigKinds()
	g.checkFieldTolerances()
	g.checkNegativeTolerances()
	g.checkThresholds()
	g.warnUnlikelyConfig()
}

// checkRequiredKeys adds an issue for each missing key that the grader needs in its
// config.
func (g *graderChecker) checkRequiredKeys() {
	for _, key := range g.spec.required {
		switch {
		case g.config.Has(key):
		case key == "answer_field":
			g.addIssue("E037", g.configLocation(key), "missing: name the field of the answer that holds the genes")
		default:
			g.addIssue("E035", g.configLocation(key), "missing: %s needs it", g.kind)
		}
	}
	if g.kind == "multiple_choice" && !g.config.Has("correct_answer") && !g.config.Has("correct_answers") {
		g.addIssue("E036", g.path+".config", "want correct_answer, or correct_answers for several")
	}
	switch g.config.Get("answer_field").(type) {
	case pyvalue.List, *pyvalue.Object:
		if slices.Contains(g.readConfigKeys(), "answer_field") {
			g.addIssue("E037", g.configLocation("answer_field"), "want the name of a field of the answer, found %s", describeValue(g.config.Get("answer_field")))
		}
	}
}

// readConfigKeys returns all keys of the config that the grader reads.
func (g *graderChecker) readConfigKeys() []string {
	return slices.Concat(g.spec.required, g.spec.optional)
}

// checkUnreadKeys adds warnings for keys of the config that the grader does not read.
func (g *graderChecker) checkUnreadKeys() {
	for key := range g.config.All() {
		if !slices.Contains(g.readConfigKeys(), key) {
			g.addIssue("W030", g.configLocation(key), "%s does not read it: it is ignored", g.kind).addRenameFix(key, g.readConfigKeys(), g.config)
		}
	}
}

// checkAssayConfig adds an issue if a grader type of Assay's own rejects its config.
func (g *graderChecker) checkAssayConfig() {
	if g.config.Get("live") == pyvalue.Bool(true) {
		switch g.kind {
		case "kernel_check":
			g.addIssue("W088", g.configLocation("live"), "the check runs in the agent's kernel, whose code can mislead it; without live it runs on copies of the values")
		case "notebook_check":
			g.addIssue("W088", g.configLocation("live"), "no_errors believes what the agent's kernel reported, which the agent's code can forge; without live the notebook is run again")
		}
	}
	if g.kind == "kernel_check" {
		g.warnLooseComparisons("code", g.config.Get("code"))
		if probes, isList := g.config.Get("probes").(pyvalue.List); isList {
			for i, probe := range probes {
				if object, isObject := probe.(*pyvalue.Object); isObject {
					g.warnLooseComparisons(fmt.Sprintf("probes[%d].expr", i), object.Get("expr"))
				}
			}
		}
	}
	spec := grading.Spec{Type: g.kind, Config: g.config, Field: g.path}
	kernel, _ := g.object.Get("kernel").(pyvalue.String)
	err := cmp.Or(grading.CheckSpec(spec), grading.CheckKernel(spec, string(kernel)))
	if err == nil {
		return
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the field, which is the location
	}
	g.addIssue("E109", g.path+".config", "%v", err)
}

// comparesAll matches a comparison of all values that is true of none: of an empty array or list, or of what zip has not
// paired. checksSize matches what would notice that.
var (
	comparesAll = regexp.MustCompile(`\ball\(|\ballclose\(|\bnot\b.*\bany\(|\bzip\(`)
	checksSize  = regexp.MustCompile(`\.(shape|size|assert_\w+)\b|\blen\(|array_equal|\bstrict ?= ?True`)
)

// refusesByComparison matches a check that fails where a comparison holds, which none does of NaN, and one that adds up
// differences.
var refusesByComparison = regexp.MustCompile(`\bassert not\b[^#\n]*[<>]|\bif\b[^#\n]*[<>][^#\n]*:\s*(raise|assert False|return False)\b|` +
	`\babs\b.*\.(sum|max|mean)\(\)|\b(sum|max|mean)\(.*\babs\(|\*\* ?2\)\.(sum|max|mean)\(`) // pandas leaves NaN out of a sum

// checksNaN matches what would notice a NaN.
var checksNaN = regexp.MustCompile(`(?i)isnan|isfinite|isna|isnull|notna|notnull`)

// warnLooseComparisons adds warnings for code that compares all values of an array, and not how many there are, and for code that
// says by comparisons what must not hold.
func (g *graderChecker) warnLooseComparisons(key string, code pyvalue.Value) {
	text, isText := code.(pyvalue.String)
	if !isText {
		return
	}
	if comparesAll.MatchString(string(text)) && !checksSize.MatchString(string(text)) {
		g.addIssue("W089", g.configLocation(key), "it is true of an empty array or list: compare the whole shape or length, too, or use numpy.array_equal or zip(..., strict=True)")
	}
	if refusesByComparison.MatchString(string(text)) && !checksNaN.MatchString(string(text)) {
		g.addIssue("W090", g.configLocation(key), "NaN can pass: a comparison with it is false, and sum, max and mean of pandas leave it out: assert what must hold, of each value, or that there is none (isna)")
	}
}

// graderAnswerFields lists the fields of the answer that one grader reads.
type graderAnswerFields struct {
	path        string
	isAssayType bool
	fields      []answerField
	wholeAnswer bool // it reads all of the answer
}

// answerFieldsOfGraders returns, for each grader of a known type, which fields of the
// answer it reads.
func (c *caseChecker) answerFieldsOfGraders() []graderAnswerFields {
	var read []graderAnswerFields
	for _, entry := range c.graderObjects() {
		name, _ := entry.object.Get("type").(pyvalue.String)
		spec, known := c.specs[string(name)]
		if c.isOlderType(string(name)) {
			read = append(read, graderAnswerFields{path: entry.path, isAssayType: true, wholeAnswer: true})
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
		r := graderAnswerFields{path: entry.path, isAssayType: spec.isAssayType}
		r.fields, r.wholeAnswer = spec.answer(object)
		read = append(read, r)
	}
	return read
}
