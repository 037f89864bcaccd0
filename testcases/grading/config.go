package grading

// section returns the object that o has under a key, an empty one without the
// key. Anything else there is an error, null too.
func section(o *Object, key string) (*Object, error) {
	switch v := o.Get(key).(type) {
	case nil:
		return &Object{}, nil
	case *Object:
		return v, nil
	default:
		return nil, typeError("%s: want an object, found %s", key, KindOf(v))
	}
}

// orElse is what o has under a key, be it null; fallback without the key.
func orElse(o *Object, key string, fallback Value) Value {
	if v := o.Get(key); v != nil {
		return v
	}
	return fallback
}

// passThresholds returns scoring.pass_thresholds of a config.
func passThresholds(config *Object) (*Object, error) {
	scoring, err := section(config, "scoring")
	if err != nil {
		return nil, err
	}
	return section(scoring, "pass_thresholds")
}
