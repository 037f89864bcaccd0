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

// Selection says which cases to take. The zero Selection takes all. The steps
// apply in the order of the fields, and what is taken stays in its order.
type Selection struct {
	ID   string            // pattern with *, ? and [a-z], of which each matches a slash too; empty: any id
	Tags []string          // the case has one of them at least; empty: any
	Meta map[string]string // metadata of these values, written as JSON if not strings

	From, To int    // positions from From, counted from 0, up to but without To; To 0: to the end
	Sample   int    // as many, drawn at random; 0: all
	Seed     uint64 // of the draw: the same seed draws the same
	MaxCases int    // at most as many; 0: all
}

// Select returns the selected cases. The error says that the pattern is
// malformed.
func Select(cases []Case, s Selection) ([]Case, error) {
	if _, err := path.Match(s.ID, ""); err != nil {
		return nil, fmt.Errorf("id pattern %q: %w", s.ID, err)
	}
	var chosen []Case
	for _, c := range cases {
		if s.matches(c) {
			chosen = append(chosen, c)
		}
	}
	to := min(cmp.Or(s.To, len(chosen)), len(chosen))
	chosen = chosen[min(max(s.From, 0), to):to]
	if s.Sample > 0 && s.Sample < len(chosen) {
		chosen = drawSample(chosen, s.Sample, s.Seed)
	}
	if s.MaxCases > 0 {
		chosen = chosen[:min(s.MaxCases, len(chosen))]
	}
	return chosen, nil
}

func (s Selection) matches(c Case) bool {
	noSlash := strings.NewReplacer("/", "\x00") // path.Match stops at slashes
	if ok, _ := path.Match(noSlash.Replace(s.ID), noSlash.Replace(c.ID)); s.ID != "" && !ok {
		return false
	}
	hasTag := func(tag string) bool { return slices.Contains(c.Tags, tag) }
	if len(s.Tags) > 0 && !slices.ContainsFunc(s.Tags, hasTag) {
		return false
	}
	for key, want := range s.Meta {
		if v := c.Metadata.Get(key); v == nil || metadataText(v) != want {
			return false
		}
	}
	return true
}

func metadataText(v pyvalue.Value) string {
	if s, ok := v.(pyvalue.String); ok {
		return string(s)
	}
	text, _ := v.MarshalJSON()
	return string(text)
}

func drawSample(cases []Case, n int, seed uint64) []Case {
	positions := rand.New(rand.NewPCG(seed, 0)).Perm(len(cases))[:n] //nolint:gosec // a draw that can be repeated, not a secret
	slices.Sort(positions)
	drawn := make([]Case, n)
	for i, p := range positions {
		drawn[i] = cases[p]
	}
	return drawn
}
