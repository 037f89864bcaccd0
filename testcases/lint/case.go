package lint

import (
	"fmt"
	"slices"
	"strings"

	"assay/testcases"
	"assay/testcases/grading/pyvalue"
)

// caseChecker checks one case and collects its issues.
type caseChecker struct {
	*linter
	issueList

	object      *pyvalue.Object
	refusals    []string // see Result
	isAssayCase bool     // the rules of the public benchmarks for their fields do not apply
}

// checkCase returns the lint result of one case, with the issues in the order of the
// case's fields.
func (l *linter) checkCase(object *pyvalue.Object, source testcases.CaseLocation) FileResult {
	c := &caseChecker{linter: l, object: object, isAssayCase: hasAssayFields(object) || isTaskOnly(object)}
	c.checkRequiredFields()
	c.checkMetadata()
	c.checkDataNode()
	c.checkAnswerTemplate()
	c.checkGraders()
	c.checkHasGrader()
	c.checkAnswerFields()
	c.checkUnknownFields()
	read := c.checkLoadable(source)
	return FileResult{File: source.String(), Issues: c.issueList, Case: &read, Refusals: c.refusals}
}

// hasAssayFields reports whether a case has a field that only Assay's format has, not
// the public one.
func hasAssayFields(object *pyvalue.Object) bool {
	return slices.ContainsFunc(assayOnlyFieldNames(), object.Has)
}

// isTaskOnly reports whether a case has a task, perhaps with data, and nothing that grades it.
func isTaskOnly(object *pyvalue.Object) bool {
	for key := range object.All() {
		if !slices.Contains([]string{"id", "task", "data_node"}, key) {
			return false
		}
	}
	return object.Has("id") && object.Has("task")
}

// assayOnlyFieldNames returns the names of the case fields that only Assay's format has, not
// the public one.
func assayOnlyFieldNames() []string {
	return []string{"oracle", "requires", "files", "setup", "limits", "kernel", "network", "tags"}
}

// checkRequiredFields checks that a case has id, task and metadata, and that their
// kinds are right.
func (c *caseChecker) checkRequiredFields() {
	if id := c.object.Get("id"); id == nil {
		c.addIssue("E001", "", "id is missing: give the case a name of its own")
	} else if text, ok := id.(pyvalue.String); !ok || isBlank(string(text)) {
		c.addIssue("E002", "", "id: want a text that is not blank, found %s", describeValue(id))
	}
	if task := c.object.Get("task"); task == nil {
		c.addIssue("E003", "", "task is missing: say what the agent has to do")
	} else if text, ok := task.(pyvalue.String); !ok || isBlank(string(text)) {
		c.addIssue("E004", "", "task: want a text that is not blank, found %s", describeValue(task))
	}
	metadata := c.object.Get("metadata")
	_, isObject := metadata.(*pyvalue.Object)
	switch {
	case c.isAssayCase || isObject:
	case metadata == nil:
		c.addIssue("E005", "", "metadata is missing: want an object with task, kit, time_horizon and eval_type, or a field of Assay's own, such as tags")
	default:
		c.addIssue("E006", "", "metadata: want an object, found %s", describeValue(metadata))
	}
}

// checkHasGrader adds a warning if a case has only a task.
func (c *caseChecker) checkHasGrader() {
	if isTaskOnly(c.object) {
		c.addIssue("W101", "", "there is no grader: attempts at this case are ungraded")
	}
}

// checkUnknownFields adds warnings for members of the case that no harness reads.
func (c *caseChecker) checkUnknownFields() {
	known := append([]string{"id", "task", "data_node", "grader", "graders", "notes", "metadata", "canary"}, assayOnlyFieldNames()...)
	timeouts := []string{"timeout", "agent_timeout", "download_timeout"}
	for key := range c.object.All() {
		switch {
		case slices.Contains(known, key):
		case slices.Contains(timeouts, key):
			c.addIssue("W020", key, "a run reads it, other linters do not know it")
		default:
			c.addIssue("W020", key, "a case has no such field: it is ignored").addRenameFix(key, known, c.object)
		}
	}
	metadata, _ := c.object.Get("metadata").(*pyvalue.Object)
	c.checkUnknownMembers("W021", "metadata", metadata, []string{"task", "kit", "time_horizon", "eval_type", "timeout_s"})
	for _, entry := range c.graderObjects() {
		c.checkUnknownMembers("W022", entry.path, entry.object, []string{"type", "config"})
	}
}

// checkUnknownMembers adds an issue with this code for each member of object whose name
// is not in known. path is the location of object in the case.
func (c *caseChecker) checkUnknownMembers(code, path string, object *pyvalue.Object, known []string) {
	for key := range object.All() {
		if !slices.Contains(known, key) {
			c.addIssue(code, path+"."+key, "there is no such field: it is ignored").addRenameFix(key, known, object)
		}
	}
}

// checkLoadable adds an issue for each field that a run would refuse and that no other
// check has reported. In a case of the public format it adds a refusal instead, since
// that format's own linter does not check it.
func (c *caseChecker) checkLoadable(source testcases.CaseLocation) testcases.Case {
	read, faults := testcases.NewCaseFromObject(c.object, source, c.data)
	for _, f := range faults {
		switch code := c.issueCodeOfFault(f); {
		case code == "":
		case c.isAssayCase:
			c.addIssue(code, f.Field, "%s", f.Text)
		default:
			c.refusals = append(c.refusals, f.Error())
		}
	}
	if c.isAssayCase && len(faults) == 0 {
		c.addMissingDataRefusals(read)
	}
	return read
}

// addMissingDataRefusals adds a refusal for each local data file that does not exist.
// The file may exist on the machine that runs the case.
func (c *caseChecker) addMissingDataRefusals(read testcases.Case) {
	for _, d := range read.Data {
		if d.Path == "" {
			continue
		}
		if err := d.CheckExists(); err != nil {
			c.refusals = append(c.refusals, fmt.Sprintf("data %s: %v", d.Name, err))
		}
	}
}

// issueCodeOfFault returns the issue code for a field error, or "" if another check has
// reported the error.
func (c *caseChecker) issueCodeOfFault(f testcases.FieldError) string {
	field, _, _ := strings.Cut(strings.ReplaceAll(f.Field, "[", "."), ".")
	if field == "metadata" && !c.isAssayCase || field == "data_node" && f.WrongKind {
		return ""
	}
	return map[string]string{
		"metadata": "E100", "notes": "E100", "timeout": "E100", "agent_timeout": "E100", "download_timeout": "E100",
		"data_node": "E101", "files": "E102", "setup": "E103", "requires": "E104", "limits": "E105",
		"kernel": "E106", "tags": "E107", "oracle": "E108", "network": "E112",
	}[field]
}

// describeValue returns v for a message: a short text, number or word as JSON, and
// otherwise the kind of the value.
func describeValue(v pyvalue.Value) string {
	const most = 60
	switch v.(type) {
	case pyvalue.List, *pyvalue.Object:
		return pyvalue.KindOf(v)
	}
	text := toJSON(v)
	if len(text) > most {
		return fmt.Sprintf("%s of %d characters", pyvalue.KindOf(v), len(text))
	}
	return text
}
