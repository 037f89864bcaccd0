package pyvalue

import (
	"cmp"
	"math"
	"math/big"
	"strings"
)

// Number is a number that is calculated with as in Python: an exact integer, which a
// boolean is too, or a float64.
type Number struct {
	integer *big.Int // nil for a double
	double  float64
}

// Int returns the number if it is an integer, and otherwise nil. The caller must not
// change the result.
func (n Number) Int() *big.Int { return n.integer }

// AsNumber returns v as a [Number], or false if it is neither a number nor a boolean.
func AsNumber(v Value) (Number, bool) {
	switch v := v.(type) {
	case Bool:
		if v {
			return Number{integer: big.NewInt(1)}, true
		}
		return Number{integer: new(big.Int)}, true
	case Int:
		return Number{integer: v.Big()}, true
	case Float:
		return Number{double: float64(v)}, true
	default:
		return Number{}, false
	}
}

// Float returns the number as a float64. An integer that is too large is an error of
// kind overflow.
func (n Number) Float() (float64, error) {
	if n.integer == nil {
		return n.double, nil
	}
	f, _ := new(big.Float).SetInt(n.integer).Float64()
	if math.IsInf(f, 0) {
		return 0, &Error{Kind: "overflow", Text: "integer too large to convert to a float"}
	}
	return f, nil
}

// compare compares two numbers exactly: -1, 0 or 1. ordered is false if one of them is
// NaN.
func (n Number) compare(m Number) (order int, ordered bool) {
	switch {
	case n.integer != nil && m.integer != nil:
		return n.integer.Cmp(m.integer), true
	case n.integer == nil && m.integer == nil:
		return cmp.Compare(n.double, m.double), !math.IsNaN(n.double) && !math.IsNaN(m.double)
	case n.integer != nil:
		order, ordered = m.compare(n)
		return -order, ordered
	case math.IsNaN(n.double):
		return 0, false
	}
	return new(big.Float).SetFloat64(n.double).Cmp(new(big.Float).SetInt(m.integer)), true
}

// Equal reports whether Python's a == b is true: 1, 1.0 and true are equal. NaN is not
// equal to itself, but a list or object that contains it is equal to another one that
// does.
func Equal(a, b Value) bool {
	n, ok := AsNumber(a)
	if m, both := AsNumber(b); ok && both {
		order, ordered := n.compare(m)
		return ordered && order == 0
	}
	return equalContents(a, b, IsIdenticalOrEqual)
}

// IsIdenticalOrEqual reports whether Python takes a for b when it looks for b in a
// container: they are equal, or both are NaN, since Python's decoder has only one NaN
// object.
func IsIdenticalOrEqual(a, b Value) bool {
	return isNaN(a) && isNaN(b) || Equal(a, b)
}

func isNaN(v Value) bool {
	f, ok := v.(Float)
	return ok && math.IsNaN(float64(f))
}

// EqualJSON reports whether two values are the same JSON: like [Equal], except that
// booleans do not equal numbers.
func EqualJSON(a, b Value) bool {
	_, isBool := a.(Bool)
	if _, alsoBool := b.(Bool); isBool != alsoBool {
		return false
	}
	if _, ok := AsNumber(a); ok {
		return Equal(a, b)
	}
	return equalContents(a, b, EqualJSON)
}

// equalContents compares two values that are not both numbers. It compares the items
// of lists and the members of objects with same.
func equalContents(a, b Value, same func(a, b Value) bool) bool {
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

// compareOrdered compares two numbers, two strings or two lists: negative, 0 or
// positive. Other values, and values of different kinds, are a type error. ordered is
// false if NaN decides.
func compareOrdered(a, b Value) (order int, ordered bool, err error) {
	n, ok := AsNumber(a)
	if m, both := AsNumber(b); ok && both {
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
	return 0, false, TypeError("cannot order %s and %s", KindOf(a), KindOf(b))
}

func compareLists(a, b List) (order int, ordered bool, err error) {
	for i := range min(len(a), len(b)) {
		if !IsIdenticalOrEqual(a[i], b[i]) {
			return compareOrdered(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), true, nil
}

// Less reports whether Python's a < b is true. Values that cannot be ordered are a type
// error.
func Less(a, b Value) (bool, error) {
	order, ordered, err := compareOrdered(a, b)
	return ordered && order < 0, err
}

// LessOrEqual reports whether Python's a <= b is true. Values that cannot be ordered
// are a type error.
func LessOrEqual(a, b Value) (bool, error) {
	order, ordered, err := compareOrdered(a, b)
	return ordered && order <= 0, err
}

// IsTruthy returns Python's bool(v): false for null, false, 0 and empty strings, lists
// and objects, and true for all other values.
func IsTruthy(v Value) bool {
	switch v := v.(type) {
	case String:
		return v != ""
	case List:
		return len(v) > 0
	case *Object:
		return v.Len() > 0
	case Null:
		return false
	}
	return !Equal(v, NewInt(0))
}

// Add returns a + b as Python calculates it: exactly with two integers, otherwise as
// float64. An integer that does not fit a float64 is an error of kind overflow, and a
// value that is not a number a type error.
func Add(a, b Value) (Value, error) {
	return applyArithmetic(a, b, (*big.Int).Add, func(x, y float64) float64 { return x + y })
}

// Subtract returns a - b as Python calculates it, with the errors of [Add].
func Subtract(a, b Value) (Value, error) {
	return applyArithmetic(a, b, (*big.Int).Sub, func(x, y float64) float64 { return x - y })
}

// Multiply returns a * b as Python calculates it, with the errors of [Add].
func Multiply(a, b Value) (Value, error) {
	return applyArithmetic(a, b, (*big.Int).Mul, func(x, y float64) float64 { return x * y })
}

func applyArithmetic(a, b Value, exact func(z, x, y *big.Int) *big.Int, double func(x, y float64) float64) (Value, error) {
	n, m, err := toNumbers(a, b)
	if err != nil {
		return nil, err
	}
	if n.integer != nil && m.integer != nil {
		return Int{exact(new(big.Int), n.integer, m.integer)}, nil
	}
	x, y, err := toDoubles(n, m)
	return Float(double(x, y)), err
}

// Divide returns Python's a / b. b must not be 0. The quotient of two integers is
// rounded only once, whatever their size; if it is too large for a float64, the error
// has kind overflow.
func Divide(a, b Value) (Value, error) {
	n, m, err := toNumbers(a, b)
	if err != nil {
		return nil, err
	}
	if n.integer != nil && m.integer != nil {
		f, _ := new(big.Rat).SetFrac(n.integer, m.integer).Float64()
		if math.IsInf(f, 0) {
			return nil, &Error{Kind: "overflow", Text: "quotient of integers too large for a float"}
		}
		return Float(f), nil
	}
	x, y, err := toDoubles(n, m)
	return Float(x / y), err
}

// Abs returns Python's abs(v). v must be a number.
func Abs(v Value) Value {
	n, _ := AsNumber(v)
	if n.integer != nil {
		return Int{new(big.Int).Abs(n.integer)}
	}
	return Float(math.Abs(n.double))
}

// AbsDifference returns |a - b|, with the errors of [Subtract].
func AbsDifference(a, b Value) (Value, error) {
	d, err := Subtract(a, b)
	if err != nil {
		return nil, err
	}
	return Abs(d), nil
}

func toNumbers(a, b Value) (n, m Number, err error) {
	n, ok := AsNumber(a)
	m, both := AsNumber(b)
	if !ok || !both {
		return n, m, TypeError("cannot calculate with %s and %s", KindOf(a), KindOf(b))
	}
	return n, m, nil
}

func toDoubles(n, m Number) (x, y float64, err error) {
	if x, err = n.Float(); err != nil {
		return 0, 0, err
	}
	y, err = m.Float()
	return x, y, err
}
