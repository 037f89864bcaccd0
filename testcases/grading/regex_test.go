package grading_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func TestRegex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, answer, outcome, text string }{
		{`{"pattern": "b+"}`, `"abbc"`, "pass", "+ the answer: 'bb' matches 'b+'"},
		{`{"pattern": "^b"}`, `"abbc"`, "fail", "- the answer: no match of '^b' in 'abbc'"},
		{`{"pattern": "^b"}`, `"a\nb"`, "fail", ""},
		{`{"pattern": "(?m)^b$"}`, `"a\nb\nc"`, "pass", ""},
		{`{"pattern": "(?i)NORTH", "answer_field": "a.region"}`, `{"a": {"region": "the north"}}`, "pass", ""},
		{`{"pattern": "x", "answer_field": "a.region"}`, `{"a": 1}`, "fail", "- a.region: missing from the answer, expected a match of 'x'"},
		{`{"pattern": "x", "answer_field": "a"}`, `"x"`, "type_error", ""},
		{`{"pattern": "^42$"}`, `42`, "pass", ""},
		{`{"pattern": "^1\\.0$"}`, `1.0`, "pass", ""},
		{`{"pattern": "^\\['B', True, None\\]$"}`, `["B", true, null]`, "pass", ""},
		{`{"pattern": "^None$", "answer_field": "n"}`, `{"n": null}`, "pass", ""},
		{`{"pattern": ""}`, `""`, "pass", ""},
		{`{"pattern": "(a*)*b"}`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"`, "fail", ""},
		{`{"pattern": "é|\\p{Han}"}`, `"数"`, "pass", ""},
		{`{"pattern": "."}`, `"\ud800"`, "pass", ""},
		{`{"pattern": "("}`, `"("`, "value_error", "pattern: error parsing regexp: missing closing )"},
	} {
		got := gradeConfigAndAnswerJSON(t, "regex", c.config, c.answer)
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s %s: %s", c.config, c.answer, got.Reasoning)
		require.Contains(t, got.Reasoning, c.text)
	}
	require.JSONEq(t, `{"pattern": "b+", "match": "bb"}`, pyvaluetest.MarshalToString(t, gradeConfigAndAnswerJSON(t, "regex", `{"pattern": "b+"}`, `"abbc"`).Metrics))
	require.JSONEq(t, `{"pattern": "x", "match": null}`, pyvaluetest.MarshalToString(t, gradeConfigAndAnswerJSON(t, "regex", `{"pattern": "x"}`, `"abbc"`).Metrics))
}
