package pyvalue

import (
	"math"
	"math/big"
	"slices"
)

// Dict is a Python dict. Keys that are equal, such as 1, 1.0 and true, are one key: the
// first keeps its place, and the last value counts. A Python set is a Dict whose values
// do not matter.
type Dict struct {
	keys  List
	items map[string]Value // by hash of the key
}

// Put sets the value of a key in the dict. A key that is a list or an object is a type
// error.
func (d *Dict) Put(key, v Value) error {
	h, err := dictKeyText(key)
	if err != nil {
		return err
	}
	if d.items == nil {
		d.items = map[string]Value{}
	}
	if _, ok := d.items[h]; !ok {
		d.keys = append(d.keys, key)
	}
	d.items[h] = v
	return nil
}

// Get returns the value of a key in the dict, or nil if there is no such key. A list or
// an object is never a key.
func (d *Dict) Get(key Value) Value {
	h, _ := dictKeyText(key)
	return d.items[h]
}

// dictKeyText returns a text that is equal for two dict keys that are equal in Python. It
// is a type error for a list or an object.
func dictKeyText(key Value) (string, error) {
	switch k := key.(type) {
	case Null:
		return "null", nil
	case String:
		return "s" + string(k), nil
	case Float:
		if f := float64(k); math.IsNaN(f) || math.IsInf(f, 0) || f != math.Trunc(f) {
			return "f" + FormatFloat(f), nil
		}
		whole, _ := big.NewFloat(float64(k)).Int(nil)
		return "i" + whole.String(), nil
	}
	if n, ok := AsNumber(key); ok {
		return "i" + n.integer.String(), nil
	}
	return "", TypeError("unhashable: %s", KindOf(key))
}

// Keys returns the dict's keys in their order. The caller must not change the list.
func (d *Dict) Keys() List { return d.keys }

// CheckHashable returns a type error for a list or an object, which cannot be a key of
// a Python dict.
func CheckHashable(key Value) error {
	_, err := dictKeyText(key)
	return err
}

// NewSet returns Python's set(v) as a Dict: the items of a list, the characters of a
// string or the keys of an object. Other values and unhashable items are type errors,
// whose text begins with name.
func NewSet(name string, v Value) (*Dict, error) {
	items, err := IterateItems(name, v)
	if err != nil {
		return nil, err
	}
	set := &Dict{}
	for _, item := range items {
		if err := set.Put(item, Null{}); err != nil {
			return nil, TypeError("%s: %s cannot be in a set", name, KindOf(item))
		}
	}
	return set, nil
}

// IntersectSets returns Python's a & b, the elements that both sets have. Like Python
// it returns the elements of the smaller set, or those of b if both have the same size.
func IntersectSets(a, b *Dict) List {
	if len(b.keys) > len(a.keys) {
		a, b = b, a
	}
	return slices.DeleteFunc(slices.Clone(b.keys), func(key Value) bool { return a.Get(key) == nil })
}

// SubtractSets returns Python's a - b, the elements of set a that b does not have.
func SubtractSets(a, b *Dict) List {
	return slices.DeleteFunc(slices.Clone(a.keys), func(key Value) bool { return b.Get(key) != nil })
}

// IterateItems returns what Python's iteration over v yields: the items of a list, the
// keys of an object or the characters of a string. Other values are a type error, whose
// text begins with name.
func IterateItems(name string, v Value) (List, error) {
	items := List{}
	switch v := v.(type) {
	case List:
		return v, nil
	case *Object:
		for key := range v.All() {
			items = append(items, String(key))
		}
	case String:
		for _, r := range Runes(string(v)) {
			items = append(items, String(AppendRune(nil, r)))
		}
	default:
		return nil, TypeError("%s: want a list, found %s", name, KindOf(v))
	}
	return items, nil
}

// SortSet returns the elements of a set, sorted as by Python's sorted: numbers by
// value, strings by code points. A mixture of both, and two or more elements of other
// kinds, are a type error. The place of NaN is arbitrary, as in Python.
func SortSet(items List) (List, error) {
	items = append(List{}, items...)
	for i := 1; i < len(items); i++ {
		if _, _, err := compareOrdered(items[0], items[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(items, func(a, b Value) int {
		order, _, _ := compareOrdered(a, b)
		return order
	})
	return items, nil
}
