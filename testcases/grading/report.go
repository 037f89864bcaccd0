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

func hasErrorKind(err error, kind string) bool {
	e, ok := errors.AsType[*pyvalue.Error](err)
	return ok && e.Kind == kind
}

// failedResult is the result of a grader that could not come to a verdict.
func failedResult(err error) Result {
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

func (r *report) addLine(ok bool, text string) {
	mark := "x "
	if ok {
		mark = "+ "
	}
	r.lines = append(r.lines, mark+text)
}

func (r *report) addFailure(text string) { r.failures = append(r.failures, text) }

func (r *report) hasPassed() bool { return len(r.failures) == 0 }

func (r *report) result(score float64) Result {
	verdict := "PASS"
	if !r.hasPassed() {
		verdict = "FAIL"
	}
	text := append([]string{r.title + ": " + verdict, ""}, r.lines...)
	if !r.hasPassed() {
		if len(r.lines) > 0 {
			text = append(text, "")
		}
		text = append(text, "Failures:")
		for _, failure := range r.failures {
			text = append(text, "- "+failure)
		}
	}
	return Result{Passed: r.hasPassed(), Score: score, Reasoning: strings.TrimRight(strings.Join(text, "\n"), "\n"), Metrics: r.metrics}
}

// binaryResult is result with the score that follows from having passed.
func (r *report) binaryResult() Result {
	if r.hasPassed() {
		return r.result(1)
	}
	return r.result(0)
}

// missingFieldsResult is the result of an answer that lacks fields.
func (r *report) missingFieldsResult(answer pyvalue.Value, fields ...string) Result {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = strconv.Quote(field)
	}
	r.addFailure("the answer has no field " + strings.Join(names, ", ") + "; it is " + showValue(answer))
	return r.binaryResult()
}

// showValue is v as Python writes it, cut to a length that fits a line.
func showValue(v pyvalue.Value) string {
	const most = 200
	text := pyvalue.Runes(pyvalue.Repr(v))
	if len(text) <= most {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d characters)", string(text[:most]), len(text))
}

// gradeFields judges every field of the ground truth, in order. The score is the
// share of those that passed, 0 when there are none. The error of judge ends the
// grading; what is merely wrong with the answer does not.
func (r *report) gradeFields(truth *pyvalue.Object, judge func(name string, expected pyvalue.Value) (bool, error)) (Result, error) {
	scores, passed := &pyvalue.Object{}, 0
	for name, expected := range truth.All() {
		ok, err := judge(name, expected)
		if err != nil {
			return Result{}, err
		}
		scores.Set(name, pyvalue.Float(0))
		if ok {
			scores.Set(name, pyvalue.Float(1))
			passed++
		}
	}
	result := r.result(float64(passed) / float64(max(1, truth.Len())))
	result.FieldScores = scores
	return result, nil
}

// requireAtLeast reports whether a measured value is at least a bound, in a line and,
// if not, as a failure that says by how much.
func (r *report) requireAtLeast(what string, v, bound pyvalue.Value) (bool, error) {
	ok, err := pyvalue.AtMost(bound, v)
	if err != nil {
		return false, err
	}
	r.addMeasurement(ok, what, v, "at least", bound)
	return ok, nil
}

// AtMost is requireAtLeast the other way round.
func (r *report) requireAtMost(what string, v, bound pyvalue.Value) (bool, error) {
	ok, err := pyvalue.AtMost(v, bound)
	if err != nil {
		return false, err
	}
	r.addMeasurement(ok, what, v, "at most", bound)
	return ok, nil
}

func (r *report) addMeasurement(ok bool, what string, v pyvalue.Value, relation string, bound pyvalue.Value) {
	r.addLine(ok, fmt.Sprintf("%s: %s, expected %s %s", what, showValue(v), relation, showValue(bound)))
	if !ok {
		r.addFailure(fmt.Sprintf("%s: found %s, expected %s %s%s", what, showValue(v), relation, showValue(bound), offByText(v, bound)))
	}
}

// offByText says how far v is from a bound, "" where that cannot be calculated.
func offByText(v, bound pyvalue.Value) string {
	off, err := pyvalue.Distance(v, bound)
	if err != nil {
		return ""
	}
	return ": off by " + formatBrief(off)
}

// addItems lists things of one kind, if there are any.
func (r *report) addItems(ok bool, what string, items pyvalue.List) {
	if len(items) > 0 {
		r.addLine(ok, fmt.Sprintf("%d %s: %s", len(items), what, showValue(items)))
	}
}

// stringList are strings as a list of values.
func stringList(items []string) pyvalue.List {
	list := pyvalue.List{}
	for _, item := range items {
		list = append(list, pyvalue.String(item))
	}
	return list
}

// lengthOf is the length of a list.
func lengthOf(items pyvalue.List) pyvalue.Int { return pyvalue.NewInt(int64(len(items))) }
