package grading_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"assay/testcases/grading"
)

// gen draws values.
type gen struct{ *rand.Rand }

// one of them.
func one[T any](g gen, of ...T) T { return of[g.IntN(len(of))] }

// sometimes is true once in n times.
func (g gen) sometimes(n int) bool { return g.IntN(n) == 0 }

// awkward draws a value of the kind that graders stumble over.
func (g gen) awkward() grading.Value {
	huge := new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil)
	return one[grading.Value](
		g, grading.Null{}, grading.Null{}, grading.Bool(true), grading.Bool(false), grading.NewInt(0), grading.NewInt(1), grading.NewInt(-3), grading.NewInt(1<<53+1),
		grading.NewBigInt(huge), grading.NewBigInt(new(big.Int).Neg(huge)), grading.Float(math.Copysign(0, -1)), grading.Float(1), grading.Float(0.5), grading.Float(1e16),
		grading.Float(math.NaN()), grading.Float(math.Inf(1)), grading.Float(math.Inf(-1)),
		grading.String(""), grading.String("12"), grading.String(" 1_0.5\n"), grading.String("abc"), grading.String("nan"), grading.String("answer"),
		grading.String("Straße"), grading.String("ΣΑΣ"), grading.String("İı"), grading.String("\xed\xa0\x80"), grading.String("e\u0301\u00a0"),
		grading.List{}, grading.List{grading.String("B")}, grading.List{grading.NewInt(1), grading.Float(0.5)}, &grading.Object{}, grading.NewObject("a", grading.NewInt(1)),
	)
}

// mutate changes one node of v, which may be v itself.
func (g gen) mutate(v grading.Value) grading.Value {
	left := g.IntN(size(v))
	return g.at(v, &left)
}

// mutateObject is mutate for what must stay an object.
func (g gen) mutateObject(o *grading.Object) grading.Value {
	left := 1 + g.IntN(size(o))
	if left == size(o) {
		return g.reshapeObject(o)
	}
	return g.at(o, &left)
}

// at copies v and changes the node that is left nodes further.
func (g gen) at(v grading.Value, left *int) grading.Value {
	*left--
	if *left == -1 {
		return g.change(v)
	}
	switch v := v.(type) {
	case grading.List:
		items := slices.Clone(v)
		for i, item := range items {
			items[i] = g.at(item, left)
		}
		return items
	case *grading.Object:
		items := &grading.Object{}
		for key, item := range v.All() {
			items.Set(key, g.at(item, left))
		}
		return items
	default:
		return v
	}
}

// size counts the nodes.
func size(v grading.Value) int {
	n := 1
	switch v := v.(type) {
	case grading.List:
		for _, item := range v {
			n += size(item)
		}
	case *grading.Object:
		for _, item := range v.All() {
			n += size(item)
		}
	}
	return n
}

func (g gen) change(v grading.Value) grading.Value {
	if g.sometimes(3) {
		return g.awkward()
	}
	switch v := v.(type) {
	case grading.Float:
		return grading.Float(math.Nextafter(float64(v), one(g, -1e9, 1e9)))
	case grading.List:
		return g.reshapeList(v)
	case *grading.Object:
		return g.reshapeObject(v)
	default:
		return g.awkward()
	}
}

func (g gen) reshapeList(v grading.List) grading.Value {
	items := slices.Clone(v)
	if len(items) == 0 {
		return grading.List{g.awkward()}
	}
	i := g.IntN(len(items))
	switch g.IntN(4) {
	case 0:
		return slices.Delete(items, i, i+1)
	case 1:
		return append(items, items[i])
	case 2:
		return grading.NewObject("a", v)
	default:
		g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items
	}
}

func (g gen) reshapeObject(v *grading.Object) grading.Value {
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
	items := &grading.Object{}
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
