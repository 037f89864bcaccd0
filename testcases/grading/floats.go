package grading

import "math"

// RestoreFloats makes every {"$float": "NaN" | "Infinity" | "-Infinity"}, as
// which a [Value] is written that JSON has no number for, that number again. It
// must be an object of exactly this one member; any other stays as it is.
//
// It changes what is inside of v in place, and returns v, or the number if v is
// such an object itself. So it is for whoever has just decoded v, before anybody
// else reads it.
func RestoreFloats(v Value) Value {
	switch v := v.(type) {
	case List:
		for i, item := range v {
			v[i] = RestoreFloats(item)
		}
	case *Object:
		if f, ok := restoredFloat(v); ok {
			return f
		}
		for _, key := range v.keys {
			v.items[key] = RestoreFloats(v.items[key])
		}
	}
	return v
}

func restoredFloat(o *Object) (Float, bool) {
	text, ok := o.Get("$float").(String)
	if !ok || o.Len() != 1 {
		return 0, false
	}
	switch text {
	case "NaN":
		return Float(math.NaN()), true
	case "Infinity":
		return Float(math.Inf(1)), true
	case "-Infinity":
		return Float(math.Inf(-1)), true
	default:
		return 0, false
	}
}
