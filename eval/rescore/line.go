package rescore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"assay/internal/stats"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// errorKindInput is the kind of the error of a line that is not as it must be.
const errorKindInput = "input"

func inputErrorf(format string, args ...any) *pyvalue.Error {
	return &pyvalue.Error{Kind: errorKindInput, Text: fmt.Sprintf(format, args...)}
}

// parse reads the line.
func (l inputLine) parse() (*pyvalue.Object, *pyvalue.Error) {
	if l.isTooLong {
		return nil, inputErrorf("line %d is longer than %d MiB", l.number, MaxLineBytes>>20)
	}
	v, err := pyvalue.Decode(strings.TrimRight(l.text, " \t\r\n"))
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return nil, inputErrorf("line %d column %d: %s", l.number, bad.Column, bad.Text)
	}
	if err != nil {
		return nil, inputErrorf("line %d: %v", l.number, err)
	}
	if !utf8.ValidString(l.text) { // a surrogate in bytes, which Decode takes
		return nil, inputErrorf("line %d is not UTF-8", l.number)
	}
	object, ok := pyvalue.RestoreFloats(v).(*pyvalue.Object)
	if !ok {
		return nil, inputErrorf("line %d: want an object, found %s", l.number, pyvalue.KindOf(v))
	}
	return object, nil
}

// isAbsent says whether a member is not there, or null.
func isAbsent(v pyvalue.Value) bool { return v == nil || v == (pyvalue.Null{}) }

// gradeLine grades a line's answer by its grader or graders.
func gradeLine(ctx context.Context, id pyvalue.Value, line *pyvalue.Object, have grading.Input) (answer *pyvalue.Object, faulty bool) {
	if have.Answer = line.Get("answer"); have.Answer == nil {
		have.NoAnswer = `the line has no "answer"`
	}
	one, several := line.Get("grader"), line.Get("graders")
	switch {
	case isAbsent(one) == isAbsent(several):
		return verdictReply(id, inputErrorResult(inputErrorf("want one of grader, graders and extract"))), true
	case isAbsent(several):
		result, faulty := gradeByEntry(ctx, one, "grader", have)
		return verdictReply(id, result), faulty
	}
	list, ok := several.(pyvalue.List)
	if !ok || len(list) == 0 {
		answer := verdictReply(id, inputErrorResult(inputErrorf("graders: want a list of at least one, found %s", pyvalue.KindOf(several))))
		answer.Set("graders", pyvalue.List{})
		return answer, true
	}
	var results []grading.Result
	for i, entry := range list {
		result, unusable := gradeByEntry(ctx, entry, fmt.Sprintf("graders[%d]", i), have)
		results = append(results, result)
		faulty = faulty || unusable
	}
	return combinedReply(id, results), faulty
}

// gradeByEntry grades by one entry; unusable says that no grader could be made of
// it.
func gradeByEntry(ctx context.Context, entry pyvalue.Value, field string, in grading.Input) (result grading.Result, unusable bool) {
	object, ok := entry.(*pyvalue.Object)
	if !ok {
		return inputErrorResult(inputErrorf("%s: want an object {type, config}, found %s", field, pyvalue.KindOf(entry))), true
	}
	kind, _ := object.Get("type").(pyvalue.String)
	spec := grading.Spec{Type: string(kind), Config: object.Get("config"), Field: field}
	result = grading.Grade(ctx, spec, in)
	_, isObject := spec.Config.(*pyvalue.Object)
	unknown := result.Error != nil && result.Error.Kind == "unknown_grader"
	return result, unknown || spec.Config != nil && !isObject
}

// inputErrorResult is the result of what could not be read.
func inputErrorResult(fault *pyvalue.Error) grading.Result {
	return grading.Result{Reasoning: "could not be graded: " + fault.Text, Metrics: &pyvalue.Object{}, Error: fault}
}

// verdictReply is the answer to a line with one grader.
func verdictReply(id pyvalue.Value, result grading.Result) *pyvalue.Object {
	o := pyvalue.NewObject("id", orNull(id))
	setResultMembers(o, result)
	return o
}

// combinedReply is the answer to a line with several graders: it passed when all did,
// the score is their mean, and the error is the first of theirs.
func combinedReply(id pyvalue.Value, results []grading.Result) *pyvalue.Object {
	all := grading.Result{Passed: true, Metrics: &pyvalue.Object{}}
	var texts []string
	var scores []float64
	entries := pyvalue.List{}
	for _, result := range results {
		all.Passed = all.Passed && result.Passed
		scores = append(scores, result.Score)
		if all.Error == nil && result.Error != nil {
			all.Error = result.Error
		}
		texts = append(texts, result.Reasoning)
		entry := pyvalue.NewObject("type", pyvalue.String(result.Type))
		setResultMembers(entry, result)
		entries = append(entries, entry)
	}
	all.Score = stats.Mean(scores)
	all.Reasoning = strings.Join(texts, "\n\n")
	o := verdictReply(id, all)
	o.Set("graders", entries)
	return o
}

// setResultMembers adds the members of a result.
func setResultMembers(o *pyvalue.Object, r grading.Result) {
	o.Set("passed", pyvalue.Bool(r.Passed))
	o.Set("score", pyvalue.Float(r.Score))
	o.Set("metrics", r.Metrics)
	o.Set("reasoning", pyvalue.String(r.Reasoning))
	o.Set("error", errorValue(r.Error))
	if r.FieldScores != nil {
		o.Set("field_scores", r.FieldScores)
	}
}

func errorValue(err *pyvalue.Error) pyvalue.Value {
	if err == nil {
		return pyvalue.Null{}
	}
	o := pyvalue.NewObject("kind", pyvalue.String(err.Kind))
	o.Set("text", pyvalue.String(err.Text))
	return o
}

func orNull(v pyvalue.Value) pyvalue.Value {
	if v == nil {
		return pyvalue.Null{}
	}
	return v
}
