package testcases_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	var lines string
	for i, more := range []string{
		`"tags": ["easy"]`, `"tags": ["hard", "plot"], "metadata": {"kit": "x"}`, `"metadata": {"kit": "x", "n": 1}`, `"tags": ["easy", "plot"], "metadata": {"n": 1.0, "ok": true}`, `"metadata": {"kit": "y"}`,
	} {
		lines += fmt.Sprintf(`{"id": "set/case-%d", "task": "", %s}`+"\n", i, more)
	}
	cases, err := testcases.Parse("c.jsonl", []byte(lines), nil)
	require.NoError(t, err)
	for _, c := range []struct {
		selection testcases.Selection
		want      string
	}{
		{testcases.Selection{}, "01234"},
		{testcases.Selection{ID: "set/case-2"}, "2"},
		{testcases.Selection{ID: "*"}, "01234"},
		{testcases.Selection{ID: "*[13]"}, "13"},
		{testcases.Selection{ID: "set?case-?"}, "01234"},
		{testcases.Selection{ID: "case-1"}, ""},
		{testcases.Selection{Tags: []string{"easy"}}, "03"},
		{testcases.Selection{Tags: []string{"easy", "hard"}}, "013"},
		{testcases.Selection{Tags: []string{"none"}}, ""},
		{testcases.Selection{Meta: map[string]string{"kit": "x"}}, "12"},
		{testcases.Selection{Meta: map[string]string{"kit": "x", "n": "1"}}, "2"},
		{testcases.Selection{Meta: map[string]string{"n": "1.0", "ok": "true"}}, "3"},
		{testcases.Selection{MaxCases: 2}, "01"},
		{testcases.Selection{MaxCases: 99}, "01234"},
		{testcases.Selection{From: 1, To: 3}, "12"},
		{testcases.Selection{From: 3}, "34"},
		{testcases.Selection{From: 9}, ""},
		{testcases.Selection{From: 3, To: 2}, ""},
		{testcases.Selection{To: 99}, "01234"},
		{testcases.Selection{Tags: []string{"easy", "plot"}, From: 1, MaxCases: 1}, "1"},
		{testcases.Selection{Sample: 5}, "01234"},
		{testcases.Selection{Sample: 9}, "01234"},
	} {
		chosen, err := testcases.Select(cases, c.selection)
		require.NoError(t, err)
		got := ""
		for _, id := range idsOfCases(chosen) {
			got += id[len(id)-1:]
		}
		require.Equal(t, c.want, got, "%+v", c.selection)
	}
	_, err = testcases.Select(cases, testcases.Selection{ID: "[a"})
	require.EqualError(t, err, `id pattern "[a": syntax error in pattern`)
}

func TestSelectSample(t *testing.T) {
	t.Parallel()
	cases := make([]testcases.Case, 100)
	for i := range cases {
		cases[i].ID = fmt.Sprintf("%03d", i)
	}
	one, err := testcases.Select(cases, testcases.Selection{Sample: 10, Seed: 1})
	require.NoError(t, err)
	again, err := testcases.Select(cases, testcases.Selection{Sample: 10, Seed: 1})
	require.NoError(t, err)
	other, err := testcases.Select(cases, testcases.Selection{Sample: 10, Seed: 2})
	require.NoError(t, err)
	require.Len(t, one, 10)
	require.Equal(t, idsOfCases(one), idsOfCases(again))
	require.NotEqual(t, idsOfCases(one), idsOfCases(other))
	require.IsIncreasing(t, idsOfCases(one), "what is drawn stays in order, and no case twice")
}
