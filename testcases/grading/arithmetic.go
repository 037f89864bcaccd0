package grading

import (
	"math"
	"math/big"
)

// add, subtract and multiply compute as Python does: exactly between integers,
// else in doubles, into which an integer must fit.

func add(a, b Value) (Value, error) {
	return arithmetic(a, b, (*big.Int).Add, func(x, y float64) float64 { return x + y })
}

func subtract(a, b Value) (Value, error) {
	return arithmetic(a, b, (*big.Int).Sub, func(x, y float64) float64 { return x - y })
}

func multiply(a, b Value) (Value, error) {
	return arithmetic(a, b, (*big.Int).Mul, func(x, y float64) float64 { return x * y })
}

func arithmetic(a, b Value, exact func(z, x, y *big.Int) *big.Int, double func(x, y float64) float64) (Value, error) {
	n, m, err := operands(a, b)
	if err != nil {
		return nil, err
	}
	if n.i != nil && m.i != nil {
		return Int{exact(new(big.Int), n.i, m.i)}, nil
	}
	x, y, err := doubles(n, m)
	return Float(double(x, y)), err
}

// divide is Python's true division by a number other than 0: the quotient of
// two integers is rounded once, whatever their size.
func divide(a, b Value) (Value, error) {
	n, m, err := operands(a, b)
	if err != nil {
		return nil, err
	}
	if n.i != nil && m.i != nil {
		f, _ := new(big.Rat).SetFrac(n.i, m.i).Float64()
		if math.IsInf(f, 0) {
			return nil, &Error{Kind: "overflow", Text: "quotient of integers too large for a float"}
		}
		return Float(f), nil
	}
	x, y, err := doubles(n, m)
	return Float(x / y), err
}

// magnitude is Python's abs of v, which must be a number.
func magnitude(v Value) Value {
	n, _ := asNumber(v)
	if n.i != nil {
		return Int{new(big.Int).Abs(n.i)}
	}
	return Float(math.Abs(n.f))
}

// distance is |a - b|.
func distance(a, b Value) (Value, error) {
	d, err := subtract(a, b)
	if err != nil {
		return nil, err
	}
	return magnitude(d), nil
}

func operands(a, b Value) (n, m numeric, err error) {
	n, ok := asNumber(a)
	m, both := asNumber(b)
	if !ok || !both {
		return n, m, typeError("cannot calculate with %s and %s", KindOf(a), KindOf(b))
	}
	return n, m, nil
}

func doubles(n, m numeric) (x, y float64, err error) {
	if x, err = n.float(); err != nil {
		return 0, 0, err
	}
	y, err = m.float()
	return x, y, err
}
