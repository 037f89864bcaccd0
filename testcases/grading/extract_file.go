package grading

import (
	"errors"

	"assay/testcases/grading/pyvalue"
)

// excerpt is how much of a file that is no JSON its reason shows, in
// characters.
const excerpt = 500

// ExtractFile is [Extract] for agents that leave their answer in a file: all of
// its text is the JSON, without tags. Only the white space of JSON may stand
// around it, and nothing is repaired. JSON null is no answer. The reason why a
// text is no answer holds its first 500 characters.
func ExtractFile(text string) (Extraction, error) {
	v, err := pyvalue.Decode(text)
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		begin := pyvalue.Runes(text[:min(len(text), 4*excerpt)]) // a character has 4 bytes at most
		return Extraction{Reason: "the file is not JSON: " + bad.Error() + "; it begins:\n" + joinRunes(begin[:min(len(begin), excerpt)])}, nil
	}
	if err != nil {
		return Extraction{Reason: err.Error()}, err
	}
	if v == (pyvalue.Null{}) {
		return Extraction{Reason: "the file holds null"}, nil
	}
	return Extraction{Answer: v}, nil
}

// joinRunes is the text of code points, lone surrogates too.
func joinRunes(points []rune) string {
	var text []byte
	for _, r := range points {
		text = pyvalue.AppendRune(text, r)
	}
	return string(text)
}
