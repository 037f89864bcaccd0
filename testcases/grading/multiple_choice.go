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
	given, err := choice(answer)
	if err != nil {
		return Result{}, err
	}
	if given == nil {
		r.fail("the answer has no field \"answer\"; it is " + show(answer))
		return r.verdict(), nil
	}
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

// choice returns the answer's field "answer", nil when it is not there. In a
// list or a string "answer" may well be found, but not taken out.
func choice(answer Value) (Value, error) {
	there, err := contains(answer, String("answer"))
	if err != nil || !there {
		return nil, err
	}
	object, ok := answer.(*Object)
	if !ok {
		return nil, typeError("the answer: want an object, found %s", KindOf(answer))
	}
	return object.Get("answer"), nil
}

// correctAnswers returns the normalised correct answers.
func correctAnswers(config *Object) (List, error) {
	entries := List{String("")}
	if one := config.Get("correct_answer"); one != nil {
		entries = List{one}
	}
	if several := config.Get("correct_answers"); several != nil {
		var err error
		if entries, err = iterate(several); err != nil {
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

// iterate lists what Python's iteration over v yields: members, keys or
// characters.
func iterate(v Value) (List, error) {
	items := List{}
	switch v := v.(type) {
	case List:
		return v, nil
	case *Object:
		for key := range v.All() {
			items = append(items, String(key))
		}
	case String:
		for _, r := range runes(string(v)) {
			items = append(items, String(appendRune(nil, r)))
		}
	default:
		return nil, typeError("correct_answers: want a list, found %s", KindOf(v))
	}
	return items, nil
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
