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

// inputErrorKind is the "kind" of errors about input lines that cannot be used.
const inputErrorKind = "input"

// inputErrorf returns an error of kind inputErrorKind with a formatted text.
func inputErrorf(format string, args ...any) *pyvalue.Error {
	return &pyvalue.Error{Kind: inputErrorKind, Text: fmt.Sprintf(format, args...)}
}

// parse returns the JSON object in the input line. It fails with an error of kind "input" if
// the line is too long, is not valid JSON or UTF-8, or is not an object.
func (l inputLine) parse() (*pyvalue.Object, *pyvalue.Error) {
	if l.isTooLong {
		return nil, inputErrorf("line %d is longer than %d MiB", l.number, MaxLineBytes>>20)
	}
	v, err := pyvalue.Decode(strings.TrimRight(l.text, " \t\r\n"))
	if syntaxErr, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return nil, inputErrorf("line %d column %d: %s", l.number, syntaxErr.Column, syntaxErr.Text)
	}
	if err != nil {
		return nil, inputErrorf("line %d: %v", l.number, err)
	}
	if !utf8.ValidString(l.text) { // Decode accepts surrogates that are encoded as bytes
		return nil, inputErrorf("line %d is not UTF-8", l.number)
	}
	object, ok := pyvalue.RestoreNonFiniteFloats(v).(*pyvalue.Object)
	if !ok {
		return nil, inputErrorf("line %d: want an object, found %s", l.number, pyvalue.KindOf(v))
	}
	return object, nil
}

// isAbsentOrNull reports whether v, a member of an object, is null, or nil because there is no
// such member.
func isAbsentOrNull(v pyvalue.Value) bool { return v == nil || v == (pyvalue.Null{}) }

// gradeLine grades the answer in an input line by the grader or graders in the line and returns
// the output line. base has the rest of the graders' input. isFaulty is true if the line cannot
// be used.
func gradeLine(ctx context.Context, id pyvalue.Value, line *pyvalue.Object, base grading.Input) (reply *pyvalue.Object, isFaulty bool) {
	in := base
	if in.Answer = line.Get("answer"); in.Answer == nil {
		in.NoAnswerReason = `the line has no "answer"`
	}
	one, several := line.Get("grader"), line.Get("graders")
	switch {
	case isAbsentOrNull(one) == isAbsentOrNull(several):
		return singleGraderOutputLine(id, inputErrorResult(inputErrorf("want one of grader, graders and extract"))), true
	case isAbsentOrNull(several):
		result, isUnusable := gradeByGraderEntry(ctx, one, "grader", in)
		return singleGraderOutputLine(id, result), isUnusable
	}
	list, ok := several.(pyvalue.List)
	if !ok || len(list) == 0 {
		reply := singleGraderOutputLine(id, inputErrorResult(inputErrorf("graders: want a list of at least one, found %s", pyvalue.KindOf(several))))
		reply.Set("graders", pyvalue.List{})
		return reply, true
	}
	var results []grading.Result
	for i, entry := range list {
		result, isUnusable := gradeByGraderEntry(ctx, entry, fmt.Sprintf("graders[%d]", i), in)
		results = append(results, result)
		isFaulty = isFaulty || isUnusable
	}
	return multiGraderOutputLine(id, results), isFaulty
}

// gradeByGraderEntry grades by the grader that entry, an object {type, config}, describes. field is
// the entry's name in error texts. isUnusable is true if entry does not describe a known
// grader.
func gradeByGraderEntry(ctx context.Context, entry pyvalue.Value, field string, in grading.Input) (result grading.Result, isUnusable bool) {
	object, ok := entry.(*pyvalue.Object)
	if !ok {
		return inputErrorResult(inputErrorf("%s: want an object {type, config}, found %s", field, pyvalue.KindOf(entry))), true
	}
	kind, _ := object.Get("type").(pyvalue.String)
	spec := grading.Spec{Type: string(kind), Config: object.Get("config"), Field: field}
	result = grading.Grade(ctx, spec, in)
	_, isObject := spec.Config.(*pyvalue.Object)
	isUnknown := result.Error != nil && result.Error.Kind == "unknown_grader"
	return result, isUnknown || spec.Config != nil && !isObject
}

// inputErrorResult returns the grading result, not passed, for an input line or grader that
// cannot be used.
func inputErrorResult(fault *pyvalue.Error) grading.Result {
	return grading.Result{Reasoning: "could not be graded: " + fault.Text, Metrics: &pyvalue.Object{}, Error: fault}
}

// singleGraderOutputLine returns the output line for an input line with one grader.
func singleGraderOutputLine(id pyvalue.Value, result grading.Result) *pyvalue.Object {
	o := pyvalue.NewObject("id", valueOrNull(id))
	setResultMembers(o, result)
	return o
}

// multiGraderOutputLine returns the output line for an input line with several graders: it has
// passed if all have, its score is the mean of their scores, and its error is the first of
// theirs.
func multiGraderOutputLine(id pyvalue.Value, results []grading.Result) *pyvalue.Object {
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
	o := singleGraderOutputLine(id, all)
	o.Set("graders", entries)
	return o
}

// setResultMembers sets the members of an output line that describe a grading result: passed,
// score, metrics, reasoning, error and, if there are any, field_scores.
func setResultMembers(o *pyvalue.Object, r grading.Result) {
	o.Set("passed", pyvalue.Bool(r.Passed))
	o.Set("score", pyvalue.Float(r.Score))
	o.Set("metrics", r.Metrics)
	o.Set("reasoning", pyvalue.String(r.Reasoning))
	o.Set("error", errorToJSON(r.Error))
	if r.FieldScores != nil {
		o.Set("field_scores", r.FieldScores)
	}
}

// errorToJSON returns an error as a JSON object {kind, text}, or null for nil.
func errorToJSON(err *pyvalue.Error) pyvalue.Value {
	if err == nil {
		return pyvalue.Null{}
	}
	o := pyvalue.NewObject("kind", pyvalue.String(err.Kind))
	o.Set("text", pyvalue.String(err.Text))
	return o
}

// valueOrNull returns v, or JSON null if v is nil.
func valueOrNull(v pyvalue.Value) pyvalue.Value {
	if v == nil {
		return pyvalue.Null{}
	}
	return v
}
