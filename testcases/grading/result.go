package grading

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// Result is the verdict of one grader.
type Result struct {
	Type        string          `json:"type"`
	Spec        string          `json:"spec,omitempty"` // of [GradeAll]: [Spec.Digest], by which the grader is known again
	Passed      bool            `json:"passed"`
	Score       float64         `json:"score"` // 0 to 1
	Reasoning   string          `json:"reasoning"`
	Metrics     *pyvalue.Object `json:"metrics"`                // never nil
	FieldScores *pyvalue.Object `json:"field_scores,omitempty"` // field to 1.0 or 0.0; nil where a grader has no fields
	Error       *pyvalue.Error  `json:"error"`                  // why it could not be graded, nil if it could
}

func isKind(err error, kind string) bool {
	e, ok := errors.AsType[*pyvalue.Error](err)
	return ok && e.Kind == kind
}

// failed is the result of a grader that could not come to a verdict.
func failed(err error) Result {
	e, ok := errors.AsType[*pyvalue.Error](err)
	if !ok {
		e = &pyvalue.Error{Kind: "value_error", Text: err.Error()}
	}
	return Result{Reasoning: "could not be graded: " + e.Text, Metrics: &pyvalue.Object{}, Error: e}
}

// report builds a result: a title, a line for each thing that was looked at,
// marked + or x, and what is wrong. It has passed while nothing is.
type report struct {
	title    string
	lines    []string
	failures []string
	metrics  *pyvalue.Object
}

func newReport(title string) *report { return &report{title: title, metrics: &pyvalue.Object{}} }

func (r *report) line(ok bool, text string) {
	mark := "x "
	if ok {
		mark = "+ "
	}
	r.lines = append(r.lines, mark+text)
}

func (r *report) fail(text string) { r.failures = append(r.failures, text) }

func (r *report) passed() bool { return len(r.failures) == 0 }

func (r *report) result(score float64) Result {
	verdict := "PASS"
	if !r.passed() {
		verdict = "FAIL"
	}
	text := append([]string{r.title + ": " + verdict, ""}, r.lines...)
	if !r.passed() {
		if len(r.lines) > 0 {
			text = append(text, "")
		}
		text = append(text, "Failures:")
		for _, failure := range r.failures {
			text = append(text, "- "+failure)
		}
	}
	return Result{Passed: r.passed(), Score: score, Reasoning: strings.TrimRight(strings.Join(text, "\n"), "\n"), Metrics: r.metrics}
}

// verdict is result with the score that follows from having passed.
func (r *report) verdict() Result {
	if r.passed() {
		return r.result(1)
	}
	return r.result(0)
}

// without is the result of an answer that lacks fields.
func (r *report) without(answer pyvalue.Value, fields ...string) Result {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = strconv.Quote(field)
	}
	r.fail("the answer has no field " + strings.Join(names, ", ") + "; it is " + show(answer))
	return r.verdict()
}

// show is v as Python writes it, cut to a length that fits a line.
func show(v pyvalue.Value) string {
	const most = 200
	text := pyvalue.Runes(pyvalue.Repr(v))
	if len(text) <= most {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d characters)", string(text[:most]), len(text))
}
