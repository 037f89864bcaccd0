package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// getSection returns the object that o has under a key, an empty one without the
// key. Anything else there is an error, null too.
func getSection(o *pyvalue.Object, key string) (*pyvalue.Object, error) {
	switch v := o.Get(key).(type) {
	case nil:
		return &pyvalue.Object{}, nil
	case *pyvalue.Object:
		return v, nil
	default:
		return nil, pyvalue.TypeError("%s: want an object, found %s", key, pyvalue.KindOf(v))
	}
}

// getOr is what o has under a key, be it null; fallback without the key.
func getOr(o *pyvalue.Object, key string, fallback pyvalue.Value) pyvalue.Value {
	if v := o.Get(key); v != nil {
		return v
	}
	return fallback
}

// passThresholds returns scoring.pass_thresholds of a config.
func passThresholds(config *pyvalue.Object) (*pyvalue.Object, error) {
	scoring, err := getSection(config, "scoring")
	if err != nil {
		return nil, err
	}
	return getSection(scoring, "pass_thresholds")
}

// checkAnswerField finds what is wrong with answer_field, which may be absent.
func checkAnswerField(config *pyvalue.Object) error {
	if field := config.Get("answer_field"); field != nil && pyvalue.KindOf(field) != "string" {
		return fmt.Errorf("answer_field: want a string, found %s", pyvalue.KindOf(field))
	}
	return nil
}
