// Package pyvalue has JSON values with the meaning that Python gives them: how they are
// decoded and encoded, compared, ordered, calculated with and written as text. Graders
// use it so that their verdicts agree with those of a reference implementation in Python.
package pyvalue

import (
	"encoding/json"
	"iter"
	"math/big"
)

// Value is a JSON value with the meaning it has in Python: integers are exact
// and differ from floats, and objects keep the order of their keys. It is one
// of [Null], [Bool], [Int], [Float], [String], [List] and [*Object]; a nil
// Value is the absence of one. Values are not changed once made, so they may be
// read by several goroutines.
//
// Every Value marshals to JSON. A non-finite number, which JSON lacks, is
// written as {"$float": "NaN" | "Infinity" | "-Infinity"}.
type Value interface {
	json.Marshaler
	kind() string // as messages name it
}

// Null is JSON null.
type Null struct{}

// Bool is true or false.
type Bool bool

// Int is an integer of any size. The zero Int is 0.
type Int struct{ digits *big.Int }

// Float is a number that was written with a point or an exponent, or is not
// finite.
type Float float64

// String is text in UTF-8. A surrogate without its partner, which JSON can
// escape and UTF-8 cannot hold, is kept as the three bytes that UTF-8 would give
// it.
type String string

// List is an array.
type List []Value

// Object is an object whose keys are in the order in which they first
// occurred. The zero Object is empty, and so is a nil one, which can be read.
type Object struct {
	keys  []string
	items map[string]Value
}

// NewInt returns n as a Value.
func NewInt(n int64) Int { return Int{big.NewInt(n)} }

// NewBigInt returns i as a Value. It must not be changed afterwards.
func NewBigInt(i *big.Int) Int { return Int{i} }

// NewObject returns an Object of one member.
func NewObject(key string, v Value) *Object {
	o := &Object{}
	o.Set(key, v)
	return o
}

// Big returns the integer. It is shared and must not be changed.
func (i Int) Big() *big.Int {
	if i.digits == nil {
		return new(big.Int)
	}
	return i.digits
}

// Len returns the number of keys.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Get returns the value of a key, nil if there is none.
func (o *Object) Get(key string) Value {
	if o == nil {
		return nil
	}
	return o.items[key]
}

// Has says whether there is such a key.
func (o *Object) Has(key string) bool { return o.Get(key) != nil }

// All iterates over keys and values in order.
func (o *Object) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range o.Len() {
			if !yield(o.keys[i], o.items[o.keys[i]]) {
				return
			}
		}
	}
}

// Set adds a member, or replaces the value of a key in its place. It is for
// whoever builds the object, before anybody else reads it. v is not nil.
func (o *Object) Set(key string, v Value) {
	if o.items == nil {
		o.items = map[string]Value{}
	}
	if _, ok := o.items[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.items[key] = v
}

// KindOf names the kind of a value for messages: null, boolean, integer,
// number, string, list or object; "nothing" for nil.
func KindOf(v Value) string {
	if v == nil {
		return "nothing"
	}
	return v.kind()
}

func (Null) kind() string    { return "null" }
func (Bool) kind() string    { return "boolean" }
func (Int) kind() string     { return "integer" }
func (Float) kind() string   { return "number" }
func (String) kind() string  { return "string" }
func (List) kind() string    { return "list" }
func (*Object) kind() string { return "object" }

// PythonTypeName names the type that a value has in Python.
func PythonTypeName(v Value) string {
	return map[string]string{
		"null": "NoneType", "boolean": "bool", "integer": "int", "number": "float", "string": "str", "list": "list", "object": "dict",
	}[KindOf(v)]
}
