package grading

import (
	"math"
	"math/big"
	"slices"
)

// dict is a Python dict. Keys that are equal, as 1, 1.0 and true are, are one:
// the first stays, in its place, and the last value counts. A set is a dict
// whose values do not matter.
type dict struct {
	keys  List
	items map[string]Value // by hash of the key
}

// put fails for a key that is a list or an object.
func (d *dict) put(key, v Value) error {
	h, err := hash(key)
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

// get returns nil for a key that is not there. The key must have been in a dict.
func (d *dict) get(key Value) Value {
	h, _ := hash(key)
	return d.items[h]
}

// hash returns the same text for keys that Python takes for one. Lists and
// objects have none.
func hash(key Value) (string, error) {
	switch k := key.(type) {
	case Null:
		return "null", nil
	case String:
		return "s" + string(k), nil
	case Float:
		if f := float64(k); math.IsNaN(f) || math.IsInf(f, 0) || f != math.Trunc(f) {
			return "f" + floatText(f), nil
		}
		whole, _ := big.NewFloat(float64(k)).Int(nil)
		return "i" + whole.String(), nil
	}
	if n, ok := asNumber(key); ok {
		return "i" + n.i.String(), nil
	}
	return "", typeError("unhashable: %s", KindOf(key))
}

// setOf is Python's set(v): of the members of a list, the characters of a string
// or the keys of an object. name is for the error.
func setOf(name string, v Value) (*dict, error) {
	items, err := iterate(name, v)
	if err != nil {
		return nil, err
	}
	set := &dict{}
	for _, item := range items {
		if err := set.put(item, Null{}); err != nil {
			return nil, typeError("%s: %s cannot be in a set", name, KindOf(item))
		}
	}
	return set, nil
}

// common is a & b. Like Python it keeps the elements of the smaller set, and
// those of b when they are of one size.
func common(a, b *dict) List {
	if len(b.keys) > len(a.keys) {
		a, b = b, a
	}
	return slices.DeleteFunc(slices.Clone(b.keys), func(key Value) bool { return a.get(key) == nil })
}

// without is a - b.
func without(a, b *dict) List {
	return slices.DeleteFunc(slices.Clone(a.keys), func(key Value) bool { return b.get(key) != nil })
}

// iterate lists what Python's iteration over v yields: members, keys or
// characters. name is for the error.
func iterate(name string, v Value) (List, error) {
	items := List{}
	switch v := v.(type) {
	case List:
		return v, nil
	case *Object:
		for key := range v.All() {
			items = append(items, String(key))
		}
	case String:
		for _, r := range runes(string(v)) {
			items = append(items, String(appendRune(nil, r)))
		}
	default:
		return nil, typeError("%s: want a list, found %s", name, KindOf(v))
	}
	return items, nil
}

// sorted is Python's sorted for elements of one set: numbers by their value,
// strings by code points. More than one element of other kinds, or of both, is a
// type error. Where NaN ends up is arbitrary, as it is there.
func sorted(items List) (List, error) {
	items = append(List{}, items...)
	for i := 1; i < len(items); i++ {
		if _, _, err := compare(items[0], items[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(items, func(a, b Value) int {
		order, _, _ := compare(a, b)
		return order
	})
	return items, nil
}

// texts are strings as a list of values.
func texts(items []string) List {
	list := List{}
	for _, item := range items {
		list = append(list, String(item))
	}
	return list
}

// count is the length of a list.
func count(items List) Int { return NewInt(int64(len(items))) }
