package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// getConfigSection returns the object that o has under key, or an empty object without
// that key. Any other value, null included, is a type error.
func getConfigSection(o *pyvalue.Object, key string) (*pyvalue.Object, error) {
	switch v := o.Get(key).(type) {
	case nil:
		return &pyvalue.Object{}, nil
	case *pyvalue.Object:
		return v, nil
	default:
		return nil, pyvalue.TypeError("%s: want an object, found %s", key, pyvalue.KindOf(v))
	}
}

// getOrDefault returns the value that o has under key, which may be null, or fallback
// without that key.
func getOrDefault(o *pyvalue.Object, key string, fallback pyvalue.Value) pyvalue.Value {
	if v := o.Get(key); v != nil {
		return v
	}
	return fallback
}

// readLive returns whether a config says that its grader relies on the agent's kernel. Any value but
// true, false and none is an error.
func readLive(config *pyvalue.Object) (bool, error) {
	switch live := config.Get("live").(type) {
	case nil:
		return false, nil
	case pyvalue.Bool:
		return bool(live), nil
	default:
		return false, fmt.Errorf("live: want true or false, found %s", formatValue(live))
	}
}

// getPassThresholds returns the object scoring.pass_thresholds of a grader config, or
// an empty object if it is absent. Another kind of value is a type error.
func getPassThresholds(config *pyvalue.Object) (*pyvalue.Object, error) {
	scoring, err := getConfigSection(config, "scoring")
	if err != nil {
		return nil, err
	}
	return getConfigSection(scoring, "pass_thresholds")
}

// checkAnswerField returns an error if the member answer_field of a grader config is
// present and not a string.
func checkAnswerField(config *pyvalue.Object) error {
	if field := config.Get("answer_field"); field != nil && pyvalue.KindOf(field) != "string" {
		return fmt.Errorf("answer_field: want a string, found %s", pyvalue.KindOf(field))
	}
	return nil
}
