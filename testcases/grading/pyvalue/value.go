// Package pyvalue has JSON values with the meaning that Python gives them: how they are
// decoded and encoded, compared, ordered, calculated with and written as text. Graders
// use it so that their verdicts agree with those of a reference implementation in Python.
package pyvalue

import (
	"encoding/json"
	"iter"
	"math/big"
)

// Value is a JSON value with the meaning that it has in Python: integers are exact and
// differ from floats, and objects keep the order of their keys. It is one of [Null],
// [Bool], [Int], [Float], [String], [List] and [*Object]. A nil Value means that there
// is no value. Values do not change once they are made, so several goroutines may read
// them.
//
// Every Value marshals to JSON. A number that is not finite, which JSON cannot express,
// becomes {"$float": "NaN" | "Infinity" | "-Infinity"}.
type Value interface {
	json.Marshaler
	kind() string // its name in messages, see KindOf
}

// Null is JSON null, Python's None.
type Null struct{}

// Bool is JSON true or false.
type Bool bool

// Int is an integer of any size. The zero Int is 0.
type Int struct{ value *big.Int }

// Float is a JSON number that has a point or an exponent, or is not finite.
type Float float64

// String is text in UTF-8. A lone surrogate, which JSON can escape but UTF-8 cannot
// encode, is kept as the three bytes that UTF-8 would give it.
type String string

// List is a JSON array, Python's list.
type List []Value

// Object is a JSON object. Its keys keep the order in which they first occurred. The
// zero Object is empty. A nil *Object can be read, and is empty.
type Object struct {
	keys  []string
	items map[string]Value
}

// NewInt returns n as an Int value.
func NewInt(n int64) Int { return Int{big.NewInt(n)} }

// NewBigInt returns i as an Int value. The caller must not change i afterwards.
func NewBigInt(i *big.Int) Int { return Int{i} }

// NewObject returns an Object with one member, key and v.
func NewObject(key string, v Value) *Object {
	o := &Object{}
	o.Set(key, v)
	return o
}

// Big returns the integer as a big.Int. The caller must not change it.
func (i Int) Big() *big.Int {
	if i.value == nil {
		return new(big.Int)
	}
	return i.value
}

// Len returns the number of the object's keys.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Get returns the value of a key in the object, or nil if there is no such key.
func (o *Object) Get(key string) Value {
	if o == nil {
		return nil
	}
	return o.items[key]
}

// Has reports whether the object has this key.
func (o *Object) Has(key string) bool { return o.Get(key) != nil }

// All iterates over the object's keys and values in their order.
func (o *Object) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range o.Len() {
			if !yield(o.keys[i], o.items[o.keys[i]]) {
				return
			}
		}
	}
}

// Set adds a member to the object, or replaces the value of a key, which keeps its
// place. v must not be nil. Only the code that builds the object may call it, before
// others read the object.
func (o *Object) Set(key string, v Value) {
	if o.items == nil {
		o.items = map[string]Value{}
	}
	if _, ok := o.items[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.items[key] = v
}

// KindOf returns the name of a value's kind for messages: null, boolean, integer,
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

// PythonTypeName returns the name of the type that a value has in Python, such as
// NoneType or dict.
func PythonTypeName(v Value) string {
	return map[string]string{
		"null": "NoneType", "boolean": "bool", "integer": "int", "number": "float", "string": "str", "list": "list", "object": "dict",
	}[KindOf(v)]
}
