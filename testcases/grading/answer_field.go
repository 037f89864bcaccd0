package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// partOf returns what of the answer our own graders look at, and its name for
// messages: the field that answer_field names, see [lookup], nil if there is
// none; the whole answer without answer_field.
func partOf(config *pyvalue.Object, answer pyvalue.Value) (name string, part pyvalue.Value, err error) {
	field, ok := config.Get("answer_field").(pyvalue.String)
	if !ok {
		return "the answer", answer, nil
	}
	part, err = lookup(answer, string(field))
	return string(field), part, err
}

// checkAnswerField finds what is wrong with answer_field, which may be absent.
func checkAnswerField(config *pyvalue.Object) error {
	if field := config.Get("answer_field"); field != nil && pyvalue.KindOf(field) != "string" {
		return fmt.Errorf("answer_field: want a string, found %s", pyvalue.KindOf(field))
	}
	return nil
}
