package grading

import (
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// gradeMultipleChoice passes if the answer's field "answer", as text in upper case and
// without white space around it, is one of the correct answers.
func gradeMultipleChoice(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	correct, err := correctAnswers(config)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Multiple choice")
	fields, missing, err := splitMissingFields(answer, "answer")
	if err != nil || missing != nil {
		return r.missingFieldsResult(answer, missing...), err
	}
	given := fields.Get("answer")
	text := pyvalue.Upper(pyvalue.TrimSpace(pyvalue.Str(given)))
	r.metrics.Set("correct_answers", correct)
	r.metrics.Set("agent_answer", pyvalue.String(text))
	ok := slices.Contains(correct, pyvalue.Value(pyvalue.String(text)))
	r.addLine(ok, "answered "+formatValue(given))
	if !ok {
		r.addFailure("expected " + joinCorrectAnswers(correct) + ", found " + formatValue(pyvalue.String(text)))
	}
	return r.binaryResult(), nil
}

// correctAnswers returns the correct answers of a multiple_choice config in upper case
// and without white space around them. An entry that is not a string is a type error.
func correctAnswers(config *pyvalue.Object) (pyvalue.List, error) {
	entries := pyvalue.List{pyvalue.String("")}
	if one := config.Get("correct_answer"); one != nil {
		entries = pyvalue.List{one}
	}
	if several := config.Get("correct_answers"); several != nil {
		var err error
		if entries, err = pyvalue.IterateItems("correct_answers", several); err != nil {
			return nil, err
		}
	}
	correct := pyvalue.List{}
	for _, entry := range entries {
		s, ok := entry.(pyvalue.String)
		if !ok {
			return nil, pyvalue.TypeError("correct answer: want a string, found %s", pyvalue.KindOf(entry))
		}
		correct = append(correct, pyvalue.String(pyvalue.Upper(pyvalue.TrimSpace(string(s)))))
	}
	return correct, nil
}

// joinCorrectAnswers lists the correct answers of a multiple choice for a message.
func joinCorrectAnswers(correct pyvalue.List) string {
	texts := make([]string, len(correct))
	for i, c := range correct {
		texts[i] = formatValue(c)
	}
	if len(texts) == 0 {
		return "nothing, as there is no correct answer"
	}
	return strings.Join(texts, " or ")
}
