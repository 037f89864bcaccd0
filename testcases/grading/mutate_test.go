package grading_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"assay/testcases/grading/pyvalue"
)

// valueGenerator draws random JSON values for property tests.
type valueGenerator struct{ *rand.Rand }

// pickOne returns one of the values, chosen at random.
func pickOne[T any](g valueGenerator, of ...T) T { return of[g.IntN(len(of))] }

// hasChanceOneIn returns true with probability 1/n.
func (g valueGenerator) hasChanceOneIn(n int) bool { return g.IntN(n) == 0 }

// drawAwkwardValue draws a JSON value that graders might not expect, such as NaN or a
// nested list.
func (g valueGenerator) drawAwkwardValue() pyvalue.Value {
	huge := new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil)
	return pickOne[pyvalue.Value](
		g, pyvalue.Null{}, pyvalue.Null{}, pyvalue.Bool(true), pyvalue.Bool(false), pyvalue.NewInt(0), pyvalue.NewInt(1), pyvalue.NewInt(-3), pyvalue.NewInt(1<<53+1),
		pyvalue.NewBigInt(huge), pyvalue.NewBigInt(new(big.Int).Neg(huge)), pyvalue.Float(math.Copysign(0, -1)), pyvalue.Float(1), pyvalue.Float(0.5), pyvalue.Float(1e16),
		pyvalue.Float(math.NaN()), pyvalue.Float(math.Inf(1)), pyvalue.Float(math.Inf(-1)),
		pyvalue.String(""), pyvalue.String("12"), pyvalue.String(" 1_0.5\n"), pyvalue.String("abc"), pyvalue.String("nan"), pyvalue.String("answer"),
		pyvalue.String("Straße"), pyvalue.String("ΣΑΣ"), pyvalue.String("İı"), pyvalue.String("\xed\xa0\x80"), pyvalue.String("e\u0301\u00a0"),
		pyvalue.List{}, pyvalue.List{pyvalue.String("B")}, pyvalue.List{pyvalue.NewInt(1), pyvalue.Float(0.5)}, &pyvalue.Object{}, pyvalue.NewObject("a", pyvalue.NewInt(1)),
	)
}

// mutateValue returns v with one random node changed, possibly v itself.
func (g valueGenerator) mutateValue(v pyvalue.Value) pyvalue.Value {
	left := g.IntN(countNodes(v))
	return g.mutateNodeAt(v, &left)
}

// mutateObject returns an object with one random node changed; the root stays an
// object.
func (g valueGenerator) mutateObject(o *pyvalue.Object) pyvalue.Value {
	left := 1 + g.IntN(countNodes(o))
	if left == countNodes(o) {
		return g.reshapeObject(o)
	}
	return g.mutateNodeAt(o, &left)
}

// mutateNodeAt returns a copy of v in which one node is changed: the one that left
// nodes come before, in depth-first order. left counts down and is -1 or less
// afterwards.
func (g valueGenerator) mutateNodeAt(v pyvalue.Value, left *int) pyvalue.Value {
	*left--
	if *left == -1 {
		return g.changeNode(v)
	}
	switch v := v.(type) {
	case pyvalue.List:
		items := slices.Clone(v)
		for i, item := range items {
			items[i] = g.mutateNodeAt(item, left)
		}
		return items
	case *pyvalue.Object:
		items := &pyvalue.Object{}
		for key, item := range v.All() {
			items.Set(key, g.mutateNodeAt(item, left))
		}
		return items
	default:
		return v
	}
}

// countNodes returns the number of nodes of a JSON value: itself and everything inside
// it.
func countNodes(v pyvalue.Value) int {
	n := 1
	switch v := v.(type) {
	case pyvalue.List:
		for _, item := range v {
			n += countNodes(item)
		}
	case *pyvalue.Object:
		for _, item := range v.All() {
			n += countNodes(item)
		}
	}
	return n
}

func (g valueGenerator) changeNode(v pyvalue.Value) pyvalue.Value {
	if g.hasChanceOneIn(3) {
		return g.drawAwkwardValue()
	}
	switch v := v.(type) {
	case pyvalue.Float:
		return pyvalue.Float(math.Nextafter(float64(v), pickOne(g, -1e9, 1e9)))
	case pyvalue.List:
		return g.reshapeList(v)
	case *pyvalue.Object:
		return g.reshapeObject(v)
	default:
		return g.drawAwkwardValue()
	}
}

func (g valueGenerator) reshapeList(v pyvalue.List) pyvalue.Value {
	items := slices.Clone(v)
	if len(items) == 0 {
		return pyvalue.List{g.drawAwkwardValue()}
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

func (g valueGenerator) reshapeObject(v *pyvalue.Object) pyvalue.Value {
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
		items.Set(pickOne(g, "type", "value", "answer", "a"), g.drawAwkwardValue())
	}
	if action == 3 && len(names) > 0 {
		items.Set(pickOne(g, names...), v.Get(pickOne(g, names...)))
	}
	return items
}
