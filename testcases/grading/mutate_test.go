package grading_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"assay/testcases/grading/pyvalue"
)

// gen draws values.
type gen struct{ *rand.Rand }

// one of them.
func one[T any](g gen, of ...T) T { return of[g.IntN(len(of))] }

// sometimes is true once in n times.
func (g gen) sometimes(n int) bool { return g.IntN(n) == 0 }

// awkward draws a value of the kind that graders stumble over.
func (g gen) awkward() pyvalue.Value {
	huge := new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil)
	return one[pyvalue.Value](
		g, pyvalue.Null{}, pyvalue.Null{}, pyvalue.Bool(true), pyvalue.Bool(false), pyvalue.NewInt(0), pyvalue.NewInt(1), pyvalue.NewInt(-3), pyvalue.NewInt(1<<53+1),
		pyvalue.NewBigInt(huge), pyvalue.NewBigInt(new(big.Int).Neg(huge)), pyvalue.Float(math.Copysign(0, -1)), pyvalue.Float(1), pyvalue.Float(0.5), pyvalue.Float(1e16),
		pyvalue.Float(math.NaN()), pyvalue.Float(math.Inf(1)), pyvalue.Float(math.Inf(-1)),
		pyvalue.String(""), pyvalue.String("12"), pyvalue.String(" 1_0.5\n"), pyvalue.String("abc"), pyvalue.String("nan"), pyvalue.String("answer"),
		pyvalue.String("Straße"), pyvalue.String("ΣΑΣ"), pyvalue.String("İı"), pyvalue.String("\xed\xa0\x80"), pyvalue.String("e\u0301\u00a0"),
		pyvalue.List{}, pyvalue.List{pyvalue.String("B")}, pyvalue.List{pyvalue.NewInt(1), pyvalue.Float(0.5)}, &pyvalue.Object{}, pyvalue.NewObject("a", pyvalue.NewInt(1)),
	)
}

// mutate changes one node of v, which may be v itself.
func (g gen) mutate(v pyvalue.Value) pyvalue.Value {
	left := g.IntN(size(v))
	return g.at(v, &left)
}

// mutateObject is mutate for what must stay an object.
func (g gen) mutateObject(o *pyvalue.Object) pyvalue.Value {
	left := 1 + g.IntN(size(o))
	if left == size(o) {
		return g.reshapeObject(o)
	}
	return g.at(o, &left)
}

// at copies v and changes the node that is left nodes further.
func (g gen) at(v pyvalue.Value, left *int) pyvalue.Value {
	*left--
	if *left == -1 {
		return g.change(v)
	}
	switch v := v.(type) {
	case pyvalue.List:
		items := slices.Clone(v)
		for i, item := range items {
			items[i] = g.at(item, left)
		}
		return items
	case *pyvalue.Object:
		items := &pyvalue.Object{}
		for key, item := range v.All() {
			items.Set(key, g.at(item, left))
		}
		return items
	default:
		return v
	}
}

// size counts the nodes.
func size(v pyvalue.Value) int {
	n := 1
	switch v := v.(type) {
	case pyvalue.List:
		for _, item := range v {
			n += size(item)
		}
	case *pyvalue.Object:
		for _, item := range v.All() {
			n += size(item)
		}
	}
	return n
}

func (g gen) change(v pyvalue.Value) pyvalue.Value {
	if g.sometimes(3) {
		return g.awkward()
	}
	switch v := v.(type) {
	case pyvalue.Float:
		return pyvalue.Float(math.Nextafter(float64(v), one(g, -1e9, 1e9)))
	case pyvalue.List:
		return g.reshapeList(v)
	case *pyvalue.Object:
		return g.reshapeObject(v)
	default:
		return g.awkward()
	}
}

func (g gen) reshapeList(v pyvalue.List) pyvalue.Value {
	items := slices.Clone(v)
	if len(items) == 0 {
		return pyvalue.List{g.awkward()}
	}
	i := g.IntN(len(items))
	switch g.IntN(4) {
	case 0:
		return slices.Delete(items, i, i+1)
	case 1:
		return append(items, items[i])
	case 2:
		return pyvalue.NewObject("a", v)
	default:
		g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items
	}
}

func (g gen) reshapeObject(v *pyvalue.Object) pyvalue.Value {
	var names []string
	for key := range v.All() {
		names = append(names, key)
	}
	action := g.IntN(4)
	if action == 0 && len(names) > 0 {
		i := g.IntN(len(names))
		names = slices.Delete(names, i, i+1)
	}
	if action == 1 {
		g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	items := &pyvalue.Object{}
	for _, key := range names {
		items.Set(key, v.Get(key))
	}
	if action == 2 {
		items.Set(one(g, "type", "value", "answer", "a"), g.awkward())
	}
	if action == 3 && len(names) > 0 {
		items.Set(one(g, names...), v.Get(one(g, names...)))
	}
	return items
}
