package grading

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"assay/testcases/grading/pyvalue"
)

// gradeRegex passes if the pattern matches somewhere in the answer, or in the field of
// it that answer_field names. A value that is not a text is searched as [pyvalue.Str]
// writes it. Patterns are those of Go (RE2): ^ and $ match at the ends of the text
// unless (?m) is set, and there are no backreferences.
//
// Metrics: pattern, and match, the first matching text or null.
func gradeRegex(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	pattern, err := readRegexConfig(config)
	if err != nil {
		return Result{}, pyvalue.ValueError("%v", err)
	}
	name, part, err := partOfAnswerToGrade(config, answer)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Regex")
	if part == nil {
		r.addFailure(name + ": missing from the answer, expected a match of " + formatValue(pyvalue.String(pattern.String())))
		return r.binaryResult(), nil
	}
	text := pyvalue.Str(part)
	if err := checkGraderSteps("pattern and text", regexStepsPerByte(pattern), len(text)/16); err != nil {
		return Result{}, err
	}
	found := pattern.FindStringIndex(text)
	r.metrics.Set("pattern", pyvalue.String(pattern.String()))
	r.metrics.Set("match", pyvalue.Null{})
	if found == nil {
		failure := fmt.Sprintf("%s: no match of %s in %s", name, formatValue(pyvalue.String(pattern.String())), formatValue(pyvalue.String(text)))
		r.addLine(false, failure)
		r.addFailure(failure)
		return r.binaryResult(), nil
	}
	match := pyvalue.String(text[found[0]:found[1]])
	r.metrics.Set("match", match)
	r.addLine(true, fmt.Sprintf("%s: %s matches %s", name, formatValue(match), formatValue(pyvalue.String(pattern.String()))))
	return r.binaryResult(), nil
}

// regexStepsPerByte returns an upper limit for the number of steps that a search with
// the regular expression takes per byte of text.
func regexStepsPerByte(pattern *regexp.Regexp) int {
	parsed, err := syntax.Parse(pattern.String(), syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// checkRegexConfig returns an error if the config of a regex grader is malformed.
func checkRegexConfig(config *pyvalue.Object) error {
	_, err := readRegexConfig(config)
	return err
}

// readRegexConfig returns the compiled pattern of a regex grader. A pattern that is not
// a string or does not compile is an error.
func readRegexConfig(config *pyvalue.Object) (*regexp.Regexp, error) {
	text, ok := config.Get("pattern").(pyvalue.String)
	if !ok {
		return nil, fmt.Errorf("pattern: want a string, found %s", pyvalue.KindOf(config.Get("pattern")))
	}
	pattern, err := regexp.Compile(string(text))
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return pattern, checkAnswerField(config)
}
