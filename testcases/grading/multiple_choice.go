package grading

import (
	"slices"
	"strings"
)

// multipleChoice passes when the answer's field "answer", as upper-case text, is
// one of the correct ones. Nothing but case and the white space around it is
// forgiven.
func multipleChoice(config *Object, answer Value) (Result, error) {
	correct, err := correctAnswers(config)
	if err != nil {
		return Result{}, err
	}
	r := newReport("Multiple choice")
	fields, missing, err := withFields(answer, "answer")
	if err != nil || missing != nil {
		return r.without(answer, missing...), err
	}
	given := fields.Get("answer")
	text := upper(trim(Text(given)))
	r.metrics.Set("correct_answers", correct)
	r.metrics.Set("agent_answer", String(text))
	ok := slices.Contains(correct, Value(String(text)))
	r.line(ok, "answered "+show(given))
	if !ok {
		r.fail("expected " + alternatives(correct) + ", found " + show(String(text)))
	}
	return r.verdict(), nil
}

// correctAnswers returns the normalised correct answers.
func correctAnswers(config *Object) (List, error) {
	entries := List{String("")}
	if one := config.Get("correct_answer"); one != nil {
		entries = List{one}
	}
	if several := config.Get("correct_answers"); several != nil {
		var err error
		if entries, err = iterate("correct_answers", several); err != nil {
			return nil, err
		}
	}
	correct := List{}
	for _, entry := range entries {
		s, ok := entry.(String)
		if !ok {
			return nil, typeError("correct answer: want a string, found %s", KindOf(entry))
		}
		correct = append(correct, String(upper(trim(string(s)))))
	}
	return correct, nil
}

func alternatives(correct List) string {
	texts := make([]string, len(correct))
	for i, c := range correct {
		texts[i] = show(c)
	}
	if len(texts) == 0 {
		return "nothing, as there is no correct answer"
	}
	return strings.Join(texts, " or ")
}
