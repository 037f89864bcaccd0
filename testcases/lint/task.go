package lint

import (
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

const (
	openTag  = "<EVAL_ANSWER>"
	closeTag = "</EVAL_ANSWER>"
)

// getTaskText returns the text of the case's task, or "" if it is absent. It returns
// false for a task that is not a text, which another check reports.
func (c *caseChecker) getTaskText() (text string, ok bool) {
	task := c.object.Get("task")
	s, isText := task.(pyvalue.String)
	return string(s), isText || task == nil
}

// checkAnswerTemplate adds an issue if the task does not show the form of the answer
// between <EVAL_ANSWER> tags, or does not say "Return exactly" or "Respond exactly" in front
// of it; neither is asked of a case with fields that only Assay knows. It also adds one if
// the template of a multiple choice shows a choice. It does not check a task that is no text.
func (c *caseChecker) checkAnswerTemplate() {
	task, ok := c.getTaskText()
	if !ok {
		return
	}
	if !strings.Contains(task, openTag) || !strings.Contains(task, closeTag) {
		c.addMissingTemplateIssue(task)
		return
	}
	lower := strings.ToLower(task)
	if !c.isAssayCase && !strings.Contains(lower, "return exactly") && !strings.Contains(lower, "respond exactly") {
		c.addIssue("W012", "", `the task shows a template of the answer: say "Return exactly" in front of it`)
	}
	c.checkChoicePlaceholder(task)
}

// addMissingTemplateIssue adds the issue for a task without a complete answer template.
func (c *caseChecker) addMissingTemplateIssue(task string) {
	switch {
	case c.isAssayCase:
	case !strings.Contains(task, openTag):
		c.addIssue("W010", "", "the task does not show the form of the answer: end it with %s{…}%s", openTag, closeTag)
	default:
		c.addIssue("W011", "", "the task has %s and no %s: nothing would be found between them", openTag, closeTag)
	}
}

// checkChoicePlaceholder checks that the answer template of a multiple choice shows
// <letter> and not one of the choices.
func (c *caseChecker) checkChoicePlaceholder(task string) {
	isChoice := func(g graderObject) bool { return g.object.Get("type") == pyvalue.String("multiple_choice") }
	shows := c.choicePattern.FindStringSubmatch(task)
	if shows == nil || shows[1] == "<letter>" || !slices.ContainsFunc(c.graderObjects(), isChoice) {
		return
	}
	c.addIssue("W013", "task", "the template shows %q as the answer of a multiple choice: show <letter>", shows[1]).
		addReplacementFix("answer", pyvalue.String(shows[1]), pyvalue.String("<letter>"))
}

// checkAnswerFields adds an issue for each field that a grader reads but the task's
// answer template does not show, and a warning for each field that is shown but not
// read. It also checks for fields that two graders read.
func (c *caseChecker) checkAnswerFields() {
	task, ok := c.getTaskText()
	if !ok {
		return
	}
	read := c.answerFieldsOfGraders()
	c.checkFieldsReadTwice(read)
	var expected []answerField
	whole := false
	for _, r := range read {
		expected = append(expected, r.fields...)
		whole = whole || r.wholeAnswer
	}
	template := c.templateFields(task)
	if len(expected) == 0 || len(template) == 0 {
		return
	}
	var names []string
	for i, field := range expected {
		if !field.isNotText {
			names = append(names, field.name)
		}
		isShown := !field.isNotText && slices.Contains(template, field.name)
		if !isShown && !slices.Contains(expected[:i], field) {
			c.addIssue("E050", "task", "a grader reads %q, which the template of the answer does not show", field.name)
		}
	}
	for _, name := range template {
		if !whole && !slices.Contains(names, name) {
			c.addIssue("W031", "task", "no grader reads %q, which the template of the answer shows", name)
		}
	}
}

// checkFieldsReadTwice adds an issue if two graders of the public format read the same
// field of the answer. Assay's own graders may share a field.
func (c *caseChecker) checkFieldsReadTwice(read []graderAnswerFields) {
	owners := map[answerField]string{}
	reported := map[answerField]bool{}
	for _, r := range read {
		for _, field := range r.fields {
			earlier, taken := owners[field]
			switch {
			case r.isAssayType:
			case !taken:
				owners[field] = r.path
			case !reported[field]:
				reported[field] = true
				c.addIssue("E051", "graders", "%s and %s both read %q: each field belongs to one grader", earlier, r.path, field.name)
			}
		}
	}
}

// templateFields returns the fields of the first answer template without nested braces,
// each once, or nil if there is no such template.
func (c *caseChecker) templateFields(task string) []string {
	template := c.templatePattern.FindStringSubmatch(task)
	if template == nil {
		return nil
	}
	var names []string
	for _, match := range c.fieldPattern.FindAllStringSubmatch(template[1], -1) {
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}
