package grading_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorkIsBounded: answers that would keep a grader busy for ever, or take all
// of the memory, are errors at once.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	many := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	const n = 10_000
	samples := many(`{"sample":"s","proportions":{}}`, n)
	typing := `{"chosen_cluster":"1","samples_chosen":%s,"samples_other":[{}],"cluster_medians":{}}`
	clusters := strings.Builder{}
	for i := range n {
		fmt.Fprintf(&clusters, `"%d":{},`, i)
	}
	for name, c := range map[string]struct{ kind, config, answer string }{
		"proportions": {"proportion_consistency", `{}`, `{"cell_types":` + many(`"T"`, n) + `,"samples":` + samples + `}`},
		"samples":     {"cell_typing", `{"markers":` + many(`"m"`, n) + `}`, fmt.Sprintf(typing, many(`{}`, n))},
		"clusters": {
			"cell_typing", `{"markers":` + many(`"m"`, n) + `}`,
			`{"chosen_cluster":"1","samples_chosen":[{}],"samples_other":[{}],"cluster_medians":{` + clusters.String() + `"z":{}}}`,
		},
		"members": {"contains", `{"values":` + many(`1`, n) + `}`, many(`0`, n)},
		"parts":   {"contains", `{"values":` + many(`"x"`, n) + `}`, `"` + strings.Repeat("y", 1<<20) + `"`},
		"pattern": {"regex", `{"pattern":"(a?){1000}b"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
	} {
		got := grade(t, c.kind, c.config, c.answer)
		require.Equal(t, "value_error", outcome(got), name)
		require.Contains(t, got.Error.Text, "steps are more than a grader may take", name)
	}
}
