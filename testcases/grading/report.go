package grading

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// Result is the verdict of one grader: passed, score, reasoning, metrics and error.
type Result struct {
	Type        string          `json:"type"`
	Spec        string          `json:"spec,omitempty"` // Spec.Digest of the grader; set by GradeAll only
	Passed      bool            `json:"passed"`
	Score       float64         `json:"score"` // 0 to 1
	Reasoning   string          `json:"reasoning"`
	Metrics     *pyvalue.Object `json:"metrics"`                // never nil
	FieldScores *pyvalue.Object `json:"field_scores,omitempty"` // 1.0 or 0.0 for each field; nil for graders without fields
	Error       *pyvalue.Error  `json:"error"`                  // why there is no verdict, nil if there is one
}

// Kinds of errors for which neither the answer nor the notebook is to blame: the grading itself has
// failed and can be repeated.
const (
	ErrorKindModel   = "model"   // the judge model cannot be reached, or gives no verdict
	ErrorKindCommand = "command" // the command of a grader cannot be started
	ErrorKindKernel  = "kernel"  // the kernel is gone, or does not run a grader's code
)

// FailureKind returns why the grading itself has failed, one of the ErrorKind constants; "" if it
// has not.
func (r Result) FailureKind() string {
	if r.Error == nil {
		return ""
	}
	switch kind := r.Error.Kind; kind {
	case ErrorKindModel, ErrorKindCommand, ErrorKindKernel:
		return kind
	default:
		return ""
	}
}

// hasErrorKind reports whether err is a pyvalue.Error of that kind.
func hasErrorKind(err error, kind string) bool {
	e, ok := errors.AsType[*pyvalue.Error](err)
	return ok && e.Kind == kind
}

// failedResult returns the result of a grader that failed with err before it had a
// verdict. An error that is not a pyvalue.Error gets the kind value_error.
func failedResult(err error) Result {
	e, ok := errors.AsType[*pyvalue.Error](err)
	if !ok {
		e = &pyvalue.Error{Kind: "value_error", Text: err.Error()}
	}
	return Result{Reasoning: "could not be graded: " + e.Text, Metrics: &pyvalue.Object{}, Error: e}
}

// graderReport collects what a grader finds: lines marked + or x, failures and metrics.
// The grader has passed if there are no failures.
type graderReport struct {
	title    string
	lines    []string
	failures []string
	metrics  *pyvalue.Object
}

// newGraderReport returns an empty report of a grader. The title is the first line of
// the result's reasoning.
func newGraderReport(title string) *graderReport {
	return &graderReport{title: title, metrics: &pyvalue.Object{}}
}

// addLine adds a line to the grader's reasoning, marked + if ok, and otherwise x.
func (r *graderReport) addLine(ok bool, text string) {
	mark := "x "
	if ok {
		mark = "+ "
	}
	r.lines = append(r.lines, mark+text)
}

// addFailure adds a failure to the grader's report, so that it has not passed.
func (r *graderReport) addFailure(text string) { r.failures = append(r.failures, text) }

func (r *graderReport) hasPassed() bool { return len(r.failures) == 0 }

// result returns the grader's result with this score. It has passed if there are no
// failures.
func (r *graderReport) result(score float64) Result {
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

// binaryResult returns the grader's result with score 1 if there are no failures, and
// otherwise 0.
func (r *graderReport) binaryResult() Result {
	if r.hasPassed() {
		return r.result(1)
	}
	return r.result(0)
}

// missingFieldsResult returns the result for an answer that lacks these fields.
func (r *graderReport) missingFieldsResult(answer pyvalue.Value, fields ...string) Result {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = strconv.Quote(field)
	}
	r.addFailure("the answer has no field " + strings.Join(names, ", ") + "; it is " + formatValue(answer))
	return r.binaryResult()
}

// formatValue returns v as Python writes it, cut after 200 characters.
func formatValue(v pyvalue.Value) string {
	const most = 200
	text := pyvalue.Runes(pyvalue.Repr(v))
	if len(text) <= most {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d characters)", string(text[:most]), len(text))
}

// gradeFields calls judge for each field of the ground truth, in order, and returns the
// result. The score is the share of fields that passed, 0 if there are none. An error
// of judge ends the grading; a missing or wrong field is no error.
func (r *graderReport) gradeFields(truth *pyvalue.Object, judge func(name string, expected pyvalue.Value) (bool, error)) (Result, error) {
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

// requireAtLeast checks that a measured value is at least bound. It adds a line to the
// report and, if the value is too small, a failure with the difference. It returns
// whether the value is large enough. Values that cannot be compared are a type error.
func (r *graderReport) requireAtLeast(what string, v, bound pyvalue.Value) (bool, error) {
	ok, err := pyvalue.LessOrEqual(bound, v)
	if err != nil {
		return false, err
	}
	r.addMeasurement(ok, what, v, "at least", bound)
	return ok, nil
}

// requireAtMost checks that a measured value is at most bound. It adds a line to the
// report and, if the value is too large, a failure with the difference. It returns
// whether the value is small enough. Values that cannot be compared are a type error.
func (r *graderReport) requireAtMost(what string, v, bound pyvalue.Value) (bool, error) {
	ok, err := pyvalue.LessOrEqual(v, bound)
	if err != nil {
		return false, err
	}
	r.addMeasurement(ok, what, v, "at most", bound)
	return ok, nil
}

// addMeasurement adds the line and, if not ok, the failure of a comparison of a
// measured value with a bound.
func (r *graderReport) addMeasurement(ok bool, what string, v pyvalue.Value, relation string, bound pyvalue.Value) {
	r.addLine(ok, fmt.Sprintf("%s: %s, expected %s %s", what, formatValue(v), relation, formatValue(bound)))
	if !ok {
		r.addFailure(fmt.Sprintf("%s: found %s, expected %s %s%s", what, formatValue(v), relation, formatValue(bound), describeDistance(v, bound)))
	}
}

// describeDistance describes how far v is from bound, or returns "" if that cannot be
// calculated.
func describeDistance(v, bound pyvalue.Value) string {
	off, err := pyvalue.AbsDifference(v, bound)
	if err != nil {
		return ""
	}
	return ": off by " + formatSixDigits(off)
}

// addListLine adds a line to the grader's reasoning that counts and lists items. It
// adds nothing if there are none.
func (r *graderReport) addListLine(ok bool, what string, items pyvalue.List) {
	if len(items) > 0 {
		r.addLine(ok, fmt.Sprintf("%d %s: %s", len(items), what, formatValue(items)))
	}
}

// toStringValues returns Go strings as a list of JSON values.
func toStringValues(items []string) pyvalue.List {
	list := pyvalue.List{}
	for _, item := range items {
		list = append(list, pyvalue.String(item))
	}
	return list
}

// listLengthValue returns the number of items as a JSON value.
func listLengthValue(items pyvalue.List) pyvalue.Int { return pyvalue.NewInt(int64(len(items))) }
