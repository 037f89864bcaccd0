package rescore

import (
	"errors"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// extractAnswer returns the output line for an input line with the member "extract", which says
// what "answer" holds and so how the agent's answer is found in it. isFaulty is true if the
// line cannot be used.
func extractAnswer(id pyvalue.Value, line *pyvalue.Object) (reply *pyvalue.Object, isFaulty bool) {
	how, given := line.Get("extract"), line.Get("answer")
	if !isAbsentOrNull(line.Get("grader")) || !isAbsentOrNull(line.Get("graders")) {
		return extractionOutputLine(id, grading.ExtractedAnswer{}, inputErrorf("want one of grader, graders and extract")), true
	}
	var found grading.ExtractedAnswer
	var err error
	switch how {
	case pyvalue.String("summary"):
		found, err = extractFromText(given, "a string, the summary of a submission", grading.ExtractAnswerFromSummary)
	case pyvalue.String("eval_answer_file"):
		found, err = extractFromText(given, "a string, the text of the file", grading.ExtractAnswerFromFile)
	case pyvalue.String("conversation"):
		found, err = extractFromMessages(given)
	default:
		return extractionOutputLine(id, grading.ExtractedAnswer{}, inputErrorf("extract: want summary, conversation or eval_answer_file, found %s", pyvalue.Str(how))), true
	}
	return extractionOutputLine(id, found, err), hasErrorKind(err, inputErrorKind)
}

// extractFromText calls extract with the text given and returns the extraction. If given is
// absent, nothing was found; it fails if given is not a string, with an error that names what is
// wanted.
func extractFromText(given pyvalue.Value, want string, extract func(string) (grading.ExtractedAnswer, error)) (grading.ExtractedAnswer, error) {
	switch text := given.(type) {
	case nil:
		return grading.ExtractedAnswer{Reason: "nothing was submitted"}, nil
	case pyvalue.String:
		return extract(string(text))
	default:
		return grading.ExtractedAnswer{}, inputErrorf("answer: want %s, found %s", want, pyvalue.KindOf(given))
	}
}

// extractFromMessages extracts the answer from a list of an agent's messages. If given is
// absent, nothing was found; it fails if given is not a list or a message has the wrong form.
func extractFromMessages(given pyvalue.Value) (grading.ExtractedAnswer, error) {
	switch messages := given.(type) {
	case nil:
		return grading.ExtractedAnswer{Reason: "nothing was submitted"}, nil
	case pyvalue.List:
		return grading.ExtractAnswerFromMessages(messages)
	default:
		return grading.ExtractedAnswer{}, inputErrorf("answer: want a list of messages, found %s", pyvalue.KindOf(given))
	}
}

// extractionOutputLine returns the output line with the result of an extraction. err is nil or a
// [*pyvalue.Error], which becomes the member "error".
func extractionOutputLine(id pyvalue.Value, found grading.ExtractedAnswer, err error) *pyvalue.Object {
	o := pyvalue.NewObject("id", valueOrNull(id))
	o.Set("found", pyvalue.Bool(found.Answer != nil))
	o.Set("extracted", valueOrNull(found.Answer))
	fault, _ := errors.AsType[*pyvalue.Error](err)
	o.Set("error", errorToJSON(fault))
	if found.Reason != "" {
		o.Set("reason", pyvalue.String(found.Reason))
	}
	return o
}

// hasErrorKind reports whether err wraps a [*pyvalue.Error] of this kind.
func hasErrorKind(err error, kind string) bool {
	fault, ok := errors.AsType[*pyvalue.Error](err)
	return ok && fault.Kind == kind
}
