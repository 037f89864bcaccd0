package grading

import (
	"cmp"
	"math"
	"math/big"
	"strings"
)

// numeric is a number as Python computes with it. Integers are exact, and
// booleans are integers.
type numeric struct {
	i *big.Int // nil for a float
	f float64
}

func asNumber(v Value) (numeric, bool) {
	switch v := v.(type) {
	case Bool:
		if v {
			return numeric{i: big.NewInt(1)}, true
		}
		return numeric{i: new(big.Int)}, true
	case Int:
		return numeric{i: v.Big()}, true
	case Float:
		return numeric{f: float64(v)}, true
	default:
		return numeric{}, false
	}
}

// float converts n; an integer that does not fit is an overflow.
func (n numeric) float() (float64, error) {
	if n.i == nil {
		return n.f, nil
	}
	f, _ := new(big.Float).SetInt(n.i).Float64()
	if math.IsInf(f, 0) {
		return 0, &Error{Kind: "overflow", Text: "integer too large to convert to a float"}
	}
	return f, nil
}

// compare orders two numbers without rounding. With NaN there is no order.
func (n numeric) compare(m numeric) (order int, ordered bool) {
	switch {
	case n.i != nil && m.i != nil:
		return n.i.Cmp(m.i), true
	case n.i == nil && m.i == nil:
		return cmp.Compare(n.f, m.f), !math.IsNaN(n.f) && !math.IsNaN(m.f)
	case n.i != nil:
		order, ordered = m.compare(n)
		return -order, ordered
	case math.IsNaN(n.f):
		return 0, false
	}
	return new(big.Float).SetFloat64(n.f).Cmp(new(big.Float).SetInt(m.i)), true
}

// equal is Python's ==: 1, 1.0 and true are equal. NaN equals nothing, but a list
// or object that holds it equals another that does.
func equal(a, b Value) bool {
	n, ok := asNumber(a)
	if m, both := asNumber(b); ok && both {
		order, ordered := n.compare(m)
		return ordered && order == 0
	}
	return sameShape(a, b, identical)
}

// identical says whether Python takes a for b when it looks for b in a
// container: it is equal or, like the one NaN of its decoder, the same object.
func identical(a, b Value) bool {
	return isNaN(a) && isNaN(b) || equal(a, b)
}

func isNaN(v Value) bool {
	f, ok := v.(Float)
	return ok && math.IsNaN(float64(f))
}

// sameJSON is equal, except that booleans are no numbers.
func sameJSON(a, b Value) bool {
	_, isBool := a.(Bool)
	if _, alsoBool := b.(Bool); isBool != alsoBool {
		return false
	}
	if _, ok := asNumber(a); ok {
		return equal(a, b)
	}
	return sameShape(a, b, sameJSON)
}

// sameShape compares what is no number, by same what stands inside.
func sameShape(a, b Value, same func(a, b Value) bool) bool {
	switch a := a.(type) {
	case Null:
		return b == Null{}
	case String:
		return a == b
	case List:
		b, ok := b.(List)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case *Object:
		b, ok := b.(*Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for key, item := range a.All() {
			if !b.Has(key) || !same(item, b.Get(key)) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// compare orders numbers, strings, or lists. Everything else, and a mixture,
// is a type error.
func compare(a, b Value) (order int, ordered bool, err error) {
	n, ok := asNumber(a)
	if m, both := asNumber(b); ok && both {
		order, ordered = n.compare(m)
		return order, ordered, nil
	}
	if a, ok := a.(String); ok {
		if b, ok := b.(String); ok {
			return strings.Compare(string(a), string(b)), true, nil
		}
	}
	if a, ok := a.(List); ok {
		if b, ok := b.(List); ok {
			return compareLists(a, b)
		}
	}
	return 0, false, typeError("cannot order %s and %s", KindOf(a), KindOf(b))
}

func compareLists(a, b List) (order int, ordered bool, err error) {
	for i := range min(len(a), len(b)) {
		if !identical(a[i], b[i]) {
			return compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), true, nil
}

func less(a, b Value) (bool, error) {
	order, ordered, err := compare(a, b)
	return ordered && order < 0, err
}

func atMost(a, b Value) (bool, error) {
	order, ordered, err := compare(a, b)
	return ordered && order <= 0, err
}

// decimals says that the values can be written with a fixed number of decimals,
// which the harness whose verdicts we share does with them: a number that fits a
// double can.
func decimals(values ...Value) error {
	for _, v := range values {
		n, ok := asNumber(v)
		if !ok {
			return noDecimals(v)
		}
		if _, err := n.float(); err != nil {
			return err
		}
	}
	return nil
}

func noDecimals(v Value) error {
	if _, ok := v.(String); ok {
		return valueError("want a number, found %s", show(v))
	}
	return typeError("want a number, found %s", KindOf(v))
}
