package testcases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// Selection says which cases to select. The zero Selection selects all. The fields
// apply in their order, and the selected cases keep their order.
type Selection struct {
	ID   string            // pattern with *, ? and [a-z], which match slashes too; "" means any id
	Tags []string          // the case has at least one of them; nil means any
	Meta map[string]string // metadata with these values; values other than strings as JSON

	From, To int    // positions from From, counted from 0, to before To; To 0 means to the end
	Sample   int    // number of cases drawn at random; 0 means all
	Seed     uint64 // of the draw: equal seeds draw equal cases
	MaxCases int    // the first ones only; 0 means all
}

// Select returns the cases that the selection selects. A malformed pattern is an error.
func Select(cases []Case, s Selection) ([]Case, error) {
	if _, err := path.Match(s.ID, ""); err != nil {
		return nil, fmt.Errorf("id pattern %q: %w", s.ID, err)
	}
	var chosen []Case
	for _, c := range cases {
		if s.matchesCase(c) {
			chosen = append(chosen, c)
		}
	}
	to := min(cmp.Or(s.To, len(chosen)), len(chosen))
	chosen = chosen[min(max(s.From, 0), to):to]
	if s.Sample > 0 && s.Sample < len(chosen) {
		chosen = drawRandomSample(chosen, s.Sample, s.Seed)
	}
	if s.MaxCases > 0 {
		chosen = chosen[:min(s.MaxCases, len(chosen))]
	}
	return chosen, nil
}

// matchesCase reports whether a case has an id that fits the pattern, one of the tags,
// and the metadata.
func (s Selection) matchesCase(c Case) bool {
	noSlash := strings.NewReplacer("/", "\x00") // path.Match does not match slashes
	if ok, _ := path.Match(noSlash.Replace(s.ID), noSlash.Replace(c.ID)); s.ID != "" && !ok {
		return false
	}
	hasTag := func(tag string) bool { return slices.Contains(c.Tags, tag) }
	if len(s.Tags) > 0 && !slices.ContainsFunc(s.Tags, hasTag) {
		return false
	}
	for key, want := range s.Meta {
		if v := c.Metadata.Get(key); v == nil || metadataValueText(v) != want {
			return false
		}
	}
	return true
}

// metadataValueText returns a metadata value as text: a string unchanged, and any other
// value as JSON.
func metadataValueText(v pyvalue.Value) string {
	if s, ok := v.(pyvalue.String); ok {
		return string(s)
	}
	text, _ := v.MarshalJSON()
	return string(text)
}

// drawRandomSample returns n of the cases, drawn at random from the seed, in their
// original order.
func drawRandomSample(cases []Case, n int, seed uint64) []Case {
	positions := rand.New(rand.NewPCG(seed, 0)).Perm(len(cases))[:n] //nolint:gosec // must be repeatable, not secret
	slices.Sort(positions)
	drawn := make([]Case, n)
	for i, p := range positions {
		drawn[i] = cases[p]
	}
	return drawn
}
